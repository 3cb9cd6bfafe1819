"""Running VMs that may move, on sites with too many hosts to try every move on each."""

from __future__ import annotations

import pytest

from benchmarks.fleet import Variant, fleet_problem
from vplacer.constraints.state import Problem
from vplacer.solver import holding
from vplacer.solver.solve import solve
from vplacer.solver.verdict import Solution, SolveOptions

LEVELS = ("placed", "moves")


@pytest.fixture(scope="module")
def problem() -> Problem:
    return fleet_problem(Variant(hosts=14, shapes=13, movable=0.3, seed=2))


def _solved(problem: Problem, work: float) -> Solution:
    return solve(problem, SolveOptions(levels=LEVELS, explained=False, work=work))


def _lost(problem: Problem, solution: Solution) -> list[str]:
    placed = {placement.demand for placement in solution.placements}
    return [d.id for d in problem.request.demands if d.vm is not None and d.id not in placed]


def test_no_bound_forgets_that_vms_may_move(problem: Problem, monkeypatch: pytest.MonkeyPatch) -> None:
    every = _solved(problem, 8.0)
    monkeypatch.setattr(holding, "MOST_HOSTS", 1)
    held = _solved(problem, 8.0)
    assert _lost(problem, held) == []
    running = [p for p in held.placements if problem.demand_by_id[p.demand].vm is not None]
    assert running
    assert all(placement.stays for placement in running)
    for mine, theirs in zip(held.levels, every.levels, strict=True):
        assert mine.bound is not None
        sign = 1 if mine.maximise else -1
        assert sign * (mine.bound - theirs.value) >= 0, f"{mine.id}: {theirs.value} beats {mine.bound}"
        if mine.value != theirs.value:
            break
