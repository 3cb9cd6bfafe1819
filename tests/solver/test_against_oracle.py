"""The solver's answer against every answer: same best values, level by level; bounds that hold."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, seed, settings
from hypothesis import strategies as st

from tests.solver.agreement import ORDER, columns_hold, same_as_oracle
from tests.solver.tiny import problems
from tests.solver.tiny_moves import moving_problems
from vplacer.constraints.state import Problem
from vplacer.jobs.upkeep import LEVELS as UPKEEP_ORDER

PARTS = 10
"""The long tests look at 20,000 instances; each part has its own, so that several can run at once."""


@settings(max_examples=60, suppress_health_check=[HealthCheck.too_slow])
@given(problems())
def test_best_values_level_by_level(problem: Problem) -> None:
    same_as_oracle(problem)


@settings(max_examples=60, suppress_health_check=[HealthCheck.too_slow])
@given(moving_problems(), st.sampled_from([ORDER, UPKEEP_ORDER]))
def test_best_values_of_running_vms(problem: Problem, order: tuple[str, ...]) -> None:
    same_as_oracle(problem, order)


@settings(max_examples=40, suppress_health_check=[HealthCheck.too_slow])
@given(problems() | moving_problems())
def test_columns_are_valid_and_their_bounds_hold(problem: Problem) -> None:
    columns_hold(problem)


def _at_length(instances: int) -> settings:
    """Settings of one part of a long test."""
    return settings(
        max_examples=instances // PARTS,
        suppress_health_check=[HealthCheck.too_slow],
        deadline=None,
        database=None,
    )


@pytest.mark.long
@pytest.mark.parametrize("part", range(PARTS))
def test_best_values_level_by_level_at_length(part: int) -> None:
    @seed(part)
    @_at_length(8_000)
    @given(problems())
    def look(problem: Problem) -> None:
        same_as_oracle(problem)

    look()


@pytest.mark.long
@pytest.mark.parametrize("part", range(PARTS))
def test_best_values_of_running_vms_at_length(part: int) -> None:
    @seed(part)
    @_at_length(8_000)
    @given(moving_problems(), st.sampled_from([ORDER, UPKEEP_ORDER]))
    def look(problem: Problem, order: tuple[str, ...]) -> None:
        same_as_oracle(problem, order)

    look()


@pytest.mark.long
@pytest.mark.parametrize("part", range(PARTS))
def test_columns_are_valid_and_their_bounds_hold_at_length(part: int) -> None:
    @seed(part)
    @_at_length(4_000)
    @given(problems() | moving_problems())
    def look(problem: Problem) -> None:
        columns_hold(problem)

    look()
