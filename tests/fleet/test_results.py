"""The page of results: parts renewed without the rest, goals with their causes, exponents."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from benchmarks import store
from benchmarks.fleet.growth import exponent
from benchmarks.fleet.process import arguments, cost_row, solved, worst_gap
from benchmarks.measure import Report
from benchmarks.results import page

MADE = {"made by": "`run`", "date": "today"}


def _result(*rows: tuple[str, float]) -> dict[str, Any]:
    report = Report("Sizes")
    report.table("Cost", [{"variant": name, "s": figure} for name, figure in rows])
    for name, figure in rows:
        report.limit(f"{name}: time", 2.0, figure, "s")
        report.check(f"{name}: judged", True)
    return {**vars(report), "waited_share": None}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(store, "FOLDER", tmp_path)
    return tmp_path


def test_a_part_is_renewed_and_the_rest_stays(folder: Path) -> None:
    store.keep("sizes", {"made": MADE, "result": _result(("small", 1.0), ("large", 3.0))}, part=False)
    later = {"made": {**MADE, "made by": "`run --only large`"}, "result": _result(("large", 1.5))}
    store.keep("sizes", later, part=True)
    kept = store.kept(["sizes", "never run"])
    assert list(kept) == ["sizes"]
    told = page(kept)
    assert "| small | 1.00 |" in told
    assert "| large | 1.50 |" in told
    assert "| large | 3.00 |" not in told
    assert "2 of 2 are kept." in told
    assert "`run`, then `run --only large`" in told


def test_a_whole_renewal_keeps_nothing(folder: Path) -> None:
    store.keep("sizes", {"made": MADE, "result": _result(("small", 1.0))}, part=False)
    store.keep("sizes", {"made": MADE, "result": _result(("large", 1.0))}, part=False)
    assert "small" not in page(store.kept(["sizes"]))


def test_outcomes_of_tests_replace_those_of_their_name(folder: Path) -> None:
    store.keep_tests([("long tests (x)", "1 passed"), ("readers (60 s)", "2 passed")])
    store.keep_tests([("readers (300 s)", "3 passed")])
    assert store.tests() == [("long tests (x)", "1 passed"), ("readers (300 s)", "3 passed")]


def test_a_missed_goal_is_told_with_its_cause() -> None:
    items = {"sizes": {"made": MADE, "result": _result(("small", 1.0), ("large", 3.0), ("huge", 4.0))}}
    told = page(items, causes={"large": "not this", "large: time": "it is large", "small": "not missed"})
    assert "| large: time | <= 2 s | 3.00 s |  | MISSED | it is large |" in told
    assert "| huge: time | <= 2 s | 4.00 s |  | MISSED | not stated |" in told
    assert "| small: time | <= 2 s | 1.00 s |  | kept |  |" in told
    assert "1 of 3 are kept." in told


def test_a_figure_that_is_not_there_is_missed() -> None:
    report = Report("x")
    report.limit("gap", 0.1, None, "%")
    report.least("share", 0.9, None, "%")
    assert [goal["met"] for goal in report.goals] == [False, False]
    assert worst_gap({"levels": [{"id": "placed:0", "gap_percent": None}]}) is None
    assert worst_gap({"error": "ended"}) is None


def test_a_variant_that_fails_is_a_row() -> None:
    answer = solved({"hosts": 2}, "placed", limit_s=30)
    assert "too few" in answer["error"]
    assert "FAILED" in cost_row("two hosts", answer)["verdict"]


def test_a_variant_that_takes_too_long_is_ended() -> None:
    answer = solved({"hosts": 2500}, "placed", limit_s=0.25, grace_s=0.5)
    assert "1 s of processor time without an answer" in answer["error"]


def test_options_of_a_variant() -> None:
    assert arguments({"eight_nodes": True, "fill": 0.5}) == ["--eight-nodes", "--fill", "0.5"]


@pytest.mark.parametrize("power", [0.5, 1.0, 2.0])
def test_exponent_of_a_power_law(power: float) -> None:
    points = [(size, 3.0 * size**power) for size in (13, 40, 150, 400)]
    assert exponent(points) == pytest.approx(power)
