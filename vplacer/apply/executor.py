"""Carries steps out: one thread, over `Port.wait`.

Every intent is in the journal before its call, every outcome after. A call whose answer was lost is
looked for, never simply sent again. A VM whose chain of steps fails is brought back to how it was.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from vplacer.apply.calls import Effect, Move, asks_guest, find_call, made_by_name, operation_id, send
from vplacer.apply.compare import (
    Difference,
    after,
    before,
    differences,
    drifted,
    shown,
    unforeseen,
)
from vplacer.apply.events import EventType, Severity
from vplacer.apply.inverse import held_to, inverse_step
from vplacer.apply.journal import Journal
from vplacer.apply.options import ApplyOptions
from vplacer.apply.outcome import ProblemKind
from vplacer.apply.records import Captured, Ended, Intent, Kept, Logged, Sent
from vplacer.apply.restore import steps_back
from vplacer.apply.schedule import Schedule
from vplacer.apply.shutdown import Shutdown
from vplacer.apply.steps import switches_on
from vplacer.apply.stop import Stop, StopLevel
from vplacer.apply.tell import Teller
from vplacer.apply.units import Unit
from vplacer.apply.world import LOST, Look, Unreachable, World
from vplacer.errors import OutputError, VSphereError, VSphereFault
from vplacer.inventory.vm import VmPower
from vplacer.plan.changes import Clone, Power
from vplacer.plan.effects import facts_after
from vplacer.plan.model import Fact, FieldFact, Step
from vplacer.plan.observed import vm_facts
from vplacer.port import Task, TaskResult, TaskState

_CONTESTED = frozenset({"TaskInProgress", "ConcurrentAccess"})
"""Faults that say that somebody else works on the VM at this moment."""
_HEARTBEAT_S = 10.0
_MOST_SENDS = 3


@dataclass(slots=True)
class Call:
    """A task that runs."""

    move: Move
    task: Task
    began: datetime
    told: datetime


class Executor:
    """Carries out the steps of a schedule.

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

    def take_over(self, moves: Iterable[Move]) -> None:
        """Take over calls of an earlier process whose end is not known: wait for them, or find them."""
        for move in moves:
            attempt = self.journal.state.log(move.step.id).open
            if attempt is None:
                continue
            if not move.restoring:
                self.schedule.began(move.step, self.world.clock.now())
            if attempt.sent is not None:
                now = self.world.clock.now()
                task = Task(attempt.sent.task, attempt.sent.what, attempt.sent.object)
                self.calls[task.id] = Call(move, task, now, now)
            else:
                self._lost(move, "vplacer ended during the call")

    def settle(self, moves: Iterable[Move]) -> None:
        """Wait for the calls of an earlier process to end, and begin nothing."""
        self._only_settles = True
        try:
            self.take_over(moves)
            while self.calls and self.stop.level is StopLevel.NONE:
                self._await()
        except Unreachable as error:
            self._unreached(error)

    # ---------------------------------------------------------------- the loop

    def run(self) -> None:
        """Carry out all that may be carried out. What could not be is among the teller's troubles."""
        try:
            while self._turn():
                pass
        except Unreachable as error:
            self._unreached(error)
        except OutputError as error:
            self.tell.trouble(
                ProblemKind.JOURNAL,
                f"the journal cannot be written: {error.why or error.what}",
                hint="make room for it, then go on with --resume",
            )

    def _unreached(self, error: Unreachable) -> None:
        self.unreached = True
        what = f"the vCenter cannot be reached: {error.cause.what}"
        self.tell.trouble(ProblemKind.CONNECTION, what, hint="go on with --resume when it answers again")

    def _turn(self) -> bool:
        """Begin what may begin, then wait for something to end. False = there is nothing more to do."""
        if self.stop.level is StopLevel.DETACH:
            self._interrupted("detached: the tasks that run go on in the vCenter")
            return False
        if self.stop.level is not StopLevel.NONE:
            self._interrupted("stopped as asked")
        self._close_window()
        while (move := self._next_move()) is not None:
            self._begin(move)
            if self.stop.detaches:
                return True
        if not self.calls and not self.shutdowns:
            if self._to_restore:
                return True
            now = self.world.clock.now()
            wake = self.schedule.wake_at(now)
            if wake is None:
                return False
            self._sleep(min((wake - now).total_seconds(), self.options.timing.poll_s))
            return True
        self._await()
        return True

    def _next_move(self) -> Move | None:
        move = self._next_restore()
        if move is not None:
            return move
        step = self.schedule.ready(self.world.clock.now())
        return None if step is None else Move(step, self.rolls_back)

    def _interrupted(self, what: str) -> None:
        if self.schedule.halted is None:
            self.schedule.halted = what
            hint = "go on with --resume, or take it back with `vplacer rollback`"
            self.tell.trouble(ProblemKind.INTERRUPTED, what, hint=hint)

    def _close_window(self) -> None:
        window = self.options.window
        if window is None or self.schedule.halted is not None:
            return
        if not window.start <= self.world.clock.now() < window.end:
            self.halt(ProblemKind.WINDOW, "the window is not open", hint="go on with --resume when it is")

    def halt(self, kind: ProblemKind, why: str, vm: str | None = None, hint: str | None = None) -> None:
        """Let no more VMs begin; those in between are brought to an end."""
        self.tell.trouble(kind, why, vm=vm, hint=hint)
        self.schedule.halted = self.schedule.halted or why

    def _sleep(self, seconds: float) -> None:
        self.world.clock.sleep(max(seconds, 0.01))

    # ---------------------------------------------------------------- beginning a step

    def _begin(self, move: Move) -> None:
        look = self.world.look(move.step)
        if move.undo:
            if move.step.vm in self._stuck and not switches_on(move.step.change):
                self._leave(move)
                return
            held = self._hold(move, look)
            if held is None:
                return
            move = held
        elif not self._is_as_expected(move, look):
            return
        else:
            self._capture(move, look)
        self._call(move, look)

    def _hold(self, move: Move, look: Look) -> Move | None:
        """Leave out of an inverse step what others have changed since; None = nothing is left to do."""
        step, left = held_to(move.step, look.facts[move.step.vm])
        gone = look.vm is None
        if gone:
            step, left = None, ("the VM is gone",)
        for text in left:
            what = f"{text}; left as it is"
            self.tell.trouble(ProblemKind.KEPT, what, vm=move.step.vm, step=move.step.id)
        if step is not None:
            return Move(step, True, move.restoring)
        if left and not gone:
            self.journal.write(Kept(move.step.id, "; ".join(left)))
        else:
            self._write_without_call(move)
            self.schedule.undone(move.step) if move.restoring else None
        if not move.restoring:
            self.schedule.ended(move.step, done=True)
        return None

    def _leave(self, move: Move) -> None:
        """Leave a step as it is, since one after it could not be taken back."""
        self.failed.setdefault(move.step.id, "a later step of the VM could not be taken back")
        if not move.restoring:
            self.schedule.ended(move.step, done=True)

    def _write_without_call(self, move: Move) -> None:
        now = self._now_text()
        self.journal.write(Intent(move.step.id, True, operation_id(self.operation, move), now, now))
        self.journal.write(Ended(move.step.id, True, True, None, True, "it was so already", now))

    def _is_as_expected(self, move: Move, look: Look) -> bool:
        """Whether a VM is as it must be right before a step; else its chain stops."""
        step = move.step
        wrong: list[Difference] = differences(before(step), look.facts)
        expected = self.expected.get(step.vm)
        if expected is not None and look.vm is not None:
            known = {item.field for item in wrong}
            moved = drifted(expected, look.facts[step.vm])
            wrong += [Difference(step.vm, *item) for item in moved if item[0] not in known]
        if not wrong:
            return True
        same_plan = not differences(after(step), look.facts)
        text = "; ".join(str(item) for item in wrong)
        self._drift(step, f"somebody else has changed it: {text}", halts=same_plan)
        return False

    def _drift(self, step: Step, what: str, *, halts: bool) -> None:
        self.tell.step(EventType.APPLY_ERRORED, step, what, code="drifted")
        hint = "look at who changed it, then plan again"
        self.tell.trouble(ProblemKind.DRIFTED, what, vm=step.vm, step=step.id, hint=hint)
        self.failed[step.id] = what
        self._give_up(step, restore=not halts)
        if halts:
            self.halt(ProblemKind.DRIFTED, "another apply seems to be at work on the same VMs", vm=step.vm)

    def _capture(self, move: Move, look: Look) -> None:
        if look.vm is not None and move.step.vm not in self.journal.state.captured:
            facts = tuple(FieldFact(move.step.vm, *item) for item in sorted(look.facts[move.step.vm].items()))
            self.journal.write(Captured(move.step.vm, look.vm, facts))

    def _call(self, move: Move, look: Look) -> None:
        """Make the call: the intent first."""
        step = move.step
        operation = operation_id(self.operation, move)
        since = self.world.server_time().isoformat()
        self.journal.write(Intent(step.id, move.undo, operation, since, self._now_text()))
        if not move.restoring:
            self.schedule.began(step, self.world.clock.now())
        self.tell.step(EventType.APPLY_START, step, step.effect, undo=move.undo)
        moid = self.world.moid(step.vm) or step.vm
        now = self.world.clock.now()
        try:
            if asks_guest(step.change):
                self._ask_guest(move, moid, operation, now)
                return
            task = send(self.world.port, step.change, moid, look.vm, operation)
        except LOST as error:
            self._lost(move, error.what)
        except VSphereError as error:
            self._refused(move, error, look)
        else:
            self._sent(move, task)

    def _sent(self, move: Move, task: Task) -> None:
        self.journal.write(Sent(move.step.id, move.undo, task.id, task.what, task.object))
        now = self.world.clock.now()
        self.calls[task.id] = Call(move, task, now, now)

    def _ask_guest(self, move: Move, moid: str, operation: str, now: datetime) -> None:
        deadline = now + timedelta(seconds=self.options.timing.shutdown_timeout_s)
        waiting = Shutdown(move, now, deadline)
        try:
            self.world.port.shut_down(moid, operation)
        except LOST:
            waiting.asked = False
        except VSphereFault as error:
            if self.options.allow_hard_power_off and error.fault_type.startswith("Tools"):
                self._switch_off_hard(move, moid, f"its guest cannot be asked ({error.fault_type})")
                return
            raise
        self.shutdowns[move.step.id] = waiting

    def _switch_off_hard(self, move: Move, moid: str, why: str) -> None:
        self.tell.warn("hard_power_off", f"{moid}: switched off hard: {why}")
        operation = operation_id(self.operation, move)
        self._journal_end(move, done=False, detail=why)
        since = self.world.server_time().isoformat()
        self.journal.write(Intent(move.step.id, move.undo, operation, since, self._now_text()))
        try:
            task = send(self.world.port, move.step.change, moid, None, operation)
        except LOST as error:
            self._lost(move, error.what)
        except VSphereError as error:
            self._refused(move, error, None)
        else:
            self._sent(move, task)

    # ---------------------------------------------------------------- a lost answer

    def _lost(self, move: Move, why: str) -> None:
        """Look what became of a call whose answer was lost."""
        step = move.step
        self.tell.warn("answer_lost", f"{step.id}: {why}; looking whether it was carried out")
        attempt = self.journal.state.log(step.id).open
        assert attempt is not None
        found = find_call(self.world, step, attempt, self.journal.state.task_ids, self.world.moid(step.vm))
        if isinstance(found, Task):
            self._sent(move, found)
        elif found is Effect.DONE:
            made = made_by_name(self.world, step.change.name) if isinstance(step.change, Clone) else None
            self._succeeded(move, made, None)
        else:
            self._journal_end(move, done=False, detail="the call was never carried out")
            self._again(move, "the call was never carried out")

    def _again(self, move: Move, why: str) -> None:
        """Begin a step anew that is proved not to have been carried out, a few times at most."""
        if self._only_settles:
            self.schedule.ended(move.step, done=False)
            return
        key = (move.step.id, move.undo)
        self._sends[key] = self._sends.get(key, 1) + 1
        if self._sends[key] <= _MOST_SENDS:
            if not move.restoring:
                self.schedule.ended(move.step, done=False)
            self._begin(move)
            return
        self._fail(move, ProblemKind.CONNECTION, f"given up after {_MOST_SENDS} tries: {why}", restore=True)

    # ---------------------------------------------------------------- waiting

    def _await(self) -> None:
        timing = self.options.timing
        now = self.world.clock.now()
        wake = self.schedule.wake_at(now)
        limit = timing.poll_s if wake is None else min(timing.poll_s, (wake - now).total_seconds())
        limit = max(limit, 0.01)
        if self.calls:
            tasks = [call.task for call in self.calls.values()]
            for result in self.world.wait(tasks, limit):
                call = self.calls.pop(result.task.id, None)
                if call is not None:
                    self._task_ended(call, result)
        else:
            self._sleep(limit)
        self._poll_guests()
        self._watch_tasks()

    def _poll_guests(self) -> None:
        now = self.world.clock.now()
        if not self.shutdowns or (now - self._last_poll).total_seconds() < self.options.timing.poll_s / 2:
            return
        self._last_poll = now
        vms = self.world.vms(item.move.step.vm for item in self.shutdowns.values())
        for step_id, item in list(self.shutdowns.items()):
            vm = vms.get(item.move.step.vm)
            if vm is None or vm.power is VmPower.OFF:
                del self.shutdowns[step_id]
                self._succeeded(item.move, None, item.began)
            elif now >= item.deadline:
                del self.shutdowns[step_id]
                self._guest_is_late(item)
            elif not item.asked and now >= item.began + (item.deadline - item.began) / 2:
                # It runs on after half the time it has: it was never asked.
                self._ask_again(item)

    def _ask_again(self, item: Shutdown) -> None:
        moid = self.world.moid(item.move.step.vm) or item.move.step.vm
        item.asked = True
        try:
            self.world.port.shut_down(moid, operation_id(self.operation, item.move))
        except LOST:
            item.asked = False
        except VSphereError as error:
            self.tell.warn("shutdown", f"{item.move.step.id}: {error.what}")

    def _guest_is_late(self, item: Shutdown) -> None:
        move = item.move
        why = f"its guest did not shut down within {self.options.timing.shutdown_timeout_s:g} s"
        if self.options.allow_hard_power_off:
            self._switch_off_hard(move, self.world.moid(move.step.vm) or move.step.vm, why)
            return
        self._journal_end(move, done=False, detail=why)
        hint = "it may still go off: look at it; --allow-hard-power-off switches it off without its guest"
        self._fail(move, ProblemKind.FAULT, why, restore=False, hint=hint)

    def _watch_tasks(self) -> None:
        """Tell of tasks that run for long, and give up waiting for those that stall."""
        now = self.world.clock.now()
        for task_id, call in list(self.calls.items()):
            ran = (now - call.began).total_seconds()
            if ran >= self.options.timing.task_timeout_s:
                del self.calls[task_id]
                self._stalled(call, ran)
            elif (now - call.told).total_seconds() >= _HEARTBEAT_S:
                call.told = now
                step = call.move.step
                self.tell.step(
                    EventType.APPLY_PROGRESS, step, "still running", undo=call.move.undo, began=call.began
                )

    def _stalled(self, call: Call, ran: float) -> None:
        step = call.move.step
        self.stalled.add(step.id)
        what = f"its task {call.task.id} has not ended in {ran:g} s"
        self.tell.step(EventType.APPLY_ERRORED, step, what, code="stalled", task=call.task.id)
        self._restores.pop(self.schedule.units.of_vm[step.vm].index, None)
        self.schedule.block(self.schedule.units.of_vm[step.vm])
        self.halt(
            ProblemKind.UNKNOWN_END,
            what,
            vm=step.vm,
            hint="look at the task in vCenter; when it has ended, go on with --resume",
        )

    # ---------------------------------------------------------------- the end of a step

    def _task_ended(self, call: Call, result: TaskResult) -> None:
        move = call.move
        if result.state is TaskState.SUCCESS:
            self._succeeded(move, result.result, call.began)
        elif result.state is TaskState.ERROR:
            fault = result.fault or "unknown fault"
            error = VSphereFault("refused", fault_type=fault, why=result.message)
            self._refused(move, error, None)
        else:
            self._unknown_end(move, call)

    def _unknown_end(self, move: Move, call: Call) -> None:
        """The server no longer knows the task: the fields tell."""
        found = find_call(
            self.world,
            move.step,
            self.journal.state.log(move.step.id).attempts[-1],
            self.journal.state.task_ids,
            self.world.moid(move.step.vm),
        )
        if found is Effect.DONE:
            made = None
            if isinstance(move.step.change, Clone):
                made = made_by_name(self.world, move.step.change.name)
            self._succeeded(move, made, call.began)
            return
        self._journal_end(move, done=False, detail="the server no longer knows the task; no effect is there")
        self._again(move, "the server no longer knows the task")

    def _succeeded(self, move: Move, made: str | None, began: datetime | None) -> None:
        """Read back what a step wrote."""
        step = move.step
        if isinstance(step.change, Clone) and made is not None:
            self.world.made[step.vm] = made
        look = self.world.look(step)
        wrong = differences(after(step), look.facts)
        if wrong:
            self._sleep(self.options.timing.poll_s)
            look = self.world.look(step)
            wrong = differences(after(step), look.facts)
        lost_power = bool(wrong) and switches_on(step.change)
        detail = "; ".join(str(item) for item in wrong) or None
        self._journal_end(move, done=not lost_power, detail=detail, made=made, verified=not wrong)
        if wrong:
            what = f"carried out, and not as planned: {detail}"
            if not lost_power:
                self._note_done(move)
            self._fail(move, ProblemKind.VERIFICATION, what, restore=not move.undo)
            return
        self._note_done(move)
        self.tell.step(EventType.APPLY_COMPLETE, step, step.effect, undo=move.undo, began=began)
        self._keep_watch(move, look)
        self._close_vm(move)

    def _keep_watch(self, move: Move, look: Look) -> None:
        """Remember how a VM is now; notice what moved besides what the step did."""
        step, now = move.step, look.facts[move.step.vm]
        earlier = self.expected.get(step.vm)
        if look.vm is None:
            self.expected.pop(step.vm, None)
            return
        self.expected[step.vm] = dict(vm_facts(look.vm))
        if earlier is None or move.undo:
            return
        moved = unforeseen(step.change, facts_after(step.change, earlier), now)
        if moved:
            text = "; ".join(f"{name} is {shown(found)}, was {shown(was)}" for name, was, found in moved)
            if all(item.id in self.schedule.progress.done for item in self._steps_of(step.vm)):
                self.tell.trouble(ProblemKind.DRIFTED, f"somebody else has changed it: {text}", vm=step.vm)
            else:
                self._drift(step, f"somebody else has changed it meanwhile: {text}", halts=False)

    def _note_done(self, move: Move) -> None:
        step = move.step
        if move.undo and move.restoring:
            self.schedule.undone(step)
            self.tell.done -= 1
            return
        self.schedule.ended(step, done=True)
        self.tell.done += 1
        if switches_on(step.change):
            self.switched_on.append(step.vm)

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

    def _close_vm(self, move: Move) -> None:
        """Write the one user event of a VM when all of its steps are done."""
        vm = move.step.vm
        steps = self._steps_of(vm)
        moid = self.world.moid(vm)
        if vm in self.journal.state.logged or moid is None or move.restoring or self.rolls_back:
            return
        if all(step.id in self.schedule.progress.done for step in steps):
            self.journal.write(Logged(vm))
            text = f"{self.operation}: " + "; ".join(step.effect for step in steps)
            try:
                self.world.port.log_event(moid, text)
            except VSphereError as error:
                self.tell.note("event", f"{vm}: the user event could not be written: {error.what}")

    def _steps_of(self, vm: str) -> list[Step]:
        return [step for step in self.schedule.units.of_vm[vm].steps if step.vm == vm]

    # ---------------------------------------------------------------- failure

    def _refused(self, move: Move, error: VSphereError, look: Look | None) -> None:
        """The server said no: nothing of the step is there."""
        fault = error.fault_type if isinstance(error, VSphereFault) else type(error).__name__
        text = error.why or error.what
        self._journal_end(move, done=False, detail=text)
        step = move.step
        if fault == "ConcurrentAccess" and not move.undo:
            again = self.world.look(step)
            expected = self.expected.get(step.vm, {})
            moved = drifted(expected, again.facts[step.vm]) or differences(before(step), again.facts)
            if not moved:
                # Somebody wrote, and changed nothing that matters.
                self._again(move, "somebody writes to it all the time")
                return
        contested = fault in _CONTESTED
        del look
        self._fail(move, ProblemKind.FAULT, f"refused: {text}", restore=not contested, code=fault)
        if contested:
            what = "somebody else works on it at this moment"
            hint = "find out who; then go on with --resume, or take it back with `vplacer rollback`"
            self.halt(ProblemKind.DRIFTED, what, vm=step.vm, hint=hint)

    def _fail(
        self,
        move: Move,
        kind: ProblemKind,
        what: str,
        *,
        restore: bool,
        hint: str | None = None,
        code: str | None = None,
    ) -> None:
        step = move.step
        self.tell.step(EventType.APPLY_ERRORED, step, what, undo=move.undo, code=code or kind.value)
        if move.restoring or self.rolls_back:
            kind = ProblemKind.NOT_RESTORED
            what = f"could not be taken back: {step.effect.removeprefix('take back: ')}: {what}"
        self.tell.trouble(kind, what, vm=step.vm, step=step.id, hint=hint)
        if move.undo:
            self._stuck.add(step.vm)
        if move.restoring:
            return
        self.failed[step.id] = what
        # A rollback goes on to the power-on, whatever else could not be taken back.
        goes_on = self.rolls_back and not isinstance(step.change, Power)
        self.schedule.ended(step, done=goes_on)
        if not goes_on:
            self._give_up(step, restore=restore and not self.rolls_back)

    def _give_up(self, step: Step, *, restore: bool) -> None:
        unit = self.schedule.units.of_vm[step.vm]
        for other in self.schedule.block(unit):
            if other is not unit:
                for item in other.steps:
                    if item.id not in self.schedule.progress.done:
                        self.failed.setdefault(item.id, f"waits for {step.vm}, whose steps failed")
        if restore:
            self._to_restore[unit.index] = unit

    def _next_restore(self) -> Move | None:
        """Return the next step back of a unit that failed and in which nothing runs any more."""
        busy = {call.move.step.vm for call in self.calls.values()}
        busy |= {item.move.step.vm for item in self.shutdowns.values()}
        for index, unit in list(self._to_restore.items()):
            if busy & set(unit.vms):
                continue
            if index not in self._restores:
                self._restores[index] = self._plan_restore(unit)
            queue = self._restores[index]
            if queue:
                return Move(queue.pop(0), True, restoring=True)
            del self._to_restore[index], self._restores[index]
        return None

    def _plan_restore(self, unit: Unit) -> list[Step]:
        now = self.world.vms(unit.vms)
        steps, final = steps_back(unit, self.schedule.progress.done, now)
        for step in final:
            self.tell.trouble(
                ProblemKind.IRREVERSIBLE,
                f"stays: {step.effect}: {step.irreversible}",
                vm=step.vm,
                step=step.id,
            )
        if steps:
            names = ", ".join(sorted({step.vm for step in steps}))
            self.tell.diagnostic("restoring", f"bringing back to how it was: {names}", Severity.WARNING)
        return [back for step in steps if (back := inverse_step(step)) is not None]

    def _now_text(self) -> str:
        return self.world.clock.now().isoformat()
