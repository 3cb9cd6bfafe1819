"""Guests that were asked to shut down: no task tells of them, so they are looked at now and then."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from vplacer.apply.calls import Move


@dataclass(slots=True)
class Shutdown:
    """A guest that was asked.

    ``asked``: False = the answer to the question was lost, so it is asked once more. ``told``: when it was
    last said that this is waited for.
    """

    move: Move
    began: datetime
    deadline: datetime
    asked: bool
    told: datetime
