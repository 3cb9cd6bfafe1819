"""How an apply, a resume or a rollback ended."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from vplacer.plan.model import StepKind


class Status(StrEnum):
    """How it ended, as a whole.

    DONE: every step is carried out and read back. STOPPED: part of it; the journal knows which, and it
    can be resumed or rolled back. ROLLED_BACK: nothing of what vplacer wrote is left, except what is
    reported. REFUSED: nothing was begun.
    """

    DONE = "done"
    STOPPED = "stopped"
    ROLLED_BACK = "rolled_back"
    REFUSED = "refused"


class StepState(StrEnum):
    """Where a step stands.

    PENDING: not begun. RUNNING: sent, its end not known yet. DONE: carried out and read back. FAILED: the
    server refused it, and nothing of it is there. UNDONE: carried out and taken back. KEPT: carried out,
    and left so by a rollback, which says why. SKIPPED: will not be carried out, since one before failed.
    """

    PENDING = "pending"
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"
    UNDONE = "undone"
    KEPT = "kept"
    SKIPPED = "skipped"


@dataclass(frozen=True, slots=True)
class StepResult:
    """One step's end. ``detail``: why, in a sentence; None = as planned."""

    id: str
    kind: StepKind
    vm: str
    state: StepState
    detail: str | None = None
    task: str | None = None
    started: str | None = None
    ended: str | None = None


class ProblemKind(StrEnum):
    """Kinds of things to be known at the end; stable, worst first.

    LEFT_OFF: a VM that ran is off. NOT_RESTORED: what was written could not be taken back. DRIFTED:
    somebody else changed an object meanwhile. FAULT: the server refused a step. UNKNOWN_END: a call's or
    a task's end is not known yet. VERIFICATION: a step succeeded and the result is not as promised.
    IRREVERSIBLE: what cannot be taken back was done. CONNECTION: the vCenter could not be reached.
    JOURNAL: it could not be written. INTERRUPTED: stopped as asked. WINDOW: the window is not open.
    KEPT: a rollback left it as it is.
    """

    LEFT_OFF = "left_off"
    NOT_RESTORED = "not_restored"
    DRIFTED = "drifted"
    FAULT = "fault"
    UNKNOWN_END = "unknown_end"
    VERIFICATION = "verification"
    IRREVERSIBLE = "irreversible"
    CONNECTION = "connection"
    JOURNAL = "journal"
    INTERRUPTED = "interrupted"
    WINDOW = "window"
    KEPT = "kept"


@dataclass(frozen=True, slots=True)
class Trouble:
    """Something to be known at the end. ``what`` happened, on which VM, and what to do (``hint``)."""

    kind: ProblemKind
    what: str
    vm: str | None = None
    name: str | None = None
    step: str | None = None
    hint: str | None = None


@dataclass(frozen=True, slots=True)
class Outcome:
    """How it ended. ``troubles``: the worst first. ``notes``: what was seen and harms nothing.

    ``changed``: whether anything was written to the vCenter. ``vms``: ids of the VMs that were made, by
    the id they have in the plan. ``journal``: path of the journal, None = there is none.
    ``elapsed_s``: by the clock the apply ran by.
    """

    status: Status
    steps: tuple[StepResult, ...]
    troubles: tuple[Trouble, ...]
    notes: tuple[str, ...]
    changed: bool
    vms: tuple[tuple[str, str], ...]
    journal: str | None
    elapsed_s: float
    is_rollback: bool = False

    def count(self, state: StepState) -> int:
        """Return how many steps stand so."""
        return sum(step.state is state for step in self.steps)

    @property
    def left_off(self) -> tuple[str, ...]:
        """Ids of the VMs that ran before and are off now."""
        return tuple(item.vm for item in self.troubles if item.kind is ProblemKind.LEFT_OFF and item.vm)

    @property
    def detached(self) -> bool:
        """Whether tasks go on in the vCenter that nobody waits for."""
        return any(step.state is StepState.RUNNING for step in self.steps)

    @property
    def exit_code(self) -> int:
        """0 all as asked; 7 stopped part way or not as promised; nothing changed: 6 stale, else 1."""
        if self.status is Status.DONE and not self._unkept:
            return 0
        if self.status is Status.ROLLED_BACK and self.is_rollback and not self._unkept:
            return 0
        if self.changed:
            return 7
        return 6 if any(item.kind is ProblemKind.DRIFTED for item in self.troubles) else 1

    @property
    def _unkept(self) -> bool:
        serious = (ProblemKind.LEFT_OFF, ProblemKind.NOT_RESTORED, ProblemKind.VERIFICATION)
        return any(item.kind in serious for item in self.troubles)
