"""Everything asked for is placed, once, at a place that exists."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from vplacer.constraints.costs import PARTIAL
from vplacer.constraints.registry import Check, Relaxation
from vplacer.constraints.state import Problem, State, Violation
from vplacer.request.demand import Demand

ID = "placed"


def check(state: State) -> Iterable[Violation]:
    """Name demands without a placement, unless a partial answer was asked for."""
    if state.problem.request.options.partial:
        return
    for demand in state.problem.request.demands:
        if demand.id not in state.placement_by_demand:
            yield Violation(ID, demand.id, f"{demand.name} is not placed")


def malformed(state: State) -> list[Violation]:
    """Return placements that name no demand or host of the problem, or a demand twice.

    No other check can look at a state that has any.
    """
    known_hosts = state.problem.inventory.host_by_moid
    times = Counter(placement.demand for placement in state.placements)
    found = [
        Violation(ID, demand, f"{count} placements of one demand")
        for demand, count in sorted(times.items())
        if count > 1
    ]
    for placement in state.placements:
        if placement.demand not in state.problem.demand_by_id:
            found.append(Violation(ID, placement.demand, "the placement is of no demand of the request"))
        if placement.host not in known_hosts or placement.host not in state.problem.topologies:
            found.append(Violation(ID, placement.demand, f"there is no host {placement.host}"))
    return found


def relax(_problem: Problem, _demand: Demand) -> tuple[Relaxation, ...]:
    """A partial answer would do."""
    return (Relaxation("accept that not all are placed", PARTIAL, None, "partial", "true"),)


CHECK = Check(ID, "All VMs placed", "across", check, relax=relax)
