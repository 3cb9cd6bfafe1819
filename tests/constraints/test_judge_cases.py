"""Runs tests/cases/judge: a site, demands and placements, and the violations the judge must find.

``expect`` lists every violation, in the judge's order: ``constraint``, ``about`` (name of the VM, host,
pool or cluster), and parts of the evidence (``says``). ``today`` maps existing VMs to what keeps them
from meeting their demand as they are: constraints, [] = nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.conftest import REPO
from tests.constraints.state_case import Names, build_state
from vplacer.constraints.judge import check, check_change, check_vm_today
from vplacer.constraints.registry import checks, filters
from vplacer.inventory.yaml_marks import read_document

CASES = REPO / "tests" / "cases" / "judge"


def _cases() -> Iterator[Any]:
    for path in sorted(CASES.glob("*.yaml")):
        document = read_document(path).data
        for case in document["cases"]:
            merged = {**document.get("defaults", {}), **case}
            yield pytest.param(document["site"], merged, id=f"{path.stem}: {case['name']}")


@pytest.mark.parametrize(("site", "case"), list(_cases()))
def test_judge(site: dict[str, Any], case: dict[str, Any]) -> None:
    state = build_state(site, case)
    names = Names(state.problem.inventory, case)
    if "expect" in case:
        found = check(state)
        shown = [f"{v.constraint} {names.name(v.object)}: {v.evidence} ({v.confidence})" for v in found]
        expected = case["expect"]
        assert [(v.constraint, names.name(v.object)) for v in found] == [
            (e["constraint"], e["about"]) for e in expected
        ], shown
        # On every host it is the whole judge, in another order.
        changed = check_change(state, [host.moid for host in state.problem.inventory.hosts])
        assert sorted(changed, key=str) == sorted(found, key=str), shown
        for violation, wanted in zip(found, expected, strict=True):
            assert wanted.get("says", "") in violation.evidence, shown
            assert wanted.get("confidence", "proved") == violation.confidence, shown
    for vm, constraints in case.get("today", {}).items():
        demand = state.problem.demand_by_id[names.id(vm)]
        found_today = check_vm_today(state.problem, demand)
        assert [v.constraint for v in found_today] == constraints, [v.evidence for v in found_today]


def test_every_constraint_has_a_failing_case() -> None:
    failing = {e["constraint"] for case in _cases() for e in case.values[1].get("expect", [])}
    assert failing >= {item.id for item in (*filters(), *checks())}
