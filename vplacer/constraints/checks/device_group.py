"""Vendor device groups are whole, offered by the host, and of cards that can make one."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from vplacer.constraints.bipartite import assign
from vplacer.constraints.matching import group_sets, group_type, serves
from vplacer.constraints.registry import host_check
from vplacer.constraints.state import DeviceAssignment, Placement, State, Violation
from vplacer.constraints.steering import use_of
from vplacer.request.demand import Demand, GpuAsk

ID = "device-group"


def on_host(state: State, host: str) -> Iterable[Violation]:
    """Check the members of every group; they are added and removed as a whole.

    Groups are made by the vendor's driver and cannot be split (vSphere API: VirtualDeviceGroups).
    """
    for placement in state.placements_by_host.get(host, ()):
        demand = state.problem.demand_by_id[placement.demand]
        for evidence in _faults(state, demand, placement):
            yield Violation(ID, demand.id, evidence, host=host)


def _faults(state: State, demand: Demand, placement: Placement) -> Iterable[str]:
    for assignment in placement.devices:
        ask = demand.gpus[assignment.index] if _is_gpu_ask(demand, assignment) else None
        grouped = ask is not None and ask.group is not None
        if grouped != (assignment.group is not None):
            yield f"{assignment.address}: members of a device group, and no others, have a group number"
    for index, ask in enumerate(demand.gpus):
        if ask.group is not None:
            yield from _ask_faults(state, placement, index, ask)


def _is_gpu_ask(demand: Demand, assignment: DeviceAssignment) -> bool:
    return assignment.ask == "gpu" and 0 <= assignment.index < len(demand.gpus)


def _ask_faults(state: State, placement: Placement, index: int, ask: GpuAsk) -> Iterable[str]:
    host = state.problem.inventory.host_by_moid[placement.host]
    offered = group_type(host, ask.group or "")
    if offered is None:
        yield f"device group {ask.group} is not offered"
        return
    members: dict[int | None, list[DeviceAssignment]] = defaultdict(list)
    for assignment in placement.devices:
        if assignment.ask == "gpu" and assignment.index == index:
            members[assignment.group].append(assignment)
    if len(members) != ask.count:
        yield f"{len(members)} device groups {ask.group} assigned, {ask.count} asked for"
    devices = use_of(state, placement.host).devices
    sets = group_sets(state.problem.topologies[placement.host], ask.group or "")
    for group in members.values():
        cards = [devices[a.address] for a in group if a.address in devices]
        parts = offered.components
        complete = len(cards) == len(group) == len(parts)
        if not complete or _seats(state, placement.host, group, ask.group or "") is None:
            yield f"{len(group)} devices do not make a whole {ask.group} of {len(parts)} members"
        elif sets is not None and frozenset(c.address for c in cards) not in {frozenset(s) for s in sets}:
            names = ", ".join(str(card.address) for card in cards)
            yield f"{names} cannot be one {ask.group}"


def _seats(state: State, host: str, group: list[DeviceAssignment], name: str) -> tuple[int, ...] | None:
    """Give each card a member it can be, one each."""
    home = state.problem.inventory.host_by_moid[host]
    devices = use_of(state, host).devices
    offered = group_type(home, name)
    assert offered is not None
    cards = [devices[assignment.address] for assignment in group]
    parts = offered.components
    return assign(len(cards), [1] * len(parts), lambda card, part: serves(home, cards[card], parts[part]))


CHECK = host_check(ID, "Device groups whole", on_host)
