"""The solver's answer against every answer: same best values, level by level; bounds that hold."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.solver.oracle import best
from tests.solver.tiny import problems
from tests.solver.tiny_moves import moving_problems
from vplacer.constraints.judge import check, placements_today
from vplacer.constraints.state import Problem, State
from vplacer.jobs.upkeep import LEVELS as UPKEEP_ORDER
from vplacer.solver.columns import solve_columns
from vplacer.solver.decode import decode
from vplacer.solver.exact import solve_exact
from vplacer.solver.instance import build_instance
from vplacer.solver.solve import solve
from vplacer.solver.verdict import SolveOptions, Status

ORDER = SolveOptions().levels


def _same_as_oracle(problem: Problem, order: tuple[str, ...] = ORDER) -> None:
    instance = build_instance(problem, placements_today(problem), order)
    expected, _ = best(problem, instance.levels)
    solution = solve(problem, SolveOptions(work=50, levels=order))
    values = {level.id: level.value for level in solution.levels}
    assert values == expected
    assert all(level.proved for level in solution.levels)
    assert solution.status is Status.OPTIMAL


@settings(max_examples=60, suppress_health_check=[HealthCheck.too_slow])
@given(problems())
def test_best_values_level_by_level(problem: Problem) -> None:
    _same_as_oracle(problem)


@pytest.mark.long
@settings(max_examples=3000, suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(problems())
def test_best_values_level_by_level_at_length(problem: Problem) -> None:
    _same_as_oracle(problem)


@settings(max_examples=60, suppress_health_check=[HealthCheck.too_slow])
@given(moving_problems(), st.sampled_from([ORDER, UPKEEP_ORDER]))
def test_best_values_of_running_vms(problem: Problem, order: tuple[str, ...]) -> None:
    _same_as_oracle(problem, order)


@pytest.mark.long
@settings(max_examples=3000, suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(moving_problems(), st.sampled_from([ORDER, UPKEEP_ORDER]))
def test_best_values_of_running_vms_at_length(problem: Problem, order: tuple[str, ...]) -> None:
    _same_as_oracle(problem, order)


@settings(max_examples=40, suppress_health_check=[HealthCheck.too_slow])
@given(problems() | moving_problems())
def test_columns_are_valid_and_their_bounds_hold(problem: Problem) -> None:
    instance = build_instance(problem, placements_today(problem), ORDER)
    answer = solve_columns(instance, seed=1, work=20, should_stop=lambda: False)
    exact = solve_exact(instance, seed=1, work=50, should_stop=lambda: False)
    assert exact is not None
    placements = decode(instance.classes, zip(instance.tasks, answer.plans, strict=True))
    state = State(problem, (*instance.settled, *placements))
    assert not [v for v in check(state) if v.constraint != "placed"]
    first = instance.levels[0].id
    assert answer.values[first] <= exact.values[first]
    bound = answer.bounds[first]
    assert bound is None or bound >= exact.values[first]
