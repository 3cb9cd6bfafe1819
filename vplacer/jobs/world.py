"""What a job may use of the world outside: environment, clock, standard input, progress."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Protocol, TextIO


class Progress(Protocol):
    """Told how far long work is. Calls may come from several threads."""

    def step(self, title: str, done: int, total: int | None) -> None:
        """Report ``done`` of ``total`` parts of the work named ``title``; total None = not known."""

    def finish(self) -> None:
        """Take the display away."""


class NoProgress:
    """Shows nothing."""

    def step(self, title: str, done: int, total: int | None) -> None:
        """Do nothing."""

    def finish(self) -> None:
        """Do nothing."""


@contextmanager
def never_stopped() -> Iterator[Callable[[], bool]]:
    """Work that nobody can ask to end early."""
    yield lambda: False


@dataclass(frozen=True, slots=True)
class World:
    """The outside, passed in by whoever starts a job.

    ``warn`` takes a sentence the user must see now; ``seconds`` is a clock that only measures durations.
    ``stoppable`` is entered around work that can end early with what it has; it yields a function that
    tells whether the user asked for that.
    """

    environ: Mapping[str, str]
    clock: Callable[[], datetime]
    seconds: Callable[[], float]
    warn: Callable[[str], None]
    stdin: TextIO | None = None
    progress: Progress = field(default_factory=NoProgress)
    stoppable: Callable[[], AbstractContextManager[Callable[[], bool]]] = never_stopped


def timestamp(moment: datetime) -> str:
    """Return ISO 8601 in UTC, whole seconds, with a trailing Z."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
