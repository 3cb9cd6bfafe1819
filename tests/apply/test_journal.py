"""The journal: what is on the disk can be trusted, what was cut off is known, what was changed is refused."""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path

import pytest

from vplacer.apply.journal import Journal, demand_new, journal_path, read_journal
from vplacer.apply.records import Began, Ended, Intent, Opened, Record, Sent
from vplacer.errors import FileFormatError, NewerFormatError, OutputError, UnknownObjectError, UsageError
from vplacer.inventory.canonical import canonical_json

OPENED = Opened("a" * 64, "plan.json", "vc", "uuid-1", "0.1.0", "vplacer-aaaaaaaa", 3)
LINES: tuple[Record, ...] = (
    Began("2026-01-01T00:00:00+00:00", "apply"),
    Intent("vm-1/power_off", False, "vplacer-aaaaaaaa-vm-1/power_off", "2026-01-01T00:00:00+00:00", "t"),
    Sent("vm-1/power_off", False, "task-7", "VirtualMachine.powerOff", "vm-1"),
    Ended("vm-1/power_off", False, True, None, True, None, "t"),
    Intent("vm-1/reconfigure", False, "vplacer-aaaaaaaa-vm-1/reconfigure", "2026-01-01T00:00:01+00:00", "t"),
)


def _written(folder: Path) -> Path:
    path = folder / "plan.json.journal"
    journal = Journal.create(path, OPENED)
    for record in LINES:
        journal.write(record)
    journal.close()
    return path


def test_what_was_written_is_read(tmp_path: Path) -> None:
    state = read_journal(_written(tmp_path))
    assert state.opened == OPENED
    assert state.is_done("vm-1/power_off")
    assert state.task_ids == {"task-7"}
    ((step, attempt),) = state.open_calls()
    assert (step, attempt.sent) == ("vm-1/reconfigure", None)
    assert state.has_written


def test_only_its_owner_may_read_it(tmp_path: Path) -> None:
    assert stat.S_IMODE(_written(tmp_path).stat().st_mode) == 0o600


def test_it_lies_beside_the_plan() -> None:
    assert journal_path(Path("/somewhere/plan.json")) == Path("/somewhere/plan.json.journal")


def test_every_line_is_on_the_disk_before_the_next(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    synced: list[int] = []
    real = os.fsync
    monkeypatch.setattr(os, "fsync", lambda handle: (synced.append(handle), real(handle))[1])
    _written(tmp_path)
    # The folder, the first line, and each of the others.
    assert len(synced) == 2 + len(LINES)


def test_cut_off_anywhere_the_lines_before_are_trusted(tmp_path: Path) -> None:
    path = _written(tmp_path)
    whole = path.read_bytes()
    ends = [index + 1 for index, byte in enumerate(whole) if byte == ord("\n")]
    for length in range(ends[0], len(whole)):
        path.write_bytes(whole[:length])
        complete = sum(end <= length for end in ends)
        journal = Journal.reopen(path)
        assert len(path.read_bytes()) == ends[complete - 1]
        journal.write(Began("later", "resume"))
        journal.close()
        state = read_journal(path)
        assert [item.mode for item in state.began][-1] == "resume"


def test_rubbish_after_a_power_failure_is_taken_away(tmp_path: Path) -> None:
    path = _written(tmp_path)
    with path.open("ab") as file:
        file.write(b"\0" * 300 + b"\n" + b"\0" * 10)
    assert read_journal(path).is_done("vm-1/power_off")


@pytest.mark.parametrize("line", [0, 1, 3])
def test_a_line_that_was_changed_is_noticed(line: int, tmp_path: Path) -> None:
    path = _written(tmp_path)
    lines = path.read_bytes().splitlines(keepends=True)
    lines[line] = (
        lines[line].replace(b"vm-1", b"vm-2").replace(b"uuid-1", b"uuid-2").replace(b"apply", b"bpply")
    )
    path.write_bytes(b"".join(lines))
    with pytest.raises(FileFormatError, match=f":{line + 1}: the journal is damaged"):
        read_journal(path)


def test_a_line_that_was_taken_out_is_noticed(tmp_path: Path) -> None:
    path = _written(tmp_path)
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(lines[:3] + lines[4:]))
    with pytest.raises(FileFormatError, match="damaged"):
        read_journal(path)


def test_an_answer_without_its_call_is_damage(tmp_path: Path) -> None:
    path = tmp_path / "plan.journal"
    journal = Journal.create(path, OPENED)
    with pytest.raises(ValueError, match="without its call"):
        journal.write(Sent("vm-1/power_on", False, "task-1", "x", "vm-1"))
    journal.close()
    with pytest.raises(FileFormatError, match="damaged"):
        read_journal(path)


def test_other_files_are_none(tmp_path: Path) -> None:
    path = tmp_path / "x.journal"
    with pytest.raises(UnknownObjectError):
        read_journal(path)
    path.write_text('{"format": "something"}\n')
    with pytest.raises(FileFormatError, match="not a journal"):
        read_journal(path)


def test_a_newer_one_is_refused_by_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("vplacer.apply.journal.FORMAT_VERSION", 2)
    path = tmp_path / "x.journal"
    Journal.create(path, OPENED).close()
    monkeypatch.undo()
    with pytest.raises(NewerFormatError, match="journal format 2"):
        read_journal(path)


def test_a_second_one_is_refused_unless_the_first_never_began(tmp_path: Path) -> None:
    path = _written(tmp_path)
    with pytest.raises(UsageError, match="--resume"):
        Journal.create(path, OPENED)
    path.write_bytes(path.read_bytes()[:20])
    demand_new(path)
    assert not path.exists()


def test_a_full_disk_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "x.journal"
    journal = Journal.create(path, OPENED)

    def full(handle: int, data: bytes) -> int:
        del handle, data
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "write", full)
    with pytest.raises(OutputError, match="No space left"):
        journal.write(LINES[0])


def test_lines_are_json_that_people_can_read(tmp_path: Path) -> None:
    lines = [json.loads(line) for line in _written(tmp_path).read_text().splitlines()]
    assert lines[0]["format"] == "vplacer-journal"
    assert [line["type"] for line in lines[1:]] == ["Began", "Intent", "Sent", "Ended", "Intent"]
    assert all(canonical_json(line) for line in lines)
