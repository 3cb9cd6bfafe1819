"""What a job may use of the world outside: environment, clock, standard input, progress."""

from __future__ import annotations

from collections.abc import Callable, Mapping
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


def never() -> bool:
    """Tell that nobody asked to stop."""
    return False


@dataclass(frozen=True, slots=True)
class World:
    """The outside, passed in by whoever starts a job.

    ``warn`` takes a sentence the user must see now; ``stop`` tells whether long work should end with
    what it has; ``seconds`` is a clock that only measures durations.
    """

    environ: Mapping[str, str]
    clock: Callable[[], datetime]
    seconds: Callable[[], float]
    warn: Callable[[str], None]
    stdin: TextIO | None = None
    progress: Progress = field(default_factory=NoProgress)
    stop: Callable[[], bool] = never


def timestamp(moment: datetime) -> str:
    """Return ISO 8601 in UTC, whole seconds, with a trailing Z."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
