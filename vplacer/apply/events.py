"""What an apply tells while it runs: one value an event, for a progress display and for ndjson alike.

The names follow Terraform's machine-readable output, which many pipelines read already.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import TypeAlias

from vplacer.plan.model import StepKind


class EventType(StrEnum):
    """Names of events. They are stable.

    PLANNED_CHANGE: once a step, before the first. APPLY_START, APPLY_PROGRESS, APPLY_COMPLETE,
    APPLY_ERRORED: of one step. CHANGE_SUMMARY: once, at the end. DIAGNOSTIC: anything else to be known.
    """

    PLANNED_CHANGE = "planned_change"
    APPLY_START = "apply_start"
    APPLY_PROGRESS = "apply_progress"
    APPLY_COMPLETE = "apply_complete"
    APPLY_ERRORED = "apply_errored"
    CHANGE_SUMMARY = "change_summary"
    DIAGNOSTIC = "diagnostic"


class Severity(StrEnum):
    """How much an event matters."""

    INFO = "info"
    WARNING = "warning"
    ERROR = "error"


@dataclass(frozen=True, slots=True)
class ApplyEvent:
    """One event.

    Args:
        at: the time of the clock the apply runs by.
        type: its name.
        text: a sentence for people.
        severity: how much it matters.
        step: id of the step it is about, None = of no single one.
        kind: what the step does.
        vm: managed object id, or ``new:NAME`` of a VM that is to be made.
        name: the VM's name.
        undo: True = the step is being taken back.
        elapsed_s: since the step began; of the summary, since the apply began.
        done, total: steps that have ended well, and all of them.
        code: stable word that says what happened ("stale", "fault", "verification", ...); None = nothing
            out of the ordinary.
        task: the server's id of the task.
    """

    at: datetime
    type: EventType
    text: str
    severity: Severity = Severity.INFO
    step: str | None = None
    kind: StepKind | None = None
    vm: str | None = None
    name: str | None = None
    undo: bool = False
    elapsed_s: float | None = None
    done: int | None = None
    total: int | None = None
    code: str | None = None
    task: str | None = None


Listener: TypeAlias = Callable[[ApplyEvent], None]
"""Is told every event, in order, from the thread that applies."""


def ignore(event: ApplyEvent) -> None:
    """Listen to nothing."""
    del event
