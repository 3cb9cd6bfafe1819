"""The host has NICs of the kind, speed and capability asked for, whoever holds them now."""

from __future__ import annotations

from vplacer.constraints.cards import devices_of_host
from vplacer.constraints.costs import LESS_DEVICES, OTHER_BINDING
from vplacer.constraints.matching import why_nic_differs
from vplacer.constraints.registry import Filter, Relaxation
from vplacer.constraints.state import Problem
from vplacer.inventory.host import Host
from vplacer.request.demand import Demand, NicAsk
from vplacer.topology.assignable import AssignableDevice


def rejects(problem: Problem, demand: Demand, host: Host) -> str | None:
    """Reject a host without enough NICs of the kind; says what is wrong with the nearest miss."""
    for ask in demand.nics:
        evidence = _why_not(problem, host, ask)
        if evidence is not None:
            return evidence
    return None


def _why_not(problem: Problem, host: Host, ask: NicAsk) -> str | None:
    nics = [device for device in devices_of_host(problem, host.moid) if device.kind == "nic"]
    have = _capacity(nics, ask)
    if have >= ask.count:
        return None
    if not nics:
        return "the host has no NIC that could be given to a VM"
    misses = [(device, why) for device in nics if (why := why_nic_differs(device, ask)) is not None]
    what = "virtual functions" if ask.kind == "sriov" else "NICs"
    text = f"{have} {ask.model or 'suitable'} {what}, {ask.count} needed"
    if misses:
        device, why = min(misses, key=lambda miss: (_severity(miss[0], ask), miss[0].address))
        text += f": {device.address.short}: {why}"
    return text


def _capacity(nics: list[AssignableDevice], ask: NicAsk) -> int:
    fitting = [device for device in nics if why_nic_differs(device, ask) is None]
    return sum(device.sriov_free_vfs for device in fitting) if ask.kind == "sriov" else len(fitting)


def _severity(device: AssignableDevice, ask: NicAsk) -> int:
    """How far a NIC is from what is asked: the reason of the nearest miss is the one to show."""
    if ask.model is not None and device.model != ask.model:
        return 3
    usable = bool(device.sriov_free_vfs) if ask.kind == "sriov" else device.passthrough
    return 2 if not usable else 1


def relax(problem: Problem, demand: Demand, host: Host) -> Relaxation | None:
    """Dropping what the NICs there lack, or taking as many as there are, would do."""
    for index, ask in enumerate(demand.nics):
        if _why_not(problem, host, ask) is None:
            continue
        nics = [device for device in devices_of_host(problem, host.moid) if device.kind == "nic"]
        plain = NicAsk(ask.count, ask.kind, ask.model)
        if _capacity(nics, plain) >= ask.count:
            lacking = [n for n in nics if why_nic_differs(n, plain) is None and why_nic_differs(n, ask)]
            wish, field = _wish(lacking[0], ask)
            return Relaxation(
                f"drop the NICs' {wish}", OTHER_BINDING, demand.id, f"nics[{index}].{field}", ""
            )
        have = _capacity(nics, ask)
        if have > 0:
            text = f"ask for {have} {'NIC' if have == 1 else 'NICs'} instead of {ask.count}"
            return Relaxation(text, LESS_DEVICES, demand.id, f"nics[{index}].count", str(have))
    return None


def _wish(device: AssignableDevice, ask: NicAsk) -> tuple[str, str]:
    if ask.label is not None and device.label != ask.label:
        return f"label '{ask.label}'", "label"
    if ask.min_speed_mbps is not None and (device.link_mbps or 0) < ask.min_speed_mbps:
        return "minimum speed", "min_speed"
    return "RDMA", "rdma"


FILTER = Filter("nic-kind", "NICs of the kind asked for", rejects, relax)
