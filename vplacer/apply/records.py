"""What a journal records, and what follows from its records: the state of every step.

The executor folds each record in as it writes it, the reader as it reads it, so both know the same.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TypeAlias

from vplacer.inventory.vm import Vm
from vplacer.plan.model import FieldFact


@dataclass(frozen=True, slots=True)
class Opened:
    """The first line. ``operation``: how ids of the operations begin; ``plan``: the plan file's name."""

    plan_sha256: str
    plan: str
    vcenter: str
    instance_uuid: str
    tool_version: str
    operation: str
    steps: int


@dataclass(frozen=True, slots=True)
class Began:
    """A process began to work on the plan. ``mode``: apply, resume or rollback."""

    at: str
    mode: str


@dataclass(frozen=True, slots=True)
class Captured:
    """A VM as it was right before its first step, as far as the port tells."""

    vm: str
    value: Vm
    facts: tuple[FieldFact, ...]


@dataclass(frozen=True, slots=True)
class Intent:
    """A call is about to be made. ``server_time``: the server's clock before it, ISO 8601."""

    step: str
    undo: bool
    operation: str
    server_time: str
    at: str


@dataclass(frozen=True, slots=True)
class Sent:
    """The call was answered with a task."""

    step: str
    undo: bool
    task: str
    what: str
    object: str


@dataclass(frozen=True, slots=True)
class Ended:
    """How a call ended.

    ``done``: its effect is there (False = proved not to be). ``result``: id of the VM that was made.
    ``verified``: what it wrote was read back as planned. ``detail``: the fault, or how it was found out.
    """

    step: str
    undo: bool
    done: bool
    result: str | None
    verified: bool
    detail: str | None
    at: str


@dataclass(frozen=True, slots=True)
class Kept:
    """A rollback leaves a step as it is."""

    step: str
    why: str


@dataclass(frozen=True, slots=True)
class Logged:
    """The user event of a VM is about to be written."""

    vm: str


@dataclass(frozen=True, slots=True)
class Noted:
    """Something that was seen: a warning of the server, a change version that was adopted."""

    code: str
    text: str
    at: str


@dataclass(frozen=True, slots=True)
class Closed:
    """The process ended its work, in order. ``status`` of the outcome."""

    at: str
    status: str


Record: TypeAlias = Opened | Began | Captured | Intent | Sent | Ended | Kept | Logged | Noted | Closed


@dataclass(frozen=True, slots=True)
class Attempt:
    """One call for a step, forth or back, and what is known of it; ``ended`` None = its end is open."""

    intent: Intent
    sent: Sent | None = None
    ended: Ended | None = None


@dataclass(slots=True)
class StepLog:
    """All calls for one step. ``kept``: why a rollback leaves it."""

    attempts: list[Attempt] = field(default_factory=list)
    kept: str | None = None

    @property
    def is_done(self) -> bool:
        """Whether the step's effect is there, as far as the journal knows."""
        done = False
        for attempt in self.attempts:
            if attempt.ended is not None and attempt.ended.done:
                done = not attempt.intent.undo
        return done

    @property
    def open(self) -> Attempt | None:
        """The call whose end is not known."""
        last = self.attempts[-1] if self.attempts else None
        return last if last is not None and last.ended is None else None

    @property
    def was_undone(self) -> bool:
        """Whether the step was carried out and taken back."""
        return not self.is_done and any(
            a.intent.undo and a.ended is not None and a.ended.done for a in self.attempts
        )

    @property
    def times_done(self) -> int:
        """How many calls carried it out, forth."""
        return sum(not a.intent.undo and a.ended is not None and a.ended.done for a in self.attempts)


class JournalState:
    """What the records so far say."""

    def __init__(self) -> None:
        self.opened: Opened | None = None
        self.began: list[Began] = []
        self.steps: dict[str, StepLog] = {}
        self.captured: dict[str, Captured] = {}
        self.made: dict[str, str] = {}
        self.logged: set[str] = set()
        self.notes: list[Noted] = []
        self.closed: Closed | None = None

    def log(self, step: str) -> StepLog:
        """Return the calls for a step."""
        return self.steps.get(step) or StepLog()

    def is_done(self, step: str) -> bool:
        """Whether a step's effect is there."""
        return self.log(step).is_done

    def open_calls(self) -> list[tuple[str, Attempt]]:
        """Return the calls whose end is not known, in the order of their steps' first calls."""
        return [(step, log.open) for step, log in self.steps.items() if log.open is not None]

    @property
    def rolls_back(self) -> bool:
        """Whether a rollback has begun: then nothing goes forth any more."""
        return any(item.mode == "rollback" for item in self.began)

    @property
    def has_written(self) -> bool:
        """Whether any call may have changed something."""
        attempts = [attempt for log in self.steps.values() for attempt in log.attempts]
        return any(a.ended is None or a.ended.done for a in attempts)

    @property
    def task_ids(self) -> set[str]:
        """The tasks that are known to be of this plan."""
        return {a.sent.task for log in self.steps.values() for a in log.attempts if a.sent is not None}

    def add(self, record: Record) -> None:
        """Fold in one record.

        Raises:
            ValueError: it cannot come here; a journal that was cut together.
        """
        match record:
            case Opened():
                if self.opened is not None:
                    raise ValueError("opened twice")
                self.opened = record
            case Began():
                self.began.append(record)
                self.closed = None
            case Captured():
                self.captured.setdefault(record.vm, record)
            case Intent():
                self.steps.setdefault(record.step, StepLog()).attempts.append(Attempt(record))
            case Sent() | Ended():
                self._answer(record)
            case Kept():
                self.steps.setdefault(record.step, StepLog()).kept = record.why
            case Logged():
                self.logged.add(record.vm)
            case Noted():
                self.notes.append(record)
            case Closed():
                self.closed = record

    def _answer(self, record: Sent | Ended) -> None:
        log = self.steps.get(record.step)
        if log is None or log.open is None or log.open.intent.undo is not record.undo:
            raise ValueError(f"an answer to {record.step} without its call")
        if isinstance(record, Sent):
            log.attempts[-1] = replace(log.open, sent=record)
            return
        log.attempts[-1] = replace(log.open, ended=record)
        vm = record.step.rpartition("/")[0]
        if record.done and record.undo and record.step.endswith("/clone"):
            self.made.pop(vm, None)
        elif record.done and record.result is not None:
            self.made[vm] = record.result
