"""The state machine's clock, driven by the wall clock."""

from __future__ import annotations

import threading
import time
from datetime import timedelta

from vplacer.lab.model.machine import Machine

_LONGEST_NAP_S = 0.25
_SHORTEST_NAP_S = 0.001


class Ticker:
    """Moves a machine's clock along in a thread of its own.

    Args:
        machine: whose time it is.
        speed: seconds of its time in one second.
        always: time passes at all times; False = only while something is under way, so that a server
            that is only read tells the same time for ever.
    """

    def __init__(self, machine: Machine, speed: float = 1.0, *, always: bool = False) -> None:
        if speed <= 0:
            raise ValueError("time does not stand still or go back")
        self._machine = machine
        self.speed = speed
        self._always = always
        self._lock = threading.Lock()
        self._last = time.monotonic()
        self._wake = threading.Event()
        self._stopping = False
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Begin."""
        self._stopping = False
        self._last = time.monotonic()
        self._thread = threading.Thread(target=self._run, name="vplacer-lab-clock", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """End; time stands still from now on."""
        thread, self._thread = self._thread, None
        if thread is not None:
            self._stopping = True
            self._wake.set()
            thread.join()

    def poke(self) -> None:
        """Tell that something may be under way."""
        self._wake.set()

    def catch_up(self) -> None:
        """Let the time pass that has passed on the wall."""
        if self._thread is None:
            return
        with self._lock:
            now = time.monotonic()
            passed, self._last = now - self._last, now
            if self._always or self._machine.next_due() is not None:
                self._machine.advance(passed * self.speed)

    def _run(self) -> None:
        while not self._stopping:
            due = self._machine.next_due()
            if due is None and not self._always:
                self._wake.wait()
                self._wake.clear()
                with self._lock:
                    # What went by while nothing was under way has not passed.
                    self._last = time.monotonic()
                continue
            if due is None:
                self._wake.wait(_LONGEST_NAP_S)
            else:
                left_s = (due - self._machine.clock()) / timedelta(seconds=self.speed)
                self._wake.wait(min(max(left_s, _SHORTEST_NAP_S), _LONGEST_NAP_S))
            self._wake.clear()
            self.catch_up()
