"""Makes the outside world of a job from a run of the command line."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import datetime

from vplacer.cli.common import Common
from vplacer.cli.output import warn
from vplacer.cli.progress import progress_for
from vplacer.jobs.world import World, never


def world_for(
    common: Common, *, now: datetime | None = None, stop: Callable[[], bool] = never, machine: bool = False
) -> World:
    """Return the world of a job.

    Args:
        common: the run.
        now: the time, instead of the clock's.
        stop: tells whether the user asked the job to end with what it has.
        machine: the output is for programs, so no progress is drawn.
    """
    from vplacer.jobs.world import NoProgress

    return World(
        environ=common.environ,
        clock=common.clock if now is None else lambda: now,
        seconds=time.monotonic,
        warn=lambda text: warn(common, text),
        stdin=common.stdin,
        progress=NoProgress() if machine else progress_for(common),
        stop=stop,
    )
