"""Conflicts and ways out against every answer: what is said to conflict does, what is said to help helps."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, settings

from tests.solver.oracle import can_place_all
from tests.solver.tiny import problems
from vplacer.constraints.state import Problem
from vplacer.request.demand import Demand
from vplacer.request.today import DeviceReader
from vplacer.solver.conflicts.conflict import Conflict, ConflictPart
from vplacer.solver.conflicts.site import SiteChange, altered
from vplacer.solver.conflicts.wishes import wishes_of, without
from vplacer.solver.moves import mover_of
from vplacer.solver.relaxing.applied import applied
from vplacer.solver.relaxing.catalogue import demand_at, ladders_of
from vplacer.solver.relaxing.model import WayOut
from vplacer.solver.solve import solve
from vplacer.solver.verdict import Solution, SolveOptions

OPTIONS = SolveOptions(work=50)


def _worlds(
    problem: Problem, members: Sequence[Demand], conflict: Conflict, kept: Sequence[ConflictPart]
) -> Iterator[Problem]:
    """Yield what is left to be met when only some parts hold: any of them would do."""
    others = {vm.moid for vm in problem.inventory.vms if not vm.template} - {d.vm for d in members}
    if not any(part.kind == "running" for part in kept):
        others -= {moid for part in kept if part.kind == "vm" for moid in part.objects}
        gone = frozenset(others)
    else:
        gone = frozenset()
    admission = {moid for part in kept if part.kind == "admission" for moid in part.objects}
    clusters = frozenset(cluster.moid for cluster in problem.inventory.clusters) - admission
    # VMs that run there may also leave others less to choose from, and so make room.
    sites = [
        altered(problem, SiteChange(vms=vms, clusters=clusters))
        for vms in sorted({gone, frozenset()}, key=len)
    ]
    fields = {part.field for part in kept}
    rules = problem.request.rules
    holds = {part.value for part in kept if part.kind == "rule"}
    rules = replace(
        rules,
        apart=tuple(rule for rule in rules.apart if rule.name in holds or not rule.required),
        together=tuple(rule for rule in rules.together if rule.name in holds or not rule.required),
        gangs=tuple(rule for rule in rules.gangs if rule.name in holds),
    )
    options = problem.request.options
    if "headroom.hosts" not in fields:
        options = replace(options, headroom_hosts=0)
    beside = tuple(
        problem.demand_by_id[moid]
        for part in kept
        if part.kind == "demands"
        for moid in part.objects[: part.count]
    )
    asked = members[: conflict.wanted]
    dropped = [wish.field for wish in wishes_of(problem, asked[0]) if wish.field not in fields]
    for changed in without(asked[0], dropped):
        mine = tuple(replace(changed, id=demand.id, name=demand.name) for demand in asked)
        request = replace(problem.request, demands=(*mine, *beside), rules=rules, options=options)
        yield from (site.with_request(request) for site in sites)


def _without(problem: Problem, members: Sequence[Demand]) -> Problem:
    ids = {demand.id for demand in members}
    demands = tuple(demand for demand in problem.request.demands if demand.id not in ids)
    return problem.with_request(replace(problem.request, demands=demands))


def _conflicts_hold(problem: Problem, solution: Solution) -> None:
    ties = [*problem.request.rules.gangs, *problem.request.rules.together]
    tied = {vm for rule in ties for vm in rule.vms}
    plain = {d.id: replace(d, id="", name="", source=None) for d in problem.request.demands}
    for reasons in solution.reasons:
        demand = problem.demand_by_id[reasons.demand]
        if demand.vm is not None or demand.id in tied:
            continue
        members = [
            demand,
            *(d for d in problem.request.demands if d is not demand and plain[d.id] == plain[demand.id]),
        ]
        assert reasons.conflicts, reasons
        for conflict in reasons.conflicts:
            parts = conflict.parts
            if any(part.kind == "demands" and problem.demand_by_id[part.objects[0]].vm for part in parts):
                continue
            assert not any(map(can_place_all, _worlds(problem, members, conflict, parts))), conflict
            assert conflict.minimal or conflict is not reasons.conflicts[0], conflict
            for part in parts if conflict.minimal else ():
                rest = [other for other in parts if other is not part]
                worlds = list(_worlds(problem, members, conflict, rest))
                needed = any(map(can_place_all, worlds)) or not all(
                    can_place_all(_without(world, members)) for world in worlds
                )
                assert needed, (part, conflict)


def _ways_out_help(problem: Problem, solution: Solution) -> None:
    assert solution.ways_out or not solution.unplaced
    for way in solution.ways_out:
        assert can_place_all(_followed(problem, way)), way
    for way in solution.ways_out[:1]:
        if way.cheapest:
            _nothing_cheaper(problem, solution, way)


def _followed(problem: Problem, way: WayOut) -> Problem:
    reader = DeviceReader(problem.inventory)
    moved = [
        mover_of(problem, problem.inventory.vm_by_moid[change.objects[0]], reader)
        for change in way.changes
        if change.kind == "move"
    ]
    return applied(problem, way, moved)


def _nothing_cheaper(problem: Problem, solution: Solution, way: WayOut) -> None:
    """No single step of the one VM without a place, which would cost less, helps."""
    if len(solution.unplaced) != 1:
        return
    demand = problem.demand_by_id[solution.unplaced[0]]
    ladders = ladders_of(problem, demand)
    for index, ladder in enumerate(ladders):
        for height, step in enumerate(ladder.steps, start=1):
            if step.cost < way.cost:
                point = tuple(height if at == index else 0 for at in range(len(ladders)))
                changed = demand_at(problem, demand, ladders, point)
                demands = tuple(changed if d is demand else d for d in problem.request.demands)
                world = problem.with_request(replace(problem.request, demands=demands))
                assert not can_place_all(world), (ladder.field, step, way)


def _explained(problem: Problem) -> None:
    solution = solve(problem, OPTIONS)
    _conflicts_hold(problem, solution)
    _ways_out_help(problem, solution)


@settings(max_examples=60, suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(problems())
def test_explanations(problem: Problem) -> None:
    _explained(problem)


@pytest.mark.long
@settings(max_examples=2000, suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(problems())
def test_explanations_at_length(problem: Problem) -> None:
    _explained(problem)
