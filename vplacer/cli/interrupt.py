"""Ctrl-C during work that can end early with what it has."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

from vplacer.cli.common import Common


@contextmanager
def graceful_interrupt(common: Common) -> Iterator[Callable[[], bool]]:
    """Make the first Ctrl-C a request to stop and the second one an interruption.

    Yields:
        A function that tells whether stopping was asked for.
    """
    asked = threading.Event()
    if threading.current_thread() is not threading.main_thread():
        yield asked.is_set
        return

    def on_interrupt(number: int, frame: FrameType | None) -> None:
        del number, frame
        if asked.is_set():
            raise KeyboardInterrupt
        asked.set()
        common.stderr.write("\nstopping with the best plan found so far; Ctrl-C again gives up at once\n")
        common.stderr.flush()

    previous = signal.signal(signal.SIGINT, on_interrupt)
    try:
        yield asked.is_set
    finally:
        signal.signal(signal.SIGINT, previous)
