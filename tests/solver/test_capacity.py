"""How many more VMs fit: the same as the solver places of so many copies and one more."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings

from tests.solver.tiny import problems
from vplacer.constraints.judge import check
from vplacer.constraints.state import Problem, State
from vplacer.solver.capacity.room import capacity, with_more
from vplacer.solver.decode import decode
from vplacer.solver.exact import solve_exact
from vplacer.solver.instance import build_instance


def _same_as_the_solver(problem: Problem) -> None:
    found = capacity(problem)
    assert found.kinds
    for room in found.kinds:
        assert room.proved
        assert sum(host.value for host in room.by_host) == room.value
        assert sum(len(stop.hosts) for stop in room.stops) == found.hosts_considered
        ids = tuple(f"new:copy {number:03}" for number in range(room.value + 1))
        copies = with_more(problem, room.kind, ids)
        instance = build_instance(copies, {}, ("placed",))
        answer = solve_exact(instance, seed=1, work=50, should_stop=lambda: False)
        assert answer is not None
        assert not answer.stopped
        placements = decode(instance.classes, zip(instance.tasks, answer.plans, strict=True))
        assert len(placements) == room.value
        assert not [v for v in check(State(copies, placements)) if v.constraint != "placed"]


@settings(max_examples=60, suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(problems())
def test_capacity_is_what_the_solver_places(problem: Problem) -> None:
    _same_as_the_solver(problem)


@pytest.mark.long
@settings(max_examples=3000, suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(problems())
def test_capacity_is_what_the_solver_places_at_length(problem: Problem) -> None:
    _same_as_the_solver(problem)
