"""What the solver proved, in a line."""

from __future__ import annotations

from vplacer.plan.model import Plan
from vplacer.solver.verdict import LevelResult, Status, StoppedBy

STOPPED = {
    StoppedBy.WORK: "the limit of work was reached",
    StoppedBy.TIME: "the time limit was reached",
    StoppedBy.INTERRUPT: "interrupted",
}
"""What ended a search, in words."""


def proof_line(plan: Plan, seconds: float | None = None) -> str:
    """Say what is proved: optimal, or the distance to the bound level by level, and the time."""
    verdict = plan.verdict
    summary = plan.summary
    placed = f"placed {summary.placed} of {summary.requested}"
    match verdict.status:
        case Status.OPTIMAL:
            head = "Proved"
        case Status.FEASIBLE:
            head = "Not proved to the end"
        case Status.INFEASIBLE:
            head = "Proved infeasible"
        case Status.UNDECIDED:
            head = "Undecided"
    if verdict.stopped_by is not None:
        head += f" ({STOPPED[verdict.stopped_by]})"
    first = [level for level in verdict.levels if level.id.startswith("placed")]
    if verdict.status is not Status.INFEASIBLE and first and summary.placed < summary.requested:
        placed += " (the most possible)" if all(level.proved for level in first) else ""
    parts = [placed]
    parts += [level_text(level) for level in first if not level.proved]
    parts += [level_text(level) for level in verdict.levels if level not in first]
    text = f"{head}: {'; '.join(parts)}."
    return text if seconds is None else f"{text} {seconds:.1f} s."


def level_text(level: LevelResult) -> str:
    """Say one level: optimal, or its value and the best that may be possible."""
    if level.proved:
        return f"{level.title} optimal"
    if level.bound is None:
        return f"{level.title}: {level.value}, no bound known"
    unit = "" if level.title.startswith(level.unit) else f" {level.unit}"
    if level.maximise:
        return f"{level.title}: {level.value} of at most {level.bound}{unit}"
    return f"{level.title}: {level.value}{unit}, at least {level.bound}"
