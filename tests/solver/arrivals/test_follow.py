"""One VM by slots on random tiny sites: it has a place if there is one, and destroys as little as it can."""

from __future__ import annotations

from itertools import combinations

from hypothesis import HealthCheck, assume, given, settings

from tests.solver.oracle import choices
from tests.solver.tiny import problems
from vplacer.constraints.judge import check
from vplacer.constraints.state import Placement, Problem, State
from vplacer.request.demand import Demand, FutureShape
from vplacer.solver.arrivals.follow import only, place_by_slots
from vplacer.solver.arrivals.keep import keep_slots
from vplacer.solver.arrivals.kept import KeptSlot, with_slots
from vplacer.solver.arrivals.solution import solution_of
from vplacer.solver.arrivals.still_there import still_there
from vplacer.solver.verdict import SolveOptions

FEW = 5
"""Slots up to which every set of them is tried."""


def _works(
    alone: Problem,
    demand: Demand,
    places: list[Placement],
    kept: tuple[KeptSlot, ...],
    mix: tuple[FutureShape, ...],
) -> bool:
    """Whether some place is right beside some slots."""
    asking = with_slots(alone, (demand,), kept, mix)
    slots = tuple(slot.placement for slot in kept)
    return any(not check(State(asking, (place, *slots))) for place in places)


def _sums(problem: Problem) -> bool:
    """Whether sums over hosts are limited: then a slot anywhere may be the one in the way."""
    limited = any(pool.memory_limit_mib is not None for pool in problem.inventory.pools)
    admission = any(cluster.ha_enabled for cluster in problem.inventory.clusters)
    return limited or admission or bool(problem.request.options.headroom_hosts)


@settings(max_examples=50, suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much])
@given(problems())
def test_one_more_vm_by_slots(problem: Problem) -> None:
    mix = problem.request.future
    arriving = [demand for demand in problem.request.demands if demand.vm is None]
    assume(mix and arriving and not problem.request.rules.gangs)
    kept = keep_slots(problem, mix, SolveOptions())
    assert still_there(problem, kept.slots, mix) == (kept.slots, ())
    demand = arriving[0]
    alone = only(problem, demand)
    found = [place for place in choices(alone, demand, {}) if place is not None]
    places = [place for place in found if not check(State(alone, (place,)))]
    arrival = place_by_slots(alone, None, kept.slots, mix)
    assert (arrival is None) == (not places)
    if arrival is None:
        return
    assert solution_of(alone, arrival, SolveOptions()).placements == (arrival.placement,)
    gone = {slot.number for slot in arrival.destroyed}
    left = tuple(slot for slot in kept.slots if slot.number not in gone)
    beside = State(with_slots(alone, (demand,), left, mix), (arrival.placement, *(s.placement for s in left)))
    assert not check(beside)
    if len(kept.slots) > FEW or _sums(problem):
        return
    for size in range(len(kept.slots)):
        for lost in combinations(kept.slots, size):
            if sum(slot.value for slot in lost) < arrival.loss:
                others = tuple(slot for slot in kept.slots if slot not in lost)
                assert not _works(alone, demand, places, others, mix), (arrival, lost)
