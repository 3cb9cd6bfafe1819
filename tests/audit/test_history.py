"""What a history remembers of audits; other writers, other versions and broken files."""

from __future__ import annotations

import json
import sqlite3
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.audit.audit_case import build_subject
from tests.audit.full_report import GAP, SITE
from tests.conftest import REPO
from vplacer.audit.history import Recorded, record, seen_since, trends
from vplacer.audit.history_file import MIGRATIONS, check_history, reading, writing
from vplacer.audit.model import AuditReport
from vplacer.audit.registry import find_rule
from vplacer.audit.run import run_audit
from vplacer.audit.subject import Subject
from vplacer.errors import FileFormatError, NewerFormatError, OutputError, UnknownObjectError, VplacerError
from vplacer.report.audit_text import audit_text
from vplacer.report.trend_formats import trend_csv, trend_json, trend_text

RULES = ("VPL001", "VPL002", "VPL003")
DAYS = [f"2025-01-{day:02}T00:00:00Z" for day in range(1, 29)]
MENDED = {"vms": [{"name": "hostile", "node_affinity": [1]}]}
"""Its GPU is near then, its NIC is still remote."""
MOVED = {
    "vms": [
        {"name": "near", "on": "esx02", "devices": [{"static": "gpu0"}]},
        {"name": "floats", "on": "esx01", "devices": [{"static": "gpu2"}]},
    ]
}
LOW = {"near": {"nodes": [0], "locality_percent": 62}}


def audit(
    day: int, *, rules: tuple[str, ...] = RULES, uuid: str | None = None, **case: Any
) -> tuple[AuditReport, Subject]:
    change = {"taken_at": DAYS[day], **case.pop("change", {})}
    subject = build_subject(SITE, {"change": change, **case})
    if uuid is not None:
        inventory = subject.inventory
        subject = Subject(replace(inventory, about=replace(inventory.about, instance_uuid=uuid, name=uuid)))
    return run_audit(subject, [find_rule(rule) for rule in rules]), subject


def keep(path: Path, day: int, days: int = 400, **case: Any) -> Recorded:
    report, subject = audit(day, **case)
    return record(path, report, subject.inventory, days)


def told(recorded: Recorded) -> dict[str, tuple[str | None, bool | None]]:
    return {item.rule: (item.first_seen, item.new) for item in recorded.report.findings}


def gone(recorded: Recorded) -> list[tuple[str, str | None, str]]:
    return [(item.rule, item.first_seen, item.last_seen) for item in recorded.report.gone]


def dump(path: Path) -> list[str]:
    with sqlite3.connect(path) as db:
        return list(db.iterdump())


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "history.db"


def test_first_seen_new_and_gone(path: Path) -> None:
    first = keep(path, 0)
    assert told(first) == {"VPL001": (DAYS[0], None), "VPL002": (DAYS[0], None)}
    assert (first.report.compared_with, gone(first)) == (None, [])
    assert path.stat().st_mode & 0o777 == 0o600
    second = keep(path, 1, change=MENDED, measured=LOW)
    assert told(second) == {"VPL002": (DAYS[0], False), "VPL003": (DAYS[1], True)}
    assert second.report.compared_with == DAYS[0]
    assert gone(second) == [("VPL001", DAYS[0], DAYS[0])]
    third = keep(path, 2, measured=LOW)
    assert told(third)["VPL001"] == (DAYS[2], True)
    assert gone(third) == []
    points = [(p.errors, p.warnings, p.new, p.gone) for p in third.report.trend]
    assert points == [(1, 1, 2, 0), (2, 0, 1, 1), (2, 1, 1, 0)]


def test_the_same_snapshot_twice_changes_nothing(path: Path) -> None:
    keep(path, 0)
    first = keep(path, 1, change=MENDED)
    before = dump(path)
    second = keep(path, 1, change=MENDED)
    assert dump(path) == before
    assert second.report == first.report


def test_the_same_snapshot_with_other_rules_adds_to_it(path: Path) -> None:
    keep(path, 0, rules=("VPL001",))
    assert told(keep(path, 0, rules=("VPL002",))) == {"VPL002": (DAYS[0], None)}
    both = keep(path, 1)
    assert told(both) == {"VPL001": (DAYS[0], False), "VPL002": (DAYS[0], False)}
    assert [(p.errors, p.warnings) for p in both.report.trend] == [(1, 1), (1, 1)]


def test_an_older_snapshot_is_told_and_not_kept(path: Path) -> None:
    keep(path, 0)
    keep(path, 2, change=MENDED)
    before = dump(path)
    late = keep(path, 1)
    assert late.later == DAYS[2]
    assert dump(path) == before
    assert told(late) == {"VPL001": (DAYS[0], None), "VPL002": (DAYS[0], None)}
    assert (late.report.compared_with, gone(late)) == (None, [])


def test_an_incomplete_audit_makes_nothing_gone(path: Path) -> None:
    keep(path, 0)
    partial = keep(path, 1, change=MENDED, gaps=[GAP])
    assert gone(partial) == []
    assert [p.complete for p in partial.report.trend] == [True, False]
    assert gone(keep(path, 2, change=MENDED)) == [("VPL001", DAYS[0], DAYS[0])]


def test_what_was_not_looked_for_is_not_gone(path: Path) -> None:
    keep(path, 0, measured=LOW)
    assert gone(keep(path, 1, rules=("VPL002",), change=MENDED)) == []
    assert [item[0] for item in gone(keep(path, 2, change=MENDED))] == ["VPL001"]
    assert told(keep(path, 3, measured=LOW))["VPL003"] == (DAYS[0], False)


def test_a_vm_that_moved_to_a_host_that_was_not_looked_at_is_not_gone(path: Path) -> None:
    keep(path, 0, measured=LOW)
    elsewhere = keep(path, 1, change=MOVED, measured={"floats": {"nodes": [2], "locality_percent": 99}})
    assert "VPL003" not in told(elsewhere)
    assert "VPL003" not in [item[0] for item in gone(elsewhere)]
    mended = keep(path, 2, measured={"near": {"nodes": [0], "locality_percent": 99}})
    assert ("VPL003", DAYS[0], DAYS[0]) in gone(mended)


def test_since_when_a_rule_has_a_finding_on_each_vm(path: Path) -> None:
    uuid = audit(0)[0].about.instance_uuid
    assert seen_since(path, uuid, "VPL001", DAYS[5]) == {}
    keep(path, 1)
    keep(path, 3)
    (vm,) = {finding.vm for finding in audit(3)[0].findings if finding.rule == "VPL001"}
    assert seen_since(path, uuid, "VPL001", DAYS[5]) == {vm: DAYS[1]}
    assert seen_since(path, uuid, "VPL001", DAYS[1]) == {}
    assert seen_since(path, "another", "VPL001", DAYS[5]) == {}
    assert seen_since(path, uuid, "VPL044", DAYS[5]) == {}
    keep(path, 4, change=MENDED)
    assert seen_since(path, uuid, "VPL001", DAYS[5]) == {}


def test_vcenters_are_kept_apart(path: Path) -> None:
    keep(path, 5, uuid="a")
    other = keep(path, 0, uuid="b")
    assert other.later is None
    assert told(other)["VPL001"] == (DAYS[0], None)
    assert [(trend.name, len(trend.points)) for trend in trends(path)] == [("a", 1), ("b", 1)]


def test_what_is_old_is_taken_out_of_this_vcenter(path: Path) -> None:
    keep(path, 0, uuid="a")
    keep(path, 0)
    keep(path, 9, days=9, change=MENDED)
    assert [len(trend.points) for trend in trends(path)] == [1, 2]
    last = keep(path, 10, days=9, change=MENDED)
    assert [point.taken_at for point in last.report.trend] == [DAYS[9], DAYS[10]]
    with sqlite3.connect(path) as db:
        rows = db.execute("SELECT vcenter = 'a', rule FROM findings ORDER BY 1, 2").fetchall()
    assert rows == [(0, "VPL002"), (1, "VPL001"), (1, "VPL002")]
    assert told(last) == {"VPL002": (DAYS[0], False)}


WRITER = """
import sys
from pathlib import Path
from tests.audit.test_history import keep
for day in range(12):
    keep(Path(sys.argv[1]), day, uuid=sys.argv[2], change={})
"""


def test_two_writers_at_once(path: Path) -> None:
    """Neither fails, and nothing of either is lost: one writes for its own vCenter, two for the same."""
    command = [sys.executable, "-c", WRITER, str(path)]
    runs = [
        subprocess.Popen([*command, uuid], cwd=REPO, stderr=subprocess.PIPE, text=True)
        for uuid in ("a", "b", "b")
    ]
    assert [run.communicate()[1] for run in runs] == ["", "", ""]
    a, b = trends(path)
    days = DAYS[:12]
    assert [point.taken_at for point in a.points] == days
    assert [point.taken_at for point in b.points] == days
    assert {(point.errors, point.warnings) for point in (*a.points, *b.points)} == {(1, 1)}


def test_a_writer_that_does_not_end(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    keep(path, 0)
    monkeypatch.setattr("vplacer.audit.history_file.WAIT_S", 0)
    with writing(path), pytest.raises(OutputError, match="locked"):
        keep(path, 1)
    keep(path, 1)


def test_what_fails_half_way_leaves_nothing(path: Path) -> None:
    keep(path, 0)
    before = dump(path)

    def half() -> None:
        with writing(path) as db:
            db.execute("DELETE FROM findings")
            raise UnknownObjectError("stop")

    with pytest.raises(UnknownObjectError):
        half()
    assert dump(path) == before


NEXT = (*MIGRATIONS, "ALTER TABLE audits ADD COLUMN tool TEXT; UPDATE audits SET tool = 'before'")


def test_an_older_file_is_brought_to_the_newest_version_and_keeps_what_it_has(path: Path) -> None:
    keep(path, 0)
    with writing(path, NEXT) as db:
        assert db.execute("SELECT taken_at, tool FROM audits").fetchall() == [(DAYS[0], "before")]
    with reading(path, NEXT) as db:
        assert db.execute("PRAGMA user_version").fetchone() == (2,)
    with pytest.raises(NewerFormatError, match="history format 2 is newer than this version reads"):
        keep(path, 1)
    with pytest.raises(NewerFormatError):
        check_history(path)


def _text(path: Path) -> None:
    path.write_text("my notes, which are longer than the head of a database " * 10)


def _other_database(path: Path) -> None:
    with sqlite3.connect(path) as db:
        db.execute("CREATE TABLE mine (x)")


@pytest.mark.parametrize("make", [_text, _other_database])
def test_files_of_others_are_left_alone(make: Any, path: Path) -> None:
    make(path)
    before = path.read_bytes()
    for call in (lambda: keep(path, 0), lambda: trends(path), lambda: check_history(path)):
        with pytest.raises(FileFormatError, match="not a history of audits"):
            call()
    assert path.read_bytes() == before


@pytest.mark.parametrize(
    ("name", "error"), [("nowhere/h.db", OutputError), (".", OutputError), ("", OutputError)]
)
def test_places_that_cannot_be_written(name: str, error: type[VplacerError], tmp_path: Path) -> None:
    with pytest.raises(error, match="cannot be written"):
        keep(tmp_path / name, 0)


def test_an_empty_file_counts_as_none(path: Path) -> None:
    path.touch()
    assert trends(path) == ()
    keep(path, 0)
    assert len(trends(path)) == 1
    with pytest.raises(UnknownObjectError, match="there is no such file"):
        trends(path.with_name("other.db"))


def test_trend_in_each_format(path: Path) -> None:
    assert trend_text(()) == "vplacer audit: this history holds no audit yet\n"
    keep(path, 0)
    keep(path, 1, change=MENDED, gaps=[GAP])
    keep(path, 2, change=MENDED)
    found = trends(path)
    assert trend_text(found) == (
        "vplacer audit trend: site, 3 audits\n"
        "\n"
        "errors   ███  highest 1, last 1\n"
        "warnings ██▁  highest 1, last 0\n"
        "\n"
        "inventory of          errors  warnings  notes  waived  new  gone\n"
        "2025-01-01T00:00:00Z  1       1         0      0       +2   -0\n"
        "2025-01-02T00:00:00Z  1       1         0      0       +0   -0    incomplete\n"
        "2025-01-03T00:00:00Z  1       0         0      0       +0   -1\n"
    )
    (vcenter,) = json.loads(trend_json(found))["vcenters"]
    assert vcenter["audits"][1] == {
        "taken_at": DAYS[1],
        "complete": False,
        "errors": 1,
        "warnings": 1,
        "notes": 0,
        "waived": 0,
        "new": 0,
        "gone": 0,
    }
    lines = trend_csv(found).splitlines()
    assert len(lines) == 4
    assert lines[3] == f"site,{found[0].instance_uuid},{DAYS[2]},yes,1,0,0,0,0,1"


def test_what_is_gone_is_not_told_of_an_incomplete_audit(path: Path) -> None:
    keep(path, 0)
    text = audit_text(keep(path, 1, change=MENDED, gaps=[GAP]).report)
    assert f"Since the audit of {DAYS[0]}: 0 new, 1 still there, what is gone is not known\n" in text
