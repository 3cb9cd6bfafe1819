"""A search that is told to end, at whatever moment, answers with what it has: valid and bounded."""

from __future__ import annotations

import json

import pytest

from tests.solver.outcome import decide
from tests.solver.test_cases import solver_cases
from vplacer.constraints.judge import check
from vplacer.constraints.state import Problem, State
from vplacer.inventory.site_load import load_site_text
from vplacer.solver import solve as solve_module
from vplacer.solver.solve import solve
from vplacer.solver.verdict import Solution, SolveOptions, Status, StoppedBy

CASES = (
    "objective: priorities in order, each as full as can be",
    "objective: more is asked of it, and it gets it where it is",
    "objective: the fewest power cycles",
    "future: four single cards go where a node is broken already",
    "nvlink: singles leave the pairs that others need",
    "rules: more VMs apart than hosts",
)


def _problem(title: str) -> Problem:
    case = next(param.values[0] for param in solver_cases(known_wrong=False) if param.id == title)
    site = load_site_text(json.dumps({"format_version": 1, **case["site"]}), "site.yaml")
    return decide(site.inventory, site.overlays, case).problem


class _Stop:
    """Says to end from its n-th call on; None = never."""

    def __init__(self, at: int | None) -> None:
        self.at = at
        self.calls = 0

    def __call__(self) -> StoppedBy | None:
        self.calls += 1
        return StoppedBy.TIME if self.at is not None and self.calls >= self.at else None


def _solve(problem: Problem, at: int | None) -> tuple[Solution, _Stop]:
    stop = _Stop(at)
    fresh = Problem(problem.inventory, problem.topologies, problem.request)
    return solve(fresh, SolveOptions(), stop), stop


@pytest.mark.parametrize("exact_size", [solve_module.EXACT_SIZE, -1], ids=["exact", "columns"])
@pytest.mark.parametrize("title", CASES)
def test_whenever_it_is_told_to_end(title: str, exact_size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    problem = _problem(title)
    best, _ = _solve(problem, None)
    assert all(level.proved for level in best.levels)
    monkeypatch.setattr(solve_module, "EXACT_SIZE", exact_size)
    at = 0
    while True:
        at += 1
        found, stop = _solve(problem, at)
        _is_sound(problem, found, best)
        if stop.calls < at:
            break
        assert at < 1_000
    assert at > 3, "the search never asked"


def _is_sound(problem: Problem, found: Solution, best: Solution) -> None:
    state = State(problem, found.placements)
    assert not [v for v in check(state) if not (v.constraint == "placed" and v.object in found.unplaced)]
    assert found.status is not Status.INFEASIBLE or best.status is Status.INFEASIBLE
    assert {item.demand for item in found.reasons} == set(found.unplaced)
    if not all(level.proved for level in found.levels):
        assert found.stopped_by in (StoppedBy.TIME, StoppedBy.WORK)
    for mine, theirs in zip(found.levels, best.levels, strict=True):
        sign = 1 if mine.maximise else -1
        if mine.bound is not None:
            assert sign * mine.bound >= sign * theirs.value, mine
            assert sign * mine.bound >= sign * mine.value, mine
        if mine.value != theirs.value:
            # What the next levels could be depends on what is given up here.
            assert sign * mine.value < sign * theirs.value
            break
