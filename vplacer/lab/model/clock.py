"""The simulated vCenter's clock: it moves only when told to, so that two runs say the same."""

from __future__ import annotations

import threading
from datetime import UTC, datetime, timedelta


class VirtualClock:
    """A clock that stands still until `advance`. Thread-safe; call it to read the time."""

    def __init__(self, start: datetime) -> None:
        if start.tzinfo is None:
            raise ValueError("the clock needs a time with its zone")
        self._now = start.astimezone(UTC)
        self._lock = threading.Lock()

    @classmethod
    def at(cls, timestamp: str) -> VirtualClock:
        """Start at an ISO 8601 time in UTC (``2025-01-01T00:00:00Z``)."""
        return cls(datetime.fromisoformat(timestamp))

    def __call__(self) -> datetime:
        """Return the present time, in UTC."""
        with self._lock:
            return self._now

    def advance(self, seconds: float) -> datetime:
        """Let time pass; return the new time.

        Raises:
            ValueError: time does not go back.
        """
        if seconds < 0:
            raise ValueError("time does not go back")
        with self._lock:
            self._now += timedelta(seconds=seconds)
            return self._now

    def move_to(self, when: datetime) -> datetime:
        """Let time pass until a moment; one that has passed already changes nothing."""
        with self._lock:
            self._now = max(self._now, when.astimezone(UTC))
            return self._now
