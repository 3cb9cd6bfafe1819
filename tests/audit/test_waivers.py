"""Files of waivers, and which findings fall under one."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tests.audit.full_report import full_report
from tests.conftest import REPO
from vplacer.audit.model import AuditFinding, FileLine
from vplacer.audit.waivers import Waiver, WaiverIndex, waived
from vplacer.audit.waivers_file import parse_waivers
from vplacer.errors import FileFormatError
from vplacer.inventory.yaml_marks import read_document

CASES: list[dict[str, Any]] = read_document(REPO / "tests" / "audit" / "cases" / "waivers.yaml").data
PLAIN = Waiver((), (), (), (), (), (), "why", "who", "2025-01-01", FileLine("w.yaml", 3))


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_file(case: dict[str, Any]) -> None:
    if "errors" not in case:
        parse_waivers(case["text"], "w.yaml")
        return
    with pytest.raises(FileFormatError) as caught:
        parse_waivers(case["text"], "w.yaml")
    shown = str(caught.value)
    assert [part for part in case["errors"] if part not in shown] == [], shown
    assert caught.value.exit_code == 3


def test_what_is_read() -> None:
    first, second = parse_waivers(CASES[0]["text"], "w.yaml")
    assert first == Waiver(
        rules=("VPL001", "VPL002"),
        vms=("far", "llm-*"),
        hosts=("esx01",),
        clusters=("domain-c8",),
        devices=("0000:41:*",),
        fingerprints=("0123456789abcdef",),
        reason="cards come in August",
        owner="ml-ops",
        expires="2026-12-31",
        line=FileLine("w.yaml", 3),
    )
    assert (second.rules, second.expires, second.line.line) == ((), None, 12)


def near() -> AuditFinding:
    """Return the finding VPL003 of the VM near on esx01."""
    (found,) = [finding for finding in full_report().findings if finding.rule == "VPL003"]
    return found


@pytest.mark.parametrize(
    ("changes", "covers"),
    [
        ({"vms": ("near",)}, True),
        ({"vms": ("n*r",)}, True),
        ({"vms": ("vm-2001",)}, True),
        ({"vms": ("far", "ne[a]r")}, True),
        ({"vms": ("NEAR",)}, False),
        ({"vms": ("far", "near")}, True),
        ({"vms": ("[", "ne")}, False),
        ({"vms": ("nea",)}, False),
        ({"hosts": ("esx01",)}, True),
        ({"hosts": ("esx02",)}, False),
        ({"hosts": ("esx01",), "vms": ("far",)}, False),
        ({"clusters": ("c",)}, True),
        ({"clusters": ("d",)}, False),
        ({"devices": ("*",)}, False),
        ({"rules": ("VPL003",)}, True),
        ({"rules": ("VPL001",)}, False),
        ({"fingerprints": (near().fingerprint,)}, True),
        ({"fingerprints": ("0" * 16,)}, False),
    ],
)
def test_covers(changes: dict[str, Any], covers: bool) -> None:
    waiver = replace(PLAIN, **changes)
    assert waiver.covers(near()) is covers
    others = replace(PLAIN, vms=("x*",)), replace(PLAIN, rules=("VPL001",))
    assert list(WaiverIndex([others[0], waiver, others[1]]).covering(near())) == [waiver] * covers


@pytest.mark.parametrize(
    ("now", "holds"),
    [("2024-12-31T23:59:59Z", True), ("2025-01-01T23:59:59Z", True), ("2025-01-02T00:00:00Z", False)],
)
def test_a_waiver_holds_to_the_end_of_its_last_day(now: str, holds: bool) -> None:
    assert (waived(near(), WaiverIndex([PLAIN]), now) is not None) is holds


def test_the_first_that_holds_counts() -> None:
    over = replace(PLAIN, expires="2020-01-01", reason="over")
    waivers = WaiverIndex([over, PLAIN, replace(PLAIN, reason="second")])
    found = waived(near(), waivers, "2025-01-01T00:00:00Z")
    assert found is not None
    assert found.reason == "why"
