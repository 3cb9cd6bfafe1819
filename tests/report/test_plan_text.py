"""Golden texts of plans, kept in tests/cases/plan/golden."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.plan.cases import case_named, check_golden
from vplacer.plan.model import DriftItem, MissingPart, ObjectKind, OverlayRef, Plan
from vplacer.report.plan_text import plan_text, summary_text
from vplacer.report.solution_text import level_text
from vplacer.report.style import Style, use_colour
from vplacer.solver.verdict import HostReason, LevelResult

GOLDEN = {
    "mix.txt": ("a bit of everything", 0),
    "mix-v.txt": ("a bit of everything", 1),
    "mix-vv.txt": ("a bit of everything", 2),
    "nothing.txt": ("nothing to do", 0),
    "nofit.txt": ("it does not fit", 0),
    "nofit-nothing.txt": ("nothing fits and nothing helps", 0),
    "partial.txt": ("part of it is placed because that was asked for", 0),
    "static-v.txt": ("static pins card and nodes and costs vMotion HA DRS and snapshots", 1),
    "group-v.txt": ("a device group comes whole", 1),
}


def _text(name: str) -> str:
    case, verbosity = GOLDEN[name]
    return plan_text(case_named(case).plan(), verbosity=verbosity)


@pytest.mark.parametrize("name", GOLDEN)
def test_golden(name: str) -> None:
    check_golden(name, _text(name))


def test_colour_only_wraps_what_plain_text_says() -> None:
    plan = case_named("a bit of everything").plan()
    coloured = plan_text(plan, verbosity=2, style=Style(colour=True))
    assert "\x1b[" in coloured
    plain = coloured
    for code in ("0", "1", "2", "31", "32", "33", "36"):
        plain = plain.replace(f"\x1b[{code}m", "")
    assert plain == plan_text(plan, verbosity=2)


@pytest.mark.parametrize(
    ("maximise", "value", "bound", "unit", "expected"),
    [
        (True, 5, 5, "points", "future room optimal"),
        (True, -5, 7, "points", "future room: -5 of at most 7 points"),
        (False, 7, 5, "points", "future room: 7 points, at least 5"),
        (False, 7, 0, "future", "future room: 7, at least 0"),
        (True, 7, None, "points", "future room: 7, no bound known"),
    ],
)
def test_a_level_is_told_with_its_bound(
    maximise: bool, value: int, bound: int | None, unit: str, expected: str
) -> None:
    assert level_text(LevelResult("room", "future room", maximise, value, bound, unit)) == expected


def test_a_search_for_ways_out_that_was_cut_short_is_not_said_to_be_one_that_found_none() -> None:
    plan = case_named("nothing fits and nothing helps").plan()
    reasons = tuple(
        replace(item, rejections=(HostReason("not-looked-at", (("h", "no time"),)),))
        for item in plan.verdict.reasons
    )
    text = plan_text(replace(plan, verdict=replace(plan.verdict, reasons=reasons)))
    assert "Ways out were not looked for to the end." in text
    assert "No single change" not in text


@pytest.mark.parametrize(
    ("is_tty", "environ", "expected"),
    [
        (True, {}, True),
        (False, {}, False),
        (True, {"NO_COLOR": "1"}, False),
        (False, {"FORCE_COLOR": "1"}, True),
        (True, {"NO_COLOR": "1", "FORCE_COLOR": "1"}, False),
        (True, {"NO_COLOR": ""}, True),
        (True, {"TERM": "dumb"}, False),
    ],
)
def test_when_to_colour(is_tty: bool, environ: dict[str, str], expected: bool) -> None:
    assert use_colour(is_tty=is_tty, environ=environ) is expected


def _told(**changes: object) -> str:
    plan: Plan = case_named("a bit of everything").plan()
    return plan_text(replace(plan, **changes))  # type: ignore[arg-type]


def test_an_incomplete_inventory_is_said_in_the_first_line() -> None:
    gaps = tuple(
        MissingPart(
            f"vm-{n}", f"web-{n}" if n else None, "config.hardware.device", "permission", "System.Read"
        )
        for n in range(7)
    )
    source = replace(case_named("a bit of everything").plan().source, gaps=gaps)
    lines = _told(source=source).splitlines()
    assert "INCOMPLETE: 7 parts could not be read" in lines[0]
    assert lines[1] == "  not read: vm-0 config.hardware.device (permission: System.Read)"
    assert lines[5] == "  not read: web-4 config.hardware.device (permission: System.Read)"
    assert lines[6] == "  not read: 2 more, all of them in the JSON"


def test_overlays_with_source_and_age() -> None:
    source = replace(
        case_named("a bit of everything").plan().source,
        overlays=tuple(
            OverlayRef(host, "nvidia-smi topo -m", "2026-11-18T09:00:00Z", "0" * 64)
            for host in ("esx1", "esx2", "esx3", "esx4")
        ),
    )
    assert (
        _told(source=source)
        .splitlines()[0]
        .endswith("overlays: esx1 ... esx4 (4 hosts) (nvidia-smi topo -m, 12 days old)")
    )


def test_drift_stands_apart_before_the_changes() -> None:
    drift = (
        DriftItem(ObjectKind.VM, "vm-1", "vm-07", "power", "poweredOn", "poweredOff"),
        DriftItem(ObjectKind.VM, "vm-2", "vm-08", "exists", True, False),
        DriftItem(ObjectKind.VM, "vm-3", "vm-09", "cpus", 4, 8),
        DriftItem(ObjectKind.VM, "vm-3", "vm-09", "devices", ("vgpu a", "vgpu b"), ("vgpu b", "vgpu c")),
        DriftItem(
            ObjectKind.HOST,
            "host-1",
            "esx1",
            "cards",
            ("0000:17:00.0 10de:20b7 pNUMA 0 slot 3", "0000:18:00.0 10de:20b7 pNUMA 0"),
            ("0000:1a:00.0 10de:20b7 pNUMA 1 slot 3",),
        ),
    )
    assert _told(drift=drift).splitlines()[1:8] == [
        "Drift since the last plan",
        "  vm-07 is off",
        "  vm-08 is gone",
        "  vm-09 cpus: 4 -> 8",
        "  vm-09 devices: - vgpu a; + vgpu c",
        "  esx1 cards: 10de:20b7 moved from 0000:17:00.0 to 0000:1a:00.0; - 0000:18:00.0 10de:20b7 pNUMA 0",
        "",
    ]


def test_the_time_is_told_only_when_it_is_given() -> None:
    plan = case_named("nothing to do").plan()
    assert plan_text(plan, seconds=0.44).splitlines()[-1] == "Proved: placed 1 of 1; locality optimal. 0.4 s."


def test_summary_is_the_counts_and_the_proof() -> None:
    plan = case_named("a bit of everything").plan()
    assert summary_text(plan) == "\n".join(plan_text(plan).splitlines()[-2:]) + "\n"
