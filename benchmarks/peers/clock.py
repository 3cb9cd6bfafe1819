"""Limits in processor time: what others do on the machine changes neither an answer nor who was first."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

_LOOK_S = 0.01


class Clock:
    """Processor time of this process since it was made.

    ``threads``: so many run at once; the time is what an idle machine of as many cores would take.
    """

    def __init__(self, threads: int = 1) -> None:
        self._share = max(1, min(threads, os.cpu_count() or 1))
        self._start = time.process_time()

    def seconds(self) -> float:
        return (time.process_time() - self._start) / self._share


@contextmanager
def ended_after(clock: Clock, seconds: float, end: Callable[[], None]) -> Iterator[None]:
    """Call ``end`` again and again once so many more seconds have passed, until the work below is done."""
    done = threading.Event()
    at = clock.seconds() + seconds

    def look() -> None:
        while not done.wait(_LOOK_S):
            if clock.seconds() >= at:
                end()

    watcher = threading.Thread(target=look, daemon=True)
    watcher.start()
    try:
        yield
    finally:
        done.set()
        watcher.join()
