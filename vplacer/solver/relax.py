"""Changes of a demand, and of a host's VMs, that may make room: candidates, to be tried."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from vplacer.constraints import costs
from vplacer.constraints.ownership import reason_left_alone
from vplacer.constraints.registry import Relaxation
from vplacer.constraints.state import Problem
from vplacer.constraints.supply import Seat, consumer_of_vm, holds_devices
from vplacer.inventory.host import Host
from vplacer.inventory.vm import Vm
from vplacer.request.demand import AffinityMode, Demand, GpuAsk, NicAsk, Policy
from vplacer.solver.beside import Beside
from vplacer.solver.classes import DemandClass
from vplacer.solver.host_state import HostState
from vplacer.solver.instance import Instance, Rejection
from vplacer.topology.levels import Level

MAX_EVICTIONS_A_HOST = 8


@dataclass(frozen=True, slots=True)
class Change:
    """A changed demand and how to say it."""

    demand: Demand
    relaxation: Relaxation


def changes_of(demand: Demand) -> list[Change]:
    """Return single changes of a demand's wishes, cheapest first; sizes apart (see `smaller`)."""
    found: list[Change] = []
    for index, ask in enumerate(demand.gpus):
        found += _gpu_changes(demand, index, ask)
    for index, nic in enumerate(demand.nics):
        found += _nic_changes(demand, index, nic)
    found += _mode_changes(demand)
    found += _other_changes(demand)
    return sorted(found, key=lambda change: change.relaxation.cost)


def _change(demand: Demand, field: str, what: str, was: str, now: str, cost: int) -> Change:
    """Name a change of one field; whose it is, the reasons it stands among say."""
    return Change(demand, Relaxation(f"{what} {was} -> {now}", cost, None, field, now))


def _with_gpu(demand: Demand, index: int, ask: GpuAsk) -> Demand:
    return replace(demand, gpus=(*demand.gpus[:index], ask, *demand.gpus[index + 1 :]))


def _with_nic(demand: Demand, index: int, ask: NicAsk) -> Demand:
    return replace(demand, nics=(*demand.nics[:index], ask, *demand.nics[index + 1 :]))


def _gpu_changes(demand: Demand, index: int, ask: GpuAsk) -> list[Change]:
    found = []
    noun = "vGPU" if ask.profile is not None else "device group" if ask.group is not None else "GPU"
    which = f" (gpus[{index}])" if len(demand.gpus) > 1 else ""
    softer = {Policy.REQUIRED: (Policy.SOCKET, Policy.PREFERRED), Policy.SOCKET: (Policy.PREFERRED,)}
    for step, policy in enumerate(softer.get(ask.policy, ())):
        changed = _with_gpu(demand, index, replace(ask, policy=policy))
        cost = costs.LOOSER_LOCALITY + step
        field, what = f"gpus[{index}].policy", f"{noun}{which} policy"
        found.append(_change(changed, field, what, ask.policy.value, policy.value, cost))
    if ask.interconnect_required and ask.interconnect is not Level.ANY:
        for step, level in enumerate((Level.SWITCH, Level.NUMA, Level.SOCKET, Level.ANY)):
            if level.rank > ask.interconnect.rank:
                changed = _with_gpu(demand, index, replace(ask, interconnect=level))
                cost = costs.LOOSER_LOCALITY + 2 + step
                field, what = f"gpus[{index}].interconnect", f"{noun}{which} interconnect"
                found.append(_change(changed, field, what, ask.interconnect.value, level.value, cost))
    for count in range(ask.count - 1, 0, -1):
        changed = _with_gpu(demand, index, replace(ask, count=count))
        cost = costs.LESS_DEVICES + ask.count - count
        field, what = f"gpus[{index}].count", f"number of {noun}s{which}"
        found.append(_change(changed, field, what, str(ask.count), str(count), cost))
    return found


def _nic_changes(demand: Demand, index: int, ask: NicAsk) -> list[Change]:
    found = []
    which = f" (nics[{index}])" if len(demand.nics) > 1 else ""
    softer = {Policy.REQUIRED: (Policy.SOCKET, Policy.PREFERRED), Policy.SOCKET: (Policy.PREFERRED,)}
    for step, policy in enumerate(softer.get(ask.policy, ())):
        changed = _with_nic(demand, index, replace(ask, policy=policy))
        field, what = f"nics[{index}].policy", f"NIC{which} policy"
        cost = costs.LOOSER_LOCALITY + step
        found.append(_change(changed, field, what, ask.policy.value, policy.value, cost))
    if ask.near_gpu and ask.at_required:
        for step, level in enumerate((Level.ROOT, Level.NUMA, Level.SOCKET, Level.ANY)):
            if level.rank > ask.at.rank:
                changed = _with_nic(demand, index, replace(ask, at=level))
                cost = costs.LOOSER_LOCALITY + 1 + step
                field, what = f"nics[{index}].at", f"NIC{which} near the GPU"
                found.append(_change(changed, field, what, ask.at.value, level.value, cost))
    for count in range(ask.count - 1, 0, -1):
        changed = _with_nic(demand, index, replace(ask, count=count))
        cost = costs.LESS_DEVICES + ask.count - count
        field, what = f"nics[{index}].count", f"number of NICs{which}"
        found.append(_change(changed, field, what, str(ask.count), str(count), cost))
    return found


def _mode_changes(demand: Demand) -> list[Change]:
    if not demand.has_devices or demand.mode is AffinityMode.PIN:
        return []
    modes = (
        [AffinityMode.PIN] if demand.mode is AffinityMode.LABEL else [AffinityMode.LABEL, AffinityMode.PIN]
    )
    return [
        _change(
            replace(demand, mode=mode),
            "affinity",
            "affinity",
            demand.mode.value,
            mode.value,
            costs.OTHER_BINDING + step,
        )
        for step, mode in enumerate(modes)
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


def with_field(problem: Problem, demand: Demand, field: str, value: str) -> Demand | None:
    """Return a demand with the change that a relaxation's field and value say; None for others."""
    part = re.fullmatch(r"(gpus|nics)\[(\d+)\]\.(\w+)", field)
    if part is not None:
        index, name = int(part[2]), part[3]
        values: dict[str, Any] = {"min_speed_mbps" if name == "min_speed" else name: value or None}
        if name == "count":
            values = {"count": int(value)}
        if part[1] == "gpus":
            return _with_gpu(demand, index, replace(demand.gpus[index], **values))
        return _with_nic(demand, index, replace(demand.nics[index], **values))
    match field:
        case "cpus":
            return replace(demand, cpus=int(value))
        case "memory":
            return replace(demand, memory_mib=int(value.removesuffix(" MiB")))
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
        found.append(Change(changed, Relaxation(text, cost, None, "gpus[0].count", str(count))))
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


def room_made(beside: Beside, cls: DemandClass, moid: str) -> list[Relaxation]:
    """Return the migration of one running VM off a host that would let the demand in.

    Only VMs without devices are offered: they move while they run. Some other host has room for it.
    """
    problem = beside.problem
    host = problem.inventory.host_by_moid[moid]
    if beside.filtered(cls.demand, moid) is not None:
        return []
    if cls.vm is not None and not cls.demand.may_move and moid != cls.home:
        return []
    state = beside.state(moid, cls.vm.moid if cls.vm is not None else None)
    movable = [
        vm
        for vm in problem.inventory.vms_by_host.get(moid, ())
        if vm.is_on
        and not vm.template
        and vm.moid not in problem.demanded_vms
        and not holds_devices(vm)
        and not vm.node_affinity
        and reason_left_alone(vm) is None
    ]
    for vm in sorted(movable, key=lambda vm: (vm.cpus, vm.memory_mib, vm.moid))[:MAX_EVICTIONS_A_HOST]:
        freed = without_vm(state, vm, beside.instance)
        if freed is None or isinstance(beside.seated(cls.demand, freed), Rejection):
            continue
        if any(consumer_fits(beside, vm, other) for other in problem.inventory.hosts if other is not host):
            return [
                Relaxation(f"move {vm.name} off {host.name}", costs.HOST_CHANGE + 1, None, "move", vm.moid)
            ]
    return []


def consumer_fits(beside: Beside, vm: Vm, host: Host) -> bool:
    """Whether another host of the cluster has room for a running VM, by its sums."""
    home = beside.problem.inventory.host_by_moid[vm.host or ""]
    if host.moid not in beside.problem.topologies or host.cluster is None or host.cluster != home.cluster:
        return False
    consumer = consumer_of_vm(vm, host, beside.problem.request.options)
    return consumer is not None and consumer.whole.fits(beside.state(host.moid).total_room)


def without_vm(state: HostState, vm: Vm, instance: Instance) -> HostState | None:
    """Return a host's state without a VM that has no devices; None if it cannot be told apart."""
    consumer = consumer_of_vm(vm, state.host, instance.problem.request.options)
    if consumer is None:
        return None
    position = {node: index for index, node in enumerate(state.node_ids)}
    room, items, divisible = list(state.room), list(state.items), list(state.divisible)
    allowed = tuple(sorted(position[node] for node in consumer.nodes if node in position))
    if consumer.seat is Seat.BOUND:
        for node in consumer.nodes:
            room[position[node]] = room[position[node]] + consumer.part
    elif consumer.seat is Seat.ITEM and (consumer.part, consumer.parts, allowed) in items:
        items.remove((consumer.part, consumer.parts, allowed))
    elif consumer.seat is Seat.DIVISIBLE and (consumer.whole, allowed) in divisible:
        divisible.remove((consumer.whole, allowed))
    else:
        return None
    return replace(
        state,
        room=tuple(room),
        items=tuple(items),
        divisible=tuple(divisible),
        total_room=state.total_room + consumer.whole,
    )
