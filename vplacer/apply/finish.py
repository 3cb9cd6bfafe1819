"""What an outcome says: the state of every step, and of the VMs that ran before."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from vplacer.apply.events import Severity
from vplacer.apply.journal import Journal
from vplacer.apply.outcome import Outcome, ProblemKind, Status, StepResult, StepState
from vplacer.apply.records import Closed, JournalState, StepLog
from vplacer.apply.rollback_plan import deleted_again
from vplacer.apply.steps import steps_by_vm, switches_off, switches_on
from vplacer.apply.tell import Teller
from vplacer.apply.world import Unreachable, World
from vplacer.inventory.vm import VmPower
from vplacer.plan.model import Plan, Step


def finish(
    plan: Plan, world: World, journal: Journal, tell: Teller, failed: Mapping[str, str], *, rolls_back: bool
) -> Outcome:
    """Make the outcome, write it to the journal, and close that."""
    state = journal.state
    _tell_left_off(plan, world, state, tell)
    gone = deleted_again(plan, state)
    results = tuple(_result(step, state.log(step.id), failed, gone) for step in plan.steps)
    status = _status(results, state, rolls_back=rolls_back)
    text, severity = _summary(results, status, tell)
    tell.summary(text, severity)
    now = tell.clock.now()
    if not any(item.kind is ProblemKind.JOURNAL for item in tell.troubles):
        journal.write(Closed(now.isoformat(), status.value))
    return Outcome(
        status=status,
        steps=results,
        troubles=tell.sorted_troubles(),
        notes=tuple(tell.notes),
        changed=state.has_written,
        vms=tuple(sorted(state.made.items())),
        journal=str(journal.path) if journal.path is not None else None,
        elapsed_s=(now - tell.started).total_seconds(),
        is_rollback=rolls_back,
    )


def _status(results: Sequence[StepResult], state: JournalState, *, rolls_back: bool) -> Status:
    states = {item.state for item in results}
    if rolls_back:
        settled = states <= {StepState.PENDING, StepState.UNDONE, StepState.KEPT, StepState.SKIPPED}
        return Status.ROLLED_BACK if settled else Status.STOPPED
    if states <= {StepState.DONE}:
        return Status.DONE
    untouched = not states & {StepState.DONE, StepState.RUNNING}
    return Status.ROLLED_BACK if untouched and state.has_written else Status.STOPPED


def _result(step: Step, log: StepLog, failed: Mapping[str, str], gone: frozenset[str]) -> StepResult:
    last = log.attempts[-1] if log.attempts else None
    detail = failed.get(step.id)
    if log.open is not None:
        state = StepState.RUNNING
    elif log.kept is not None and log.is_done:
        state, detail = StepState.KEPT, log.kept
    elif log.was_undone or (log.is_done and step.vm in gone):
        # What was done to a VM that the plan made went with it.
        state = StepState.UNDONE
    elif log.is_done:
        state = StepState.DONE
    elif step.id in failed:
        state = StepState.FAILED if log.attempts or not detail else _refused_or_skipped(detail)
    else:
        state = StepState.PENDING
    return StepResult(
        id=step.id,
        kind=step.kind,
        vm=step.vm,
        state=state,
        detail=detail,
        task=last.sent.task if last is not None and last.sent is not None else None,
        started=last.intent.at if last is not None else None,
        ended=last.ended.at if last is not None and last.ended is not None else None,
    )


def _refused_or_skipped(detail: str) -> StepState:
    return StepState.SKIPPED if detail.startswith("waits for ") else StepState.FAILED


def _tell_left_off(plan: Plan, world: World, state: JournalState, tell: Teller) -> None:
    """Report every VM that ran before its first step, and is off though the plan is not what wants it so."""
    by_vm = steps_by_vm(plan.steps)
    candidates = [vm for vm, own in by_vm.items() if _ran_before(vm, state) and _in_between(own, state)]
    if not candidates:
        return
    try:
        now = world.vms(candidates)
    except Unreachable:
        for vm in candidates:
            what = "it was switched off; whether it runs is not known, since the vCenter does not answer"
            tell.trouble(ProblemKind.LEFT_OFF, what, vm=vm, hint="go on with --resume as soon as it answers")
        return
    for vm in candidates:
        found = now.get(vm)
        if found is not None and found.power is not VmPower.ON:
            host = f" at {tell.words.name(found.host)}" if found.host else ""
            hint = f"switch it on{host}, or go on with --resume, or take it back with `vplacer rollback`"
            tell.trouble(ProblemKind.LEFT_OFF, "it ran before and is off now", vm=vm, hint=hint)


def _ran_before(vm: str, state: JournalState) -> bool:
    captured = state.captured.get(vm)
    return captured is not None and captured.value.power is VmPower.ON


def _in_between(steps: Sequence[Step], state: JournalState) -> bool:
    """Whether a VM was or may have been switched off, and its being off is not the plan's end."""
    touched = any(switches_off(step.change) and state.log(step.id).attempts for step in steps)
    touched |= any(switches_on(step.change) and state.log(step.id).attempts for step in steps)
    power = [step for step in steps if switches_off(step.change) or switches_on(step.change)]
    ends_off = bool(power) and switches_off(power[-1].change) and state.is_done(power[-1].id)
    return touched and not ends_off


def _summary(results: Sequence[StepResult], status: Status, tell: Teller) -> tuple[str, Severity]:
    words = {
        Status.DONE: "Apply complete",
        Status.STOPPED: "Stopped",
        Status.ROLLED_BACK: "Rolled back",
        Status.REFUSED: "Refused",
    }
    counts = [
        f"{count} {state.value}"
        for state in StepState
        if (count := sum(item.state is state for item in results))
    ]
    serious = bool(tell.troubles)
    severity = Severity.INFO if not serious else Severity.ERROR
    return f"{words[status]}: {', '.join(counts)}.", severity
