"""The wish to stop: told from outside (Ctrl-C, SIGTERM), asked about by the executor."""

from __future__ import annotations

import threading
from enum import IntEnum


class StopLevel(IntEnum):
    """How soon.

    GRACEFUL: begin nothing new and wait for what runs. DETACH: do not wait either; the tasks go on in
    vCenter and the journal knows them.
    """

    NONE = 0
    GRACEFUL = 1
    DETACH = 2


class Stop:
    """A wish to stop that can only grow. Safe to use from signal handlers and threads."""

    def __init__(self) -> None:
        self._graceful = threading.Event()
        self._detach = threading.Event()

    def request(self) -> StopLevel:
        """Ask to stop; asked a second time, to detach. Return what is asked now."""
        if self._graceful.is_set():
            self._detach.set()
        self._graceful.set()
        return self.level

    @property
    def level(self) -> StopLevel:
        """What is asked."""
        if self._detach.is_set():
            return StopLevel.DETACH
        return StopLevel.GRACEFUL if self._graceful.is_set() else StopLevel.NONE

    @property
    def detaches(self) -> bool:
        """Whether nothing is to be waited for any more."""
        return self._detach.is_set()
