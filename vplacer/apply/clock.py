"""The time an apply lives in: the machine's, or a simulated vCenter's."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta
from typing import Protocol


class Clock(Protocol):
    """Tells the time and lets it pass."""

    def now(self) -> datetime:
        """Return the time, with its zone."""
        ...

    def sleep(self, seconds: float) -> None:
        """Return when so much time has passed."""
        ...


class MachineClock:
    """The clock of this machine."""

    def now(self) -> datetime:
        """Return the time in UTC."""
        return datetime.now(UTC)

    def sleep(self, seconds: float) -> None:
        """Sleep. A signal handler may run meanwhile."""
        time.sleep(seconds)


class FastClock:
    """A clock that runs faster than that of the machine, beside a simulated vCenter that does too.

    Args:
        start: the time it begins at, with its zone.
        speed: its seconds in one second.
    """

    def __init__(self, start: datetime, speed: float) -> None:
        self._start = start
        self._speed = speed
        self._began = time.monotonic()

    def now(self) -> datetime:
        """Return the time, in the zone of the start."""
        return self._start + timedelta(seconds=self.seconds())

    def seconds(self) -> float:
        """Return how many of its seconds have passed."""
        return (time.monotonic() - self._began) * self._speed

    def sleep(self, seconds: float) -> None:
        """Let so many of its seconds pass. A signal handler may run meanwhile."""
        time.sleep(seconds / self._speed)
