"""Does what a relaxation says: the request changed as the first one of each VM without a place has it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from vplacer.constraints.registry import Relaxation
from vplacer.constraints.state import Problem
from vplacer.request.demand import Demand, Rules
from vplacer.solver.relax import with_field
from vplacer.solver.verdict import Solution

_RULE = "rules["


def first_relaxations(solution: Solution) -> dict[str, Relaxation]:
    """Return the first relaxation of each demand without a place that has one, by demand."""
    return {reason.demand: reason.relaxations[0] for reason in solution.reasons if reason.relaxations}


def first_relaxation(solution: Solution) -> str:
    """Return what `relaxed` follows, in words; "" = there is nothing."""
    ways = first_relaxations(solution)
    if ways.keys() >= set(solution.unplaced):
        return "; ".join(dict.fromkeys(way.text for way in ways.values()))
    return "; ".join(change.text for way in solution.ways_out[:1] for change in way.changes)


def relaxed(problem: Problem, solution: Solution) -> Problem | None:
    """Return the problem with the first relaxation of every VM without a place.

    If one has none, with the first way out of all of them together. None = there is none, or it is no data.
    """
    ways = first_relaxations(solution)
    if ways.keys() >= set(solution.unplaced):
        return _changed(problem, [((demand,), way.field, way.value) for demand, way in ways.items()])
    for way in solution.ways_out[:1]:
        gone = {vm for change in way.changes if change.kind == "leave_out" for vm in change.demands}
        left = tuple(demand for demand in problem.request.demands if demand.id not in gone)
        fewer = Problem(problem.inventory, problem.topologies, replace(problem.request, demands=left))
        rest = [change for change in way.changes if change.kind != "leave_out"]
        return _changed(fewer, [(change.demands, change.field, change.value) for change in rest])
    return None


def _changed(
    problem: Problem, changes: Iterable[tuple[tuple[str, ...], str | None, str | None]]
) -> Problem | None:
    """Return the problem with fields changed: whose, which, to what; None where that is not told as data."""
    demands: dict[str, Demand] = dict(problem.demand_by_id)
    rules = problem.request.rules
    for members, field, value in changes:
        if field is None or value is None:
            return None
        if field.startswith(_RULE):
            rules = _preferred(rules, field.removeprefix(_RULE).removesuffix("].policy"))
            continue
        for member in members:
            changed = with_field(problem, demands[member], field, value)
            if changed is None:
                return None
            demands[member] = changed
    request = replace(problem.request, demands=tuple(demands.values()), rules=rules)
    return Problem(problem.inventory, problem.topologies, request)


def _preferred(rules: Rules, name: str) -> Rules:
    return replace(
        rules,
        apart=tuple(replace(rule, required=rule.required and rule.name != name) for rule in rules.apart),
        together=tuple(
            replace(rule, required=rule.required and rule.name != name) for rule in rules.together
        ),
        on_hosts=tuple(
            replace(rule, required=rule.required and rule.name != name) for rule in rules.on_hosts
        ),
    )
