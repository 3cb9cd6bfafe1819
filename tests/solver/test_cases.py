"""Runs the cases of tests/cases/solver: a site, a request, and where its VMs go or why they have no place.

A file has ``cases`` and, where they share one, a ``site`` and a ``request``: inventory YAML and request YAML
as data. A case adds its own to them (mappings are merged, lists are joined) and states

- ``title``, and ``source``: who met this in the field, or the paragraph of the documentation;
- ``claims``: cards that a host says a VM holds, host to card to VM, whether the VM runs or not;
- ``options``: ``include_managed``, ``partial``, ``upkeep`` as on the command line;
- ``expect``: see `tests.solver.outcome`;
- ``xfail``: what is known to be wrong, if the case does not hold yet.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.conftest import REPO
from tests.solver.outcome import Outcome, check_expected, claimed, decide
from vplacer.inventory.site_load import load_site_text
from vplacer.inventory.yaml_marks import parse_document
from vplacer.solver import solve as solve_module
from vplacer.solver.relaxing.applied import is_solved
from vplacer.solver.relaxing.model import GivenUp, WayOut

CASES = REPO / "tests" / "cases" / "solver"
_KEYS = {"title", "source", "site", "claims", "request", "options", "expect", "xfail"}


def joined(base: Any, more: Any) -> Any:
    if isinstance(base, dict) and isinstance(more, dict):
        return base | {key: joined(base[key], value) if key in base else value for key, value in more.items()}
    if isinstance(base, list) and isinstance(more, list):
        return base + more
    return more


def solver_cases(known_wrong: bool = True) -> Iterator[Any]:
    """Read the cases; ``known_wrong``: whether those that do not hold yet are marked so."""
    for path in sorted(CASES.glob("*.yaml")):
        document = parse_document(path.read_text(), path.name).data
        for case in document["cases"]:
            unknown = set(case) - _KEYS
            assert not unknown, f"{path.name}: {case['title']}: {sorted(unknown)}"
            whole = {
                **case,
                "site": joined(document.get("site", {}), case.get("site", {})),
                "request": joined(document.get("request", {}), case.get("request", {})),
            }
            marks = []
            if known_wrong and "xfail" in case:
                marks.append(pytest.mark.xfail(strict=True, reason=case["xfail"]))
            yield pytest.param(whole, id=f"{path.stem}: {case['title']}", marks=marks)


def _run(case: dict[str, Any]) -> Outcome:
    site = load_site_text(json.dumps({"format_version": 1, **case["site"]}), "site.yaml")
    return decide(claimed(site, case.get("claims", {})), site.overlays, case)


@pytest.mark.parametrize("case", list(solver_cases()))
def test_case(case: dict[str, Any]) -> None:
    check_expected(_run(case), case["expect"])


@pytest.mark.parametrize("case", list(solver_cases(known_wrong=False)))
def test_column_generation_finds_as_much(case: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """What large sites are solved with gives the same values here, and claims no bound that is too good."""
    exact = _run(case).solution
    monkeypatch.setattr(solve_module, "EXACT_SIZE", -1)
    found = _run(case).solution
    for best, level in zip(exact.levels, found.levels, strict=True):
        assert level.value == best.value, level.id
        if level.bound is not None:
            assert (level.bound >= best.value) if level.maximise else (level.bound <= best.value), level.id


def test_a_part_of_a_gang_cannot_be_left_out() -> None:
    """The others would have a place, and may not take it."""
    title = "a gang that must leave its host has no place, and leaving out a part of it is no way out"
    case = next(param.values[0] for param in solver_cases() if param.values[0]["title"] == title)  # type: ignore[index]
    problem = _run(case).problem
    ids = {demand.name: demand.id for demand in problem.request.demands}
    some, every = ["rank-1", "rank-3"], ["rank-1", "rank-2", "rank-3"]
    for names, solved in ((some, False), (every, True)):
        left_out = GivenUp("leave_out", "", 1, demands=tuple(ids[name] for name in names))
        assert is_solved(problem, WayOut((left_out,), 1, False), (), seed=1) is solved
