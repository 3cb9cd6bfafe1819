"""Kills an apply at any of its moments: at every call to the port and at every line of the journal."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from vplacer.apply import journal as journal_module
from vplacer.apply.journal import Journal
from vplacer.apply.records import Opened, Record
from vplacer.lab.model.port import LabPort


class Killed(BaseException):
    """The process is gone: nothing catches this."""


class Killer:
    """Counts moments and kills at one of them; None = never."""

    def __init__(self, at: int | None) -> None:
        self.at = at
        self.moments = 0

    def moment(self) -> bool:
        """Count a moment; True = this is the last one."""
        self.moments += 1
        return self.moments - 1 == self.at


class MortalPort:
    """A port whose caller may be killed before a call is made, and after it was carried out."""

    def __init__(self, port: LabPort, killer: Killer) -> None:
        self._port = port
        self._killer = killer

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._port, name)
        if not callable(found) or name == "clock":
            return found
        return self._mortal(found)

    def _mortal(self, call: Callable[..., Any]) -> Callable[..., Any]:
        def wrapped(*args: Any, **kwargs: Any) -> Any:
            if self._killer.moment():
                raise Killed
            result = call(*args, **kwargs)
            if self._killer.moment():
                raise Killed
            return result

        return wrapped


def mortal_write(
    killer: Killer, write: Callable[[Journal, Record], None]
) -> Callable[[Journal, Record], None]:
    """Return a way to write records that may be killed before a line, in the middle of it and after it."""

    def wrapped(self: Journal, record: Record) -> None:
        if killer.moment():
            raise Killed
        if killer.moment():
            _half(self, record)
            raise Killed
        write(self, record)
        if killer.moment():
            raise Killed

    return wrapped


def _half(journal: Journal, record: Record) -> None:
    """Write the first half of a record's line, as a killed process may leave it."""
    folder = journal.path.parent
    twin = folder / "twin.journal"
    twin.unlink(missing_ok=True)
    before = journal.path.read_bytes()
    if isinstance(record, Opened):
        whole = journal_module.Journal.create(twin, record)
    else:
        twin.write_bytes(before)
        whole = Journal.reopen(twin)
        journal_module.Journal.__dict__["write"].__wrapped__(whole, record)
    whole.close()
    line = twin.read_bytes()[len(before) :]
    twin.unlink()
    with Path(journal.path).open("ab") as file:
        file.write(line[: len(line) // 2])
