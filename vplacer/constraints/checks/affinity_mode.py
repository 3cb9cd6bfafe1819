"""Each side is fixed by those the affinity mode lets fix it."""

from __future__ import annotations

from collections.abc import Iterable

from vplacer.constraints.costs import OTHER_BINDING
from vplacer.constraints.registry import Relaxation, host_check
from vplacer.constraints.state import Placement, Problem, State, Violation
from vplacer.constraints.steering import ask_of
from vplacer.constraints.supply import nodes_kept
from vplacer.request.demand import AffinityMode, BoundBy, Demand, GpuAsk, NicAsk

ID = "affinity-mode"


def on_host(state: State, host: str) -> Iterable[Violation]:
    """Check who binds the devices and whether nodes may be written, for each placement."""
    home = state.problem.inventory.host_by_moid[host]
    for placement in state.placements_by_host.get(host, ()):
        demand = state.problem.demand_by_id[placement.demand]
        for evidence in _breaks(demand, placement, nodes_kept(demand, home)):
            yield Violation(ID, demand.id, evidence, host=host)


def _breaks(demand: Demand, placement: Placement, kept: tuple[int, ...]) -> Iterable[str]:
    whole = [a for a in placement.devices if is_whole_card(ask_of(demand, a))]
    static = [a for a in whole if a.bound_by is BoundBy.STATIC]
    labelled = [a for a in placement.devices if a.bound_by is BoundBy.LABEL]
    for assignment in placement.devices:
        if (assignment.bound_by is BoundBy.LABEL) != (assignment.label is not None):
            yield f"{assignment.address}: a label-bound device, and no other, has a label"
        ask = ask_of(demand, assignment)
        vgpu = isinstance(ask, GpuAsk) and (ask.profile is not None or ask.group is not None)
        if vgpu and assignment.bound_by is not BoundBy.PLATFORM:
            yield f"{assignment.address}: the platform chooses the card of a vGPU or a device group"
    match demand.mode:
        case AffinityMode.PIN:
            if len(static) != len(whole):
                yield "mode pin binds every whole card by static DirectPath I/O"
        case AffinityMode.LABEL:
            if static:
                yield "mode label binds no card by static DirectPath I/O"
            if placement.nodes and not labelled:
                yield "without a labelled device a node number means nothing on another host"
        case AffinityMode.HINT:
            if static:
                yield "mode hint binds no card by static DirectPath I/O"
            if placement.nodes and placement.nodes != kept:
                yield "mode hint writes no node affinity"
            if kept and placement.nodes != kept:
                yield "its node affinity stays as it is"


def is_whole_card(ask: GpuAsk | NicAsk | None) -> bool:
    """Whether an ask is for whole passthrough cards."""
    if isinstance(ask, NicAsk):
        return ask.kind == "passthrough"
    return ask is not None and ask.profile is None and ask.group is None


def relax(_problem: Problem, demand: Demand) -> tuple[Relaxation, ...]:
    """Another mode would do."""
    if demand.mode is AffinityMode.PIN:
        return ()
    return (Relaxation("use affinity mode 'pin'", OTHER_BINDING + 5, demand.id, "affinity", "pin"),)


CHECK = host_check(ID, "Sides fixed as the affinity mode says", on_host, relax)
