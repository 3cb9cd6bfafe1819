"""How an apply went, and what speaks against one, as text: what needs attention comes first."""

from __future__ import annotations

from collections.abc import Sequence

from vplacer.apply.events import ApplyEvent, EventType, Severity
from vplacer.apply.outcome import Outcome, ProblemKind, Status, StepResult, StepState, Trouble
from vplacer.apply.preflight import Preflight
from vplacer.apply.rollback_plan import RollbackPlan
from vplacer.apply.steps import vm_name
from vplacer.apply.words import Words
from vplacer.plan.model import Plan, Step
from vplacer.report.duration_words import duration_text
from vplacer.report.plan_words import aligned, count
from vplacer.report.style import PLAIN, Style
from vplacer.report.timeline_text import timeline_lines

_HEADS = {
    Status.DONE: "Apply complete",
    Status.STOPPED: "Stopped part way",
    Status.ROLLED_BACK: "Rolled back",
    Status.REFUSED: "Not begun",
}
_SERIOUS = frozenset(
    {
        ProblemKind.LEFT_OFF,
        ProblemKind.NOT_RESTORED,
        ProblemKind.DRIFTED,
        ProblemKind.FAULT,
        ProblemKind.UNKNOWN_END,
        ProblemKind.VERIFICATION,
        ProblemKind.JOURNAL,
    }
)
_STATES = {
    StepState.DONE: "done",
    StepState.FAILED: "failed",
    StepState.RUNNING: "still running",
    StepState.UNDONE: "taken back",
    StepState.KEPT: "kept",
    StepState.SKIPPED: "skipped",
    StepState.PENDING: "not begun",
}
_MARKS = {Severity.ERROR: "ERROR  ", Severity.WARNING: "warning  ", Severity.INFO: ""}


def outcome_text(
    plan: Plan, outcome: Outcome, *, verbosity: int = 0, style: Style = PLAIN, plan_file: str | None = None
) -> str:
    """Return how an apply, a resume or a rollback went, ending in a newline.

    Args:
        plan: the plan.
        outcome: how it ended.
        verbosity: 1 = every step with its times.
        style: colours.
        plan_file: what to name in the hints; None = give none.
    """
    serious = [item for item in outcome.troubles if item.kind in _SERIOUS]
    others = [item for item in outcome.troubles if item.kind not in _SERIOUS]
    lines = []
    if serious:
        lines += [
            style.paint("NEEDS ATTENTION", "red"),
            *_trouble_lines(serious, "!", _taken_back(outcome)),
            "",
        ]
    if others:
        lines += ["To be known", *_trouble_lines(others, "-"), ""]
    if verbosity > 0:
        lines += [*timeline_lines(plan, outcome.steps), ""]
        lines += [f"note: {text}" for text in outcome.notes]
    else:
        lines += _open_lines(plan, outcome)
    lines.append(style.paint(summary_line(outcome), "bold"))
    if outcome.journal is not None:
        lines.append(f"Journal: {outcome.journal}")
        lines += _next_lines(outcome, plan_file)
    return "\n".join(lines) + "\n"


def summary_line(outcome: Outcome) -> str:
    """Return the line that counts."""
    if not outcome.steps:
        return f"{_HEADS[outcome.status]}: nothing was changed."
    head = _HEADS[outcome.status]
    if outcome.is_rollback and outcome.status is Status.STOPPED:
        head = "Rollback stopped part way"
    total = len(outcome.steps)
    if outcome.count(StepState.DONE) == total:
        parts = [f"{count(total, 'step')} done"]
    else:
        parts = [f"{number} {words}" for state, words in _STATES.items() if (number := outcome.count(state))]
    text = f"{head}: {', '.join(parts)}; {duration_text(outcome.elapsed_s)}."
    return text if outcome.changed else f"{text} Nothing was changed in the vCenter."


def _taken_back(outcome: Outcome) -> frozenset[str]:
    """Return the VMs of which a step failed, and all that had been done before was taken back."""
    by_vm: dict[str, set[StepState]] = {}
    for step in outcome.steps:
        by_vm.setdefault(step.vm, set()).add(step.state)
    stays = {StepState.DONE, StepState.RUNNING, StepState.KEPT}
    back = {vm for vm, states in by_vm.items() if StepState.UNDONE in states and not states & stays}
    return frozenset(back - set(outcome.left_off))


def _trouble_lines(items: Sequence[Trouble], mark: str, back: frozenset[str] = frozenset()) -> list[str]:
    lines = []
    for item in items:
        who = f"{item.name}: " if item.name else ""
        lines.append(f"  {mark} {who}{item.what}")
        if item.kind is ProblemKind.FAULT and item.vm in back:
            lines.append("      what had been done to it before was taken back")
        if item.hint:
            lines.append(f"      next: {item.hint}")
    return lines


def _open_lines(plan: Plan, outcome: Outcome) -> list[str]:
    """Return the steps that did not end well; nothing where all did. What was told is not told again."""
    told = {(item.step, item.what) for item in outcome.troubles}
    wanted = (StepState.FAILED, StepState.RUNNING, StepState.SKIPPED, StepState.KEPT)
    rows = [
        (_STATES[item.state], vm_name(plan, item.vm), item.kind.value.replace("_", " "), _why(item, told))
        for item in outcome.steps
        if item.state in wanted
    ]
    return [*(f"  {line}" for line in aligned(rows)), ""] if rows else []


def _why(item: StepResult, told: set[tuple[str | None, str]]) -> str:
    return item.detail if item.detail is not None and (item.id, item.detail) not in told else ""


def _next_lines(outcome: Outcome, plan_file: str | None) -> list[str]:
    if plan_file is None or outcome.status is not Status.STOPPED:
        return []
    lines = [f"  go on:      vplacer apply --resume {plan_file}"]
    if not outcome.is_rollback:
        lines.append(f"  take back:  vplacer rollback {plan_file}")
    return lines


def event_line(event: ApplyEvent) -> str | None:
    """Return one event as a line for a log; None = it is told elsewhere."""
    at = event.at.astimezone().strftime("%H:%M:%S")
    match event.type:
        case EventType.PLANNED_CHANGE | EventType.CHANGE_SUMMARY:
            return None
        case EventType.DIAGNOSTIC:
            return f"{at}  {_MARKS[event.severity]}{event.text}"
        case EventType.APPLY_START:
            how = "begun"
        case EventType.APPLY_PROGRESS:
            how = f"{event.text}, {duration_text(event.elapsed_s or 0)}"
        case EventType.APPLY_COMPLETE:
            took = f" in {duration_text(event.elapsed_s)}" if event.elapsed_s is not None else ""
            how = f"done{took} ({event.done} of {event.total})"
        case EventType.APPLY_ERRORED:
            how = f"FAILED: {event.text}"
    what = event.kind.value.replace("_", " ") if event.kind is not None else ""
    back = " (back)" if event.undo else ""
    return f"{at}  {event.name or event.vm}  {what}{back}: {how}"


def preflight_text(plan: Plan, found: Preflight, *, style: Style = PLAIN) -> str:
    """Return what speaks against a plan now, and what its steps need; ending in a newline."""
    lines = []
    if found.stale:
        number = count(len(found.stale), "field")
        lines.append(style.paint(f"The plan is stale: {number} it was decided on moved", "red"))
        words = Words(plan, found.inventory)
        lines += [f"  {words.stale(item)}" for item in found.stale]
    if found.owned:
        lines.append(style.paint("VMs that must not be touched", "red"))
        lines += [f"  {vm_name(plan, vm)}: {why}" for vm, why in found.owned]
    blocking = [item for item in found.checked if item.blocking]
    if blocking:
        lines.append(style.paint("The server would refuse", "red"))
        lines += [_checked(plan, item.step, item.finding.fault, item.finding.message) for item in blocking]
    warned = [item for item in found.checked if not item.blocking]
    if warned:
        lines.append("The server warns, of the VMs as they are today")
        lines += [_checked(plan, item.step, item.finding.fault, item.finding.message) for item in warned]
    if found.consents:
        lines.append("Needs consent")
        lines += [f"  {item.option}: {item.what}{_names(item.concerns)}" for item in found.consents]
    lines += [f"note: {text}" for text in found.adopted]
    steps = count(len(plan.steps), "step")
    if found.clear:
        lines.append(f"Checked: {steps}, nothing stands in the way.")
    elif found.stale:
        lines.append("Checked: the plan is stale; the steps were not asked about.")
    else:
        lines.append(f"Checked: {steps}; it would not be carried out as things are.")
    return "\n".join(lines) + "\n"


def _checked(plan: Plan, step: str, fault: str, message: str) -> str:
    found = plan.step_by_id.get(step)
    who = vm_name(plan, found.vm) if found is not None else step
    what = f" ({found.kind.value.replace('_', ' ')})" if found is not None else ""
    return f"  {who}{what}: {fault}: {message}"


def _names(names: Sequence[str]) -> str:
    shown = ", ".join(names[:20])
    more = f" and {len(names) - 20} more" if len(names) > 20 else ""
    return f" ({shown}{more})" if names else ""


def rollback_text(plan: Plan, what: RollbackPlan, *, style: Style = PLAIN) -> str:
    """Return what a rollback would do, the first first; ending in a newline."""
    lines = [f"Rollback of the plan for {plan.source.vcenter} of {plan.created}"]
    lost = [item for item in what.stays if item.irreversible]
    kept = [item for item in what.stays if not item.irreversible]
    if lost:
        lines.append(style.paint("Cannot be taken back", "red"))
        lines += [f"  ! {vm_name(plan, item.vm)}: {item.why}" for item in lost]
    if kept:
        lines.append("Stays")
        whys = dict.fromkeys((vm_name(plan, item.vm), item.why) for item in kept)
        lines += [f"  = {name}: {why}" for name, why in whys]
    if what.steps:
        lines.append("Would be done, in this order")
        lines += [f"  {line}" for line in aligned([_row(plan, step) for step in what.steps])]
    lines.append(style.paint(f"Rollback: {count(len(what.steps), 'step')} to take back.", "bold"))
    return "\n".join(lines) + "\n"


def _row(plan: Plan, step: Step) -> tuple[str, str]:
    return vm_name(plan, step.vm), step.effect
