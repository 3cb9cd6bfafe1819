"""Tells a listener what happens, and keeps what is to be known at the end."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from vplacer.apply.clock import Clock
from vplacer.apply.events import ApplyEvent, EventType, Listener, Severity
from vplacer.apply.outcome import ProblemKind, Trouble
from vplacer.apply.words import Words
from vplacer.plan.model import Plan, Step


class Teller:
    """Makes events and collects troubles and notes. ``words``: names objects in texts."""

    def __init__(self, plan: Plan, clock: Clock, listener: Listener, total: int) -> None:
        self.plan = plan
        self.clock = clock
        self.listener = listener
        self.total = total
        self.done = 0
        self.started = clock.now()
        self.troubles: list[Trouble] = []
        self.notes: list[str] = []
        self.words = Words(plan)

    def step(
        self,
        type_: EventType,
        step: Step,
        text: str,
        *,
        undo: bool = False,
        began: datetime | None = None,
        code: str | None = None,
        task: str | None = None,
    ) -> None:
        """Tell of a step."""
        now = self.clock.now()
        self.listener(
            ApplyEvent(
                at=now,
                type=type_,
                text=text,
                severity=Severity.ERROR if type_ is EventType.APPLY_ERRORED else Severity.INFO,
                step=step.id,
                kind=step.kind,
                vm=step.vm,
                name=self.words.vm(step.vm),
                undo=undo,
                elapsed_s=None if began is None else (now - began).total_seconds(),
                done=self.done,
                total=self.total,
                code=code,
                task=task,
            )
        )

    def planned(self, steps: Iterable[Step], *, undo: bool = False) -> None:
        """Tell of every step that is to come."""
        for step in steps:
            self.step(EventType.PLANNED_CHANGE, step, step.effect, undo=undo)

    def note(self, code: str, text: str, severity: Severity = Severity.WARNING) -> None:
        """Tell, and keep, what harms nothing."""
        self.notes.append(text)
        self.diagnostic(code, text, severity)

    def trouble(
        self,
        kind: ProblemKind,
        what: str,
        *,
        vm: str | None = None,
        step: str | None = None,
        hint: str | None = None,
    ) -> None:
        """Tell, and keep, what is to be known at the end. The same is kept once."""
        name = self.words.vm(vm) if vm is not None else None
        item = Trouble(kind, what, vm, name, step, hint)
        if item in self.troubles:
            return
        self.troubles.append(item)
        text = f"{name}: {what}" if name else what
        self.diagnostic(kind.value, text, Severity.ERROR, vm, step)

    def diagnostic(
        self, code: str, text: str, severity: Severity, vm: str | None = None, step: str | None = None
    ) -> None:
        """Tell what is of no step's own course."""
        name = self.words.vm(vm) if vm is not None else None
        now = self.clock.now()
        self.listener(
            ApplyEvent(now, EventType.DIAGNOSTIC, text, severity, step=step, vm=vm, name=name, code=code)
        )

    def warn(self, code: str, text: str) -> None:
        """Tell a warning that need not be kept."""
        self.diagnostic(code, text, Severity.WARNING)

    def summary(self, text: str, severity: Severity) -> None:
        """Tell how it ended."""
        now = self.clock.now()
        elapsed = (now - self.started).total_seconds()
        self.listener(
            ApplyEvent(
                now,
                EventType.CHANGE_SUMMARY,
                text,
                severity,
                elapsed_s=elapsed,
                done=self.done,
                total=self.total,
            )
        )

    def sorted_troubles(self) -> tuple[Trouble, ...]:
        """Return the troubles, the worst first."""
        order = list(ProblemKind)
        return tuple(sorted(self.troubles, key=lambda item: order.index(item.kind)))
