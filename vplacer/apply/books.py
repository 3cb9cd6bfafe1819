"""What an executor knows: the steps, the calls that run, what failed; and how it writes that down."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from vplacer.apply.calls import Move
from vplacer.apply.journal import Journal
from vplacer.apply.options import ApplyOptions
from vplacer.apply.records import Ended
from vplacer.apply.schedule import Schedule
from vplacer.apply.shutdown import Shutdown
from vplacer.apply.stop import Stop
from vplacer.apply.tell import Teller
from vplacer.apply.units import Unit
from vplacer.apply.world import World
from vplacer.plan.model import Fact, Step
from vplacer.port import Task


@dataclass(slots=True)
class Call:
    """A task that runs."""

    move: Move
    task: Task
    began: datetime
    told: datetime


class Books:
    """The state of an executor.

    Args:
        rolls_back: the steps are inverse ones: each is held to what still is as vplacer wrote it, and is
            journalled as taking its step back.
        expected: the fields each VM must have until its first step, by its id in the plan.
    """

    def __init__(
        self,
        world: World,
        journal: Journal,
        schedule: Schedule,
        options: ApplyOptions,
        tell: Teller,
        stop: Stop,
        expected: Mapping[str, dict[str, Fact]],
        *,
        operation: str,
        rolls_back: bool = False,
    ) -> None:
        self.world = world
        self.journal = journal
        self.schedule = schedule
        self.options = options
        self.tell = tell
        self.stop = stop
        self.expected = dict(expected)
        self.operation = operation
        self.rolls_back = rolls_back
        self.failed: dict[str, str] = {}
        self.calls: dict[str, Call] = {}
        self.shutdowns: dict[str, Shutdown] = {}
        self.stalled: set[str] = set()
        self.switched_on: list[str] = []
        self.unreached = False
        self._only_settles = False
        self._stuck: set[str] = set()
        self._restores: dict[int, list[Step]] = {}
        self._to_restore: dict[int, Unit] = {}
        self._sends: dict[tuple[str, bool], int] = {}
        self._last_poll = tell.clock.now()

    def _journal_end(
        self,
        move: Move,
        *,
        done: bool,
        detail: str | None = None,
        made: str | None = None,
        verified: bool = True,
    ) -> None:
        step = move.step
        self.journal.write(Ended(step.id, move.undo, done, made, verified, detail, self._now_text()))

    def _steps_of(self, vm: str) -> list[Step]:
        return [step for step in self.schedule.units.of_vm[vm].steps if step.vm == vm]

    def _now_text(self) -> str:
        return self.world.clock.now().isoformat()

    def _sleep(self, seconds: float) -> None:
        self.world.clock.sleep(max(seconds, 0.01))
