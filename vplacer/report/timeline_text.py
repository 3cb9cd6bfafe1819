"""When each step began and ended, as a table."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from vplacer.apply.outcome import StepResult, StepState
from vplacer.apply.steps import vm_name
from vplacer.plan.model import Plan
from vplacer.report.duration_words import duration_text
from vplacer.report.plan_words import aligned


def timeline_lines(plan: Plan, steps: Sequence[StepResult], *, since: datetime | None = None) -> list[str]:
    """Return a table of steps in the order of their starts.

    Args:
        plan: the plan.
        steps: its steps.
        since: times are told as durations since then; None = as local times of day.
    """
    begun = sorted((item for item in steps if item.started), key=lambda item: item.started or "")
    rest = [item for item in steps if not item.started]
    rows: list[tuple[str, ...]] = [("start", "end", "took", "VM", "step", "state")]
    rows += [_row(plan, item, since) for item in (*begun, *rest)]
    return aligned(rows)


def _row(plan: Plan, item: StepResult, since: datetime | None) -> tuple[str, ...]:
    start = datetime.fromisoformat(item.started) if item.started else None
    end = datetime.fromisoformat(item.ended) if item.ended else None
    took = duration_text((end - start).total_seconds()) if start and end else ""
    state = item.state.value if item.state is not StepState.PENDING else "not begun"
    if item.detail:
        state += f": {item.detail}"
    return (
        _moment(start, since),
        _moment(end, since),
        took,
        vm_name(plan, item.vm),
        item.kind.value.replace("_", " "),
        state,
    )


def _moment(at: datetime | None, since: datetime | None) -> str:
    if at is None:
        return "-"
    if since is None:
        return at.astimezone().strftime("%H:%M:%S")
    whole = round((at - since).total_seconds())
    return f"{whole // 60}:{whole % 60:02}"
