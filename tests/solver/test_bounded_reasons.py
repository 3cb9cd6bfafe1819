"""Reasons and ways out are bounded in work, and say what was not looked at."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conftest import REPO
from tests.solver.test_shared_answers import example
from vplacer.constraints.judge import placements_today
from vplacer.solver import explain as explain_module
from vplacer.solver.explain import explain
from vplacer.solver.instance import build_instance
from vplacer.solver.verdict import DemandReasons, SolveOptions

REQUESTS = REPO / "fixtures" / "requests"


def _explained(path: Path) -> tuple[DemandReasons, ...]:
    problem = example(path)
    instance = build_instance(problem, placements_today(problem), SolveOptions().levels)
    unplaced = tuple(sorted(demand.id for demand in problem.request.demands))
    return explain(instance, (), unplaced)[0]


def _constraints(reasons: tuple[DemandReasons, ...]) -> dict[str, dict[str, str]]:
    return {
        item.demand: {moid: told.constraint for told in item.rejections for moid, _ in told.hosts}
        for item in reasons
    }


def test_without_work_filters_are_told_and_the_rest_is_not_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    path = REQUESTS / "a30pairs-nofit.yaml"
    whole = _constraints(_explained(path))
    monkeypatch.setattr(explain_module, "TRIALS", 0)
    monkeypatch.setattr(explain_module, "LEAST", 1)
    bounded = _explained(path)
    told = _constraints(bounded)
    assert told.keys() == whole.keys()
    unseen = 0
    for demand, hosts in told.items():
        assert hosts.keys() == whole[demand].keys()
        for moid, constraint in hosts.items():
            assert constraint in ("not-looked-at", whole[demand][moid])
            unseen += constraint == "not-looked-at"
    assert unseen
    assert not any(item.relaxations or item.conflicts for item in bounded)


def test_highest_priorities_are_looked_at_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(explain_module, "TRIALS", 240)
    monkeypatch.setattr(explain_module, "LEAST", 120)
    reasons = {item.demand: item for item in _explained(REQUESTS / "big96.yaml")}
    problem = example(REQUESTS / "big96.yaml")
    cut = {
        demand.priority: any(told.constraint == "not-looked-at" for told in reasons[demand.id].rejections)
        for demand in sorted(problem.request.demands, key=lambda demand: demand.priority)
    }
    assert cut[max(cut)] is False
    assert any(cut.values())
