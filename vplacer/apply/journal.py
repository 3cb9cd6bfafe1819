"""The journal of an apply: an append-only file next to the plan, from which everything can be known again.

JSON lines. Every line carries a checksum that covers the line before it too, so that a line cut off by
a killed process or a power failure is known for what it is, everything before it can be trusted, and
lines that were taken out or put in are noticed. Each line is on the disk before the executor goes on.
No secrets are in it: names, ids, values of fields.
"""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path
from typing import Any, Final, cast

from vplacer.apply.records import JournalState, Opened, Record
from vplacer.errors import FileFormatError, NewerFormatError, UnknownObjectError, UsageError
from vplacer.inventory.canonical import canonical_json
from vplacer.inventory.codec import CodecError, decode, encode
from vplacer.inventory.files import output_error

FORMAT: Final = "vplacer-journal"
FORMAT_VERSION: Final = 1
_SUM_LENGTH: Final = 16
_START: Final = "0" * _SUM_LENGTH


SUFFIX: Final = ".journal"
"""What the name of a journal has beside that of its plan file."""


def journal_path(plan: Path) -> Path:
    """Return where the journal of a plan file is."""
    return plan.with_name(plan.name + SUFFIX)


def plan_path(journal: Path) -> Path:
    """Return where the plan file of a journal is."""
    return journal.with_name(journal.name.removesuffix(SUFFIX))


class Journal:
    """A journal that is being written. ``state`` is what its records say so far.

    ``path`` and ``handle`` None = it is in memory only.
    """

    def __init__(self, path: Path | None, handle: int | None, state: JournalState, last_sum: str) -> None:
        self.path = path
        self.state = state
        self._handle = handle
        self._last_sum = last_sum

    @classmethod
    def create(cls, path: Path, opened: Opened) -> Journal:
        """Begin a journal.

        Raises:
            UsageError: there is one already.
            OutputError: it cannot be written.
        """
        demand_new(path)
        try:
            handle = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_EXCL, 0o600)
        except FileExistsError:
            raise _exists(path) from None
        except OSError as error:
            raise output_error(path, error) from None
        journal = cls(path, handle, JournalState(), _START)
        _sync_folder(path)
        journal.write(opened)
        return journal

    @classmethod
    def in_memory(cls, opened: Opened) -> Journal:
        """Begin a journal that nobody can go on with: that of a rehearsal."""
        journal = cls(None, None, JournalState(), _START)
        journal.write(opened)
        return journal

    @classmethod
    def reopen(cls, path: Path) -> Journal:
        """Go on with a journal. A last line that was cut off is taken away.

        Raises:
            UnknownObjectError: there is none.
            FileFormatError: it is none, or was damaged other than by being cut off.
            NewerFormatError: a newer vplacer wrote it.
            OutputError: it cannot be written.
        """
        state, last_sum, length = _read(path)
        try:
            handle = os.open(path, os.O_WRONLY | os.O_APPEND)
            if os.fstat(handle).st_size > length:
                os.ftruncate(handle, length)
                os.fsync(handle)
        except OSError as error:
            raise output_error(path, error) from None
        return cls(path, handle, state, last_sum)

    def write(self, record: Record) -> None:
        """Append a record; on return it is on the disk.

        Raises:
            OutputError: it cannot be written.
        """
        if self.path is not None and self._handle is not None:
            self._append(record, self.path, self._handle)
        self.state.add(record)

    def _append(self, record: Record, path: Path, handle: int) -> None:
        body: dict[str, Any] = encode(record, tagged=True)
        if isinstance(record, Opened):
            body = {"format": FORMAT, "format_version": FORMAT_VERSION, **body}
        line, self._last_sum = _sealed(body, self._last_sum)
        try:
            _write_all(handle, line)
            os.fsync(handle)
        except OSError as error:
            raise output_error(path, error) from None

    def close(self) -> None:
        """Close the file."""
        if self._handle is not None:
            os.close(self._handle)


def _sync_folder(path: Path) -> None:
    """Make a file's name last: else a power failure might leave no trace of what was begun."""
    try:
        folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY)
    except OSError as error:
        raise output_error(path, error) from None
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def read_journal(path: Path) -> JournalState:
    """Return what a journal says. A last line that was cut off does not count. Errors as `Journal.reopen`."""
    return _read(path)[0]


def demand_new(path: Path) -> None:
    """Refuse a journal that is there already. One whose first line was never finished is removed.

    Raises:
        UsageError: there is one; the plan was applied before.
        OutputError: the remains of one cannot be removed.
    """
    if not path.exists():
        return
    try:
        if b"\n" in path.read_bytes():
            raise _exists(path)
        path.unlink()
    except OSError as error:
        raise output_error(path, error) from None


def _exists(path: Path) -> UsageError:
    return UsageError(
        "this plan has a journal already",
        obj=str(path),
        why="it was applied before, whole or in part",
        hint="`vplacer apply --resume` goes on, `vplacer rollback` takes it back; or make a new plan",
    )


def _write_all(handle: int, data: bytes) -> None:
    while data:
        data = data[os.write(handle, data) :]


def _sealed(body: dict[str, Any], last_sum: str) -> tuple[bytes, str]:
    own = _sum(body, last_sum)
    return canonical_json({**body, "sum": own}) + b"\n", own


def _sum(body: dict[str, Any], last_sum: str) -> str:
    return hashlib.sha256(last_sum.encode("ascii") + canonical_json(body)).hexdigest()[:_SUM_LENGTH]


def _read(path: Path) -> tuple[JournalState, str, int]:
    """Return the state, the last checksum, and the length of what can be trusted."""
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        raise UnknownObjectError(
            "there is no journal", obj=str(path), hint="the plan was not applied from here yet"
        ) from None
    except OSError as error:
        raise UnknownObjectError("cannot be read", obj=str(path), why=error.strerror) from None
    state, last_sum, length = JournalState(), _START, 0
    lines = content.split(b"\n")
    for number, line in enumerate(lines[:-1], 1):
        body = _body(line, last_sum)
        if body is None:
            if any(_is_record(later) for later in lines[number:]):
                raise _damaged(path, number, "its checksum does not fit, and more records follow it")
            break
        last_sum = _sum(body, last_sum)
        _fold(state, body, path, number)
        length += len(line) + 1
    if state.opened is None:
        raise FileFormatError("not a journal", path=str(path), why="its first record is missing")
    return state, last_sum, length


def _body(line: bytes, last_sum: str) -> dict[str, Any] | None:
    """Return a line's content without its checksum; None = it does not fit."""
    body = _json(line)
    if body is None:
        return None
    stored = body.pop("sum", None)
    return body if stored == _sum(body, last_sum) else None


def _json(line: bytes) -> dict[str, Any] | None:
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _is_record(line: bytes) -> bool:
    body = _json(line)
    return body is not None and "sum" in body


def _fold(state: JournalState, body: dict[str, Any], path: Path, number: int) -> None:
    if number == 1:
        if body.pop("format", None) != FORMAT:
            raise FileFormatError("not a journal", path=str(path), why=f'it has no "format": "{FORMAT}"')
        version = body.pop("format_version", None)
        if type(version) is not int or version < 1:
            raise FileFormatError("not a version number", path=str(path), pointer="format_version")
        if version > FORMAT_VERSION:
            raise NewerFormatError(
                f"journal format {version} is newer than this version reads",
                obj=str(path),
                hint="upgrade vplacer",
            )
    try:
        record = cast("Record", decode(Record, body))  # type: ignore[arg-type]
        state.add(record)
    except CodecError as error:
        raise _damaged(path, number, error.what) from None
    except ValueError as error:
        raise _damaged(path, number, str(error)) from None
    if number == 1 and state.opened is None:
        raise FileFormatError("not a journal", path=str(path), why="its first record is missing")


def _damaged(path: Path, line: int, why: str) -> FileFormatError:
    return FileFormatError(
        "the journal is damaged",
        path=str(path),
        line=line,
        why=why,
        hint="it cannot be resumed; look at the VMs that its last lines name, then make a new plan",
    )
