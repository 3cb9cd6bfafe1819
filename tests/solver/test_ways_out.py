"""Ways out, followed: the changed request is solved anew, and as many more find a place as was said."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, settings

from tests.solver.tiny import problems
from vplacer.constraints.judge import placements_today
from vplacer.constraints.registry import Relaxation
from vplacer.constraints.state import Problem
from vplacer.solver.classes import DemandClass
from vplacer.solver.instance import build_instance
from vplacer.solver.relax import with_field
from vplacer.solver.solve import solve
from vplacer.solver.verdict import Solution, SolveOptions

OPTIONS = SolveOptions(work=50)
_SOME = re.compile(r"makes room for (?:at least )?(\d+) of \d+$")


def _placed(solution: Solution) -> dict[str, int]:
    return {level.id: level.value for level in solution.levels if level.id.startswith("placed:")}


def _follow(
    problem: Problem, cls: DemandClass, members: list[str], way: Relaxation, before: Solution
) -> None:
    assert way.field is not None
    changed = with_field(problem, cls.demand, way.field, way.value or "")
    if changed is None:
        return
    demands = tuple(
        replace(changed, id=demand.id, name=demand.name) if demand.id in members else demand
        for demand in problem.request.demands
    )
    request = replace(problem.request, demands=demands)
    after = solve(Problem(problem.inventory, problem.topologies, request), OPTIONS)
    said = _SOME.search(way.text)
    lets_in = int(said[1]) if said is not None else len(members)
    least = _placed(before)
    least[f"placed:{changed.priority}"] += lets_in * changed.weight_milli
    order = sorted(least, key=lambda level: -int(level.partition(":")[2]))
    reached = _placed(after)
    assert [reached[level] for level in order] >= [least[level] for level in order], way


def _ways_help(problem: Problem) -> None:
    solution = solve(problem, OPTIONS)
    ways = {item.demand: item.relaxations for item in solution.reasons}
    instance = build_instance(problem, placements_today(problem), OPTIONS.levels)
    for cls in instance.classes:
        members = [member for member in cls.members if member in ways]
        for way in ways[members[0]] if members else ():
            if way.field is not None and way.field != "move":
                _follow(problem, cls, members, way, solution)


@settings(max_examples=60, suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(problems())
def test_ways_out_help_as_many_as_they_say(problem: Problem) -> None:
    _ways_help(problem)


@pytest.mark.long
@settings(max_examples=2000, suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(problems())
def test_ways_out_help_as_many_as_they_say_at_length(problem: Problem) -> None:
    _ways_help(problem)
