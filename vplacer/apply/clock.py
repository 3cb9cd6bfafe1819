"""The time an apply lives in: the machine's, or a simulated vCenter's."""

from __future__ import annotations

import time
from datetime import UTC, datetime
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
