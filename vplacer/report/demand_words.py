"""What a VM asks for, in a line."""

from __future__ import annotations

from collections.abc import Sequence

from vplacer.report.plan_words import size_text
from vplacer.request.demand import Demand, GpuAsk, NicAsk, Policy
from vplacer.topology.levels import Level

_POLICY = {Policy.REQUIRED: "on its node", Policy.SOCKET: "on its socket"}


def demand_text(demand: Demand) -> str:
    """Return size, GPUs and NICs of a demand."""
    parts = [f"{demand.cpus} vCPUs", size_text(demand.memory_mib)]
    if demand.vnuma_nodes is not None:
        parts.append(f"{demand.vnuma_nodes} vNUMA nodes" if demand.vnuma_nodes > 1 else "1 vNUMA node")
    parts += [_gpu(ask) for ask in demand.gpus]
    parts += [_nic(ask) for ask in demand.nics]
    return ", ".join(parts)


def names_text(names: Sequence[str]) -> str:
    """Return the name of one VM, or the first of several and how many more."""
    return names[0] if len(names) == 1 else f"{names[0]} and {len(names) - 1} more"


def _gpu(ask: GpuAsk) -> str:
    what = ask.profile or ask.group or ask.model or "GPU"
    text = what if ask.count == 1 else f"{ask.count} x {what}"
    if ask.label is not None:
        text += f" of label {ask.label}"
    if ask.count > 1 and ask.interconnect is not Level.ANY and ask.interconnect_required:
        text += f" joined by {ask.interconnect.value}"
    return f"{text} {_POLICY[ask.policy]}" if ask.policy in _POLICY else text


def _nic(ask: NicAsk) -> str:
    what = f"NIC {ask.model}" if ask.model is not None else "NIC"
    if ask.kind == "sriov":
        what += " function"
    text = what if ask.count == 1 else f"{ask.count} x {what}"
    if ask.near_gpu and ask.at_required and ask.at is not Level.ANY:
        text += f" near a GPU ({ask.at.value})"
    return f"{text} {_POLICY[ask.policy]}" if ask.policy in _POLICY else text
