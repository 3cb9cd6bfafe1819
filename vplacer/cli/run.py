"""Makes the outside world of a job from a run of the command line."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from datetime import datetime

from vplacer.cli.common import Common
from vplacer.cli.output import warn
from vplacer.cli.progress import progress_for
from vplacer.jobs.world import NoProgress, World, never_stopped

Stoppable = Callable[[], AbstractContextManager[Callable[[], bool]]]


def world_for(
    common: Common,
    *,
    now: datetime | None = None,
    stoppable: Stoppable = never_stopped,
    machine: bool = False,
) -> World:
    """Return the world of a job.

    Args:
        common: the run.
        now: the time, instead of the clock's.
        stoppable: entered around work that can end early, see `World`.
        machine: the output is for programs, so no progress is drawn.
    """
    _set_up_logging(common)
    return World(
        environ=common.environ,
        clock=common.clock if now is None else lambda: now,
        seconds=time.monotonic,
        warn=lambda text: warn(common, text),
        stdin=common.stdin,
        progress=NoProgress() if machine else progress_for(common),
        stoppable=stoppable,
    )


def _set_up_logging(common: Common) -> None:
    """Send our own log to standard error with --debug; keep that of libraries out, which may hold secrets.

    Without a handler, Python would print warnings of every library by itself.
    """
    root = logging.getLogger()
    if not root.handlers:
        root.addHandler(logging.NullHandler())
    if common.debug:
        handler = logging.StreamHandler(common.stderr)
        handler.setFormatter(logging.Formatter("%(levelname)s %(name)s: %(message)s"))
        logging.getLogger("vplacer").addHandler(handler)
        logging.getLogger("vplacer").setLevel(logging.INFO)
