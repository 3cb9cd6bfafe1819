"""Ctrl-C, SIGTERM and a lost terminal during an apply: stop in an orderly way, then let go of what runs."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import TYPE_CHECKING

from vplacer.apply.stop import Stop, StopLevel
from vplacer.cli import failure

if TYPE_CHECKING:
    from vplacer.cli.apply_display import Display

_SHOWN = 6


class Signalled:
    """Which signal asked to stop; ``exit_code`` None = none did."""

    def __init__(self) -> None:
        self.exit_code: int | None = None


@contextmanager
def stop_on_signals(stop: Stop, display: Display, *, resume: str) -> Iterator[Signalled]:
    """Make the first signal a wish to stop, the second one to detach; a third ends the process.

    Before anything has begun they end it at once.

    Args:
        stop: is asked.
        display: knows what has begun and what runs, and shows lines.
        resume: the command that goes on.
    """
    told = Signalled()
    if threading.current_thread() is not threading.main_thread():
        yield told
        return

    def on_signal(number: int, frame: FrameType | None) -> None:
        del frame
        code = 128 + number
        if not display.has_begun or stop.level is StopLevel.DETACH:
            raise KeyboardInterrupt if code == failure.INTERRUPTED else SystemExit(code)
        told.exit_code = code
        names = list(display.running.values())
        if stop.request() is StopLevel.GRACEFUL:
            waits = f"waiting for {_listed(names)}" if names else "waiting for what is under way"
            display.say(f"stopping: nothing new is begun, {waits}; again: do not wait")
        else:
            display.say(
                f"letting go: {_listed(names) or 'what runs'} goes on in the vCenter; {resume} finds it again"
            )

    numbers = [signal.SIGINT, signal.SIGTERM]
    # A session that breaks off ends the apply in an orderly way; nohup has it go on.
    if hasattr(signal, "SIGHUP") and signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:
        numbers.append(signal.SIGHUP)
    old = {number: signal.signal(number, on_signal) for number in numbers}
    try:
        yield told
    finally:
        for number, handler in old.items():
            signal.signal(number, handler)


def _listed(names: list[str]) -> str:
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return ", ".join(names[:_SHOWN]) + more
