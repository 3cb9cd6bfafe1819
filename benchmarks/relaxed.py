"""Does what a relaxation says: the request changed as the first one of each VM without a place has it."""

from __future__ import annotations

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


def relaxed(problem: Problem, solution: Solution) -> Problem | None:
    """Return the problem with the first relaxation of every VM without a place; None = one has none.

    None as well where a relaxation is not data (several changes at once).
    """
    ways = first_relaxations(solution)
    if set(solution.unplaced) - ways.keys():
        return None
    demands: dict[str, Demand] = dict(problem.demand_by_id)
    rules = problem.request.rules
    for demand, way in ways.items():
        if way.field is None or way.value is None:
            return None
        if way.field.startswith(_RULE):
            rules = _preferred(rules, way.field.removeprefix(_RULE).removesuffix("].policy"))
            continue
        changed = with_field(problem, demands[demand], way.field, way.value)
        if changed is None:
            return None
        demands[demand] = changed
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
