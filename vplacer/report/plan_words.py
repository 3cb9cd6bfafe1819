"""The words of a plan: a VM's place, devices, impact and reasons as short texts, without layout."""

from __future__ import annotations

from collections.abc import Sequence

from vplacer.plan.changes import UpgradeHardware
from vplacer.plan.model import Impact, Migration, Plan, PlannedAsk, Symbol, VmPlan
from vplacer.report.constraint_words import constraint_words
from vplacer.request.demand import BoundBy, Policy
from vplacer.topology.levels import NumaRelation

_LOSES = {
    "vmotion": "vMotion",
    "ha_restart": "HA restart",
    "drs": "DRS",
    "snapshots": "snapshots",
    "suspend": "suspend",
}
_GUEST = {
    "cpu_count": "CPU count",
    "cpu_topology": "CPU topology",
    "memory_size": "memory size",
    "numa_topology": "NUMA topology",
    "devices": "devices",
    "nic_names": "NIC names",
    "hardware": "virtual hardware",
}
_FAR = {
    NumaRelation.SAME_SOCKET: "on another node of the socket",
    NumaRelation.OTHER_SOCKET: "on another socket",
}


def count(number: int, word: str, plural: str | None = None) -> str:
    """Return "1 VM", "2 VMs"."""
    return f"{number} {word if number == 1 else plural or word + 's'}"


def place_text(plan: Plan, vm: VmPlan) -> str:
    """Return host and pNUMA nodes, with the host it leaves."""
    after = plan.name(vm.host_after)
    moved = vm.host_before is not None and vm.host_before != vm.host_after
    text = f"{plan.name(vm.host_before or '')} -> {after}" if moved else after
    if vm.nodes:
        text += " pNUMA " + "+".join(str(node) for node in vm.nodes)
    return text


def devices_text(vm: VmPlan) -> str:
    """Return what the VM gets; CPUs and memory where it gets no device."""
    if not vm.asks:
        return f"{vm.cpus} vCPUs, {size_text(vm.memory_mib)}"
    return ", ".join(ask_text(ask) for ask in vm.asks)


def ask_text(ask: PlannedAsk) -> str:
    """Return the devices of one line of the request."""
    groups = {device.group for device in ask.devices if device.group is not None}
    number = len(groups) or len(ask.devices)
    what = ask.what if ask.ask == "gpu" else f"NIC {ask.what}"
    text = what if number == 1 else f"{number} x {what}"
    if ask.path is not None:
        text += f" {ask.path}"
    if all(device.settled for device in ask.devices):
        return f"{text} ({' '.join(device.address.short for device in ask.devices)}){_not_near(ask)}"
    if all(device.bound_by is BoundBy.LABEL for device in ask.devices):
        return f"{text}, any card of the label"
    chosen = "card" if len(ask.devices) == 1 else "cards"
    return f"{text}, {chosen} chosen by vSphere: {_guarantee(ask)}"


def _not_near(ask: PlannedAsk) -> str:
    """Say of settled cards where the farthest is, unless it is where it should be or nobody asked.

    Of a VM that is bound to no node nothing is said: it may run on any.
    """
    if ask.policy is Policy.NONE:
        return ""
    one = len(ask.devices) == 1
    if any(device.node is None for device in ask.devices):
        return ", on a node that is not known" if one else ", not all on nodes that are known"
    if not ask.fixed or ask.numa not in _FAR:
        return ""
    return f", {'' if one else 'the farthest '}{_FAR[ask.numa]}"


def _guarantee(ask: PlannedAsk) -> str:
    if ask.fixed and ask.numa is NumaRelation.SAME_NODE:
        return "node guaranteed until the next power cycle"
    if ask.fixed and ask.numa is NumaRelation.SAME_SOCKET:
        return "socket guaranteed until the next power cycle"
    return "node not guaranteed"


def bound_text(vm: VmPlan) -> str:
    """Return who chooses the cards: static, labels, vSphere."""
    words: list[str] = []
    for ask in vm.asks:
        for device in ask.devices:
            match device.bound_by:
                case BoundBy.STATIC:
                    word = "static"
                case BoundBy.LABEL:
                    word = f"label {device.label}"
                case BoundBy.PLATFORM:
                    word = "by vSphere"
            if word not in words:
                words.append(word)
    return ", ".join(words)


def impact_text(plan: Plan, vm: VmPlan) -> str:
    """Return what the change costs the VM's users, and what of an existing VM cannot be undone."""
    impact = vm.impact
    words = []
    if vm.symbol is Symbol.CREATE:
        words.append("new")
    if impact.power_cycle:
        words.append("! power cycle")
    if impact.migration is Migration.LIVE:
        words.append("migrates running")
    elif impact.migration is Migration.COLD:
        words.append("moves switched off")
    words += _irreversible(plan, vm)
    if impact.loses:
        words.append("loses " + ", ".join(_LOSES[item] for item in _LOSES if item in impact.loses))
    return "; ".join(words) or "no downtime"


def _irreversible(plan: Plan, vm: VmPlan) -> list[str]:
    if vm.vm is None:
        return []
    changes = [plan.step_by_id[step].change for step in vm.steps]
    return [
        f"!! irreversible: hardware {change.before} -> {change.after}"
        for change in changes
        if isinstance(change, UpgradeHardware)
    ]


def impact_details(impact: Impact) -> list[str]:
    """Return the rest of an impact: memory newly reserved, what the guest notices."""
    lines = []
    if impact.reserves_memory_mib:
        lines.append(f"reserves {size_text(impact.reserves_memory_mib)} more memory")
    if impact.guest:
        lines.append("guest notices: " + ", ".join(_GUEST[item] for item in _GUEST if item in impact.guest))
    return lines


def why_text(vm: VmPlan) -> str:
    """Return the reasons in a few words each."""
    return ", ".join(constraint_words(reason.code) for reason in vm.reasons)


def size_text(mib: int) -> str:
    """Return a memory size in GiB, in MiB where it is no whole number of quarters."""
    return f"{mib / 1024:g} GiB" if mib % 256 == 0 else f"{mib} MiB"


def aligned(rows: Sequence[Sequence[str]], gap: str = "  ", widest: int = 48) -> list[str]:
    """Return rows as lines with columns of equal width; nothing is cut off, trailing blanks are.

    A cell wider than ``widest`` pushes the rest of its own line, not the whole column, to the right.
    """
    if not rows:
        return []
    widths = [
        max((len(row[column]) for row in rows if len(row[column]) <= widest), default=0)
        for column in range(len(rows[0]))
    ]
    return [
        gap.join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows
    ]
