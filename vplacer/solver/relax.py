"""Changes of a demand that may make room: candidates, to be tried."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from vplacer.constraints import costs
from vplacer.constraints.registry import Relaxation
from vplacer.constraints.state import Problem
from vplacer.inventory.limits_table import FIRST_RELEASE
from vplacer.request.demand import AffinityMode, Demand, GpuAsk, NicAsk, Policy
from vplacer.request.sizing import needed_hardware_version
from vplacer.topology.levels import Level


@dataclass(frozen=True, slots=True)
class Change:
    """A changed demand and how to say it."""

    demand: Demand
    relaxation: Relaxation


def changes_of(demand: Demand, least_version: int = 0) -> list[Change]:
    """Return single changes of a demand's wishes, cheapest first; sizes apart (see `smaller`).

    ``least_version``: the hardware version that the VM or its template has: it is never lowered.
    """
    found: list[Change] = []
    for index, ask in enumerate(demand.gpus):
        found += _gpu_changes(demand, index, ask)
    for index, nic in enumerate(demand.nics):
        found += _nic_changes(demand, index, nic)
    found += _mode_changes(demand)
    found += _other_changes(demand)
    found += _version_changes(demand, least_version)
    return sorted(found, key=lambda change: change.relaxation.cost)


def _change(demand: Demand, field: str, what: str, was: str, now: str, cost: int) -> Change:
    """Name a change of one field; whose it is, the reasons it stands among say."""
    return Change(demand, Relaxation(f"{what} {was} -> {now}", cost, None, field, now))


def _with_gpu(demand: Demand, index: int, ask: GpuAsk) -> Demand:
    return replace(demand, gpus=(*demand.gpus[:index], ask, *demand.gpus[index + 1 :]))


def _with_nic(demand: Demand, index: int, ask: NicAsk) -> Demand:
    return replace(demand, nics=(*demand.nics[:index], ask, *demand.nics[index + 1 :]))


def _gpu_changes(demand: Demand, index: int, ask: GpuAsk) -> list[Change]:
    noun = "vGPU" if ask.profile is not None else "device group" if ask.group is not None else "GPU"
    which = f" (gpus[{index}])" if len(demand.gpus) > 1 else ""
    found = _softer_policies(demand, index, ask, f"{noun}{which}")
    if ask.interconnect_required and ask.interconnect is not Level.ANY:
        for step, level in enumerate((Level.SWITCH, Level.NUMA, Level.SOCKET, Level.ANY)):
            if level.rank > ask.interconnect.rank:
                changed = _with_gpu(demand, index, replace(ask, interconnect=level))
                cost = costs.LOOSER_LOCALITY + 2 + step
                field, what = f"gpus[{index}].interconnect", f"{noun}{which} interconnect"
                found.append(_change(changed, field, what, ask.interconnect.value, level.value, cost))
    return found + _fewer(demand, index, ask, f"number of {noun}s{which}")


def _nic_changes(demand: Demand, index: int, ask: NicAsk) -> list[Change]:
    which = f" (nics[{index}])" if len(demand.nics) > 1 else ""
    found = _softer_policies(demand, index, ask, f"NIC{which}")
    if ask.near_gpu and ask.at_required:
        for step, level in enumerate((Level.ROOT, Level.NUMA, Level.SOCKET, Level.ANY)):
            if level.rank > ask.at.rank:
                changed = _with_nic(demand, index, replace(ask, at=level))
                cost = costs.LOOSER_LOCALITY + 1 + step
                field, what = f"nics[{index}].at", f"NIC{which} near the GPU"
                found.append(_change(changed, field, what, ask.at.value, level.value, cost))
    return found + _fewer(demand, index, ask, f"number of NICs{which}")


def _with_ask(demand: Demand, index: int, ask: GpuAsk | NicAsk) -> tuple[Demand, str]:
    """Return the demand with another ask in its place, and where that stands in the request."""
    if isinstance(ask, GpuAsk):
        return _with_gpu(demand, index, ask), f"gpus[{index}]"
    return _with_nic(demand, index, ask), f"nics[{index}]"


def _softer_policies(demand: Demand, index: int, ask: GpuAsk | NicAsk, noun: str) -> list[Change]:
    """The policy stepped down: required, socket, preferred."""
    softer = {Policy.REQUIRED: (Policy.SOCKET, Policy.PREFERRED), Policy.SOCKET: (Policy.PREFERRED,)}
    found = []
    for step, policy in enumerate(softer.get(ask.policy, ())):
        changed, field = _with_ask(demand, index, replace(ask, policy=policy))
        cost = costs.LOOSER_LOCALITY + step
        found.append(
            _change(changed, f"{field}.policy", f"{noun} policy", ask.policy.value, policy.value, cost)
        )
    return found


def _fewer(demand: Demand, index: int, ask: GpuAsk | NicAsk, what: str) -> list[Change]:
    """Fewer devices, the most first."""
    found = []
    for count in range(ask.count - 1, 0, -1):
        changed, field = _with_ask(demand, index, replace(ask, count=count))
        cost = costs.LESS_DEVICES + ask.count - count
        found.append(_change(changed, f"{field}.count", what, str(ask.count), str(count), cost))
    return found


def _mode_changes(demand: Demand) -> list[Change]:
    """Other modes: those that still bind both sides first, what promises nothing last."""
    if not demand.has_devices:
        return []
    modes = {
        AffinityMode.LABEL: (AffinityMode.PIN, AffinityMode.HINT),
        AffinityMode.HINT: (AffinityMode.LABEL, AffinityMode.PIN),
        AffinityMode.PIN: (AffinityMode.LABEL, AffinityMode.HINT),
    }
    return [
        _change(
            replace(demand, mode=mode),
            "affinity",
            "affinity",
            demand.mode.value,
            mode.value,
            costs.OTHER_BINDING + step,
        )
        for step, mode in enumerate(modes[demand.mode])
    ]


def _other_changes(demand: Demand) -> list[Change]:
    found = []
    if demand.vm is not None and not demand.may_move:
        changed = replace(demand, may_move=True)
        way = Relaxation("let it move to another host", costs.OTHER_BINDING + 5, None, "may_move", "true")
        found.append(Change(changed, way))
    if demand.vnuma_nodes is not None:
        changed = replace(demand, vnuma_nodes=None)
        was = f"{demand.vnuma_nodes} nodes" if demand.vnuma_nodes > 1 else "1 node"
        found.append(_change(changed, "vnuma", "vNUMA", was, "auto", costs.LESS_CPU_OR_MEMORY - 5))
    return found


def _version_changes(demand: Demand, least: int) -> list[Change]:
    """Lower hardware versions, highest first, down to what its size and devices need, and it has today."""
    needed = needed_hardware_version(
        demand.gpus, demand.nics, demand.vnuma_nodes is not None, demand.cpus, demand.memory_mib
    )
    found = []
    for version in sorted(FIRST_RELEASE, reverse=True):
        if max(least, needed) <= version < demand.hardware_version:
            changed = replace(demand, hardware_version=version)
            was, now = str(demand.hardware_version), str(version)
            found.append(
                _change(changed, "hardware_version", "hardware version", was, now, costs.OTHER_BINDING + 3)
            )
    return found


_PARSERS: dict[str, Callable[[str], object]] = {
    "count": int,
    "policy": Policy,
    "interconnect": Level,
    "at": Level,
}


def with_field(problem: Problem, demand: Demand, field: str, value: str) -> Demand | None:
    """Return a demand with the change that a relaxation's field and value say; None for others."""
    part = re.fullmatch(r"(gpus|nics)\[(\d+)\]\.(\w+)", field)
    if part is not None:
        index, name = int(part[2]), part[3]
        values: dict[str, Any] = {"min_speed_mbps" if name == "min_speed" else name: value or None}
        if name in _PARSERS:
            values = {name: _PARSERS[name](value)}
        if part[1] == "gpus":
            return _with_gpu(demand, index, replace(demand.gpus[index], **values))
        return _with_nic(demand, index, replace(demand.nics[index], **values))
    match field:
        case "cpus":
            return replace(demand, cpus=int(value))
        case "memory":
            amount, _, unit = value.partition(" ")
            return replace(demand, memory_mib=int(amount) * (1024 if unit == "GiB" else 1))
        case "may_move":
            return replace(demand, may_move=value == "true")
        case "vnuma":
            return replace(demand, vnuma_nodes=None if value == "auto" else int(value))
        case "hardware_version":
            return replace(demand, hardware_version=int(value))
        case "affinity":
            return replace(demand, mode=AffinityMode(value))
        case "hosts":
            named = tuple(host.moid for host in problem.inventory.hosts if host.name == value)
            return replace(demand, hosts=(*demand.hosts, *named))
        case "clusters":
            named = tuple(cluster.moid for cluster in problem.inventory.clusters if cluster.name == value)
            return replace(demand, clusters=(*demand.clusters, *named))
    return None


def scaled(demand: Demand) -> list[Change]:
    """Return the demand with fewer cards of its one ask, vCPUs and memory in proportion; most cards first."""
    if len(demand.gpus) != 1:
        return []
    ask = demand.gpus[0]
    found = []
    for count in range(ask.count - 1, 0, -1):
        cpus = max(1, demand.cpus * count // ask.count)
        gib = max(1, demand.memory_mib * count // ask.count // 1024)
        changed = replace(_with_gpu(demand, 0, replace(ask, count=count)), cpus=cpus, memory_mib=gib * 1024)
        text = f"{count} of {ask.count} cards, with {cpus} vCPUs and {gib} GiB"
        cost = costs.LESS_DEVICES + ask.count
        found.append(Change(changed, Relaxation(text, cost)))
    return found


def smaller(demand: Demand, fits: Callable[[Demand], bool]) -> list[Change]:
    """Return the greatest vCPU count, and the greatest memory, with which a demand fits somewhere.

    Found by halving: what fits fits smaller too (vNUMA shapes that do not divide aside).
    """
    found = []
    cpus = _greatest(demand.cpus, lambda n: fits(replace(demand, cpus=n)))
    if cpus is not None:
        changed = replace(demand, cpus=cpus)
        found.append(_change(changed, "cpus", "vCPUs", str(demand.cpus), str(cpus), costs.LESS_CPU_OR_MEMORY))
    gib = _greatest(-(-demand.memory_mib // 1024), lambda n: fits(replace(demand, memory_mib=n * 1024)))
    if gib is not None:
        changed = replace(demand, memory_mib=gib * 1024)
        was, now = f"{-(-demand.memory_mib // 1024)} GiB", f"{gib} GiB"
        found.append(_change(changed, "memory", "memory", was, now, costs.LESS_CPU_OR_MEMORY + 1))
    return found


def _greatest(above: int, fits: Callable[[int], bool]) -> int | None:
    """The greatest number from 1 to below ``above`` that fits, None if 1 does not."""
    low, high = 0, above
    while high - low > 1:
        middle = (low + high) // 2
        if fits(middle):
            low = middle
        else:
            high = middle
    return low or None
