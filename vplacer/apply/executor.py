"""Carries steps out: one thread, over `Port.wait`.

Every intent is in the journal before its call, every outcome after. A call whose answer was lost is
looked for, never simply sent again. A VM whose chain of steps fails is brought back to how it was.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta

from vplacer.apply.beginning import Beginning
from vplacer.apply.books import Call
from vplacer.apply.calls import Effect, Move, asks_guest, find_call, made_by_name, operation_id
from vplacer.apply.events import EventType
from vplacer.apply.outcome import ProblemKind
from vplacer.apply.records import Attempt
from vplacer.apply.shutdown import Shutdown
from vplacer.apply.stop import StopLevel
from vplacer.apply.world import LOST, Unreachable
from vplacer.errors import OutputError, VSphereError, VSphereFault
from vplacer.inventory.vm import VmPower
from vplacer.plan.changes import Clone
from vplacer.port import Task, TaskResult, TaskState

_HEARTBEAT_S = 10.0
_ASK_AGAIN = timedelta(seconds=30)
"""How long a guest may run on of which it is not known whether it was asked, before it is asked again."""


def _ask_again_after(item: Shutdown) -> timedelta:
    return min((item.deadline - item.began) / 2, _ASK_AGAIN)


class Executor(Beginning):
    """Carries out the steps of a schedule, until nothing more can be done."""

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
            elif asks_guest(move.step.change) and not self._has_power_task(move, attempt):
                self._wait_for_guest(move, asked=False)
            else:
                self._lost(move, "vplacer ended during the call")

    def _has_power_task(self, move: Move, attempt: Attempt) -> bool:
        """Whether a VM that was to be switched off has a task, besides what its guest was asked."""
        moid = self.world.moid(move.step.vm)
        if moid is None:
            return False
        seen = self.world.own_tasks(moid, datetime.fromisoformat(attempt.intent.server_time))
        return any(item.task.id not in self.journal.state.task_ids for item in seen)

    def settle(self, moves: Iterable[Move]) -> None:
        """Wait for the calls of an earlier process to end, and begin nothing."""
        self._only_settles = True
        try:
            self.take_over(moves)
            while (self.calls or self.shutdowns) and self.stop.level is StopLevel.NONE:
                self._await()
        except Unreachable as error:
            self._unreached(error)

    def run(self, moves: Iterable[Move] = ()) -> None:
        """Carry out all that may be carried out. What could not be is among the teller's troubles.

        ``moves``: calls of an earlier process whose end is not known; they come first.
        """
        try:
            self.take_over(moves)
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
        what = f"the vCenter cannot be reached: {error.cause.why or error.cause.what}"
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
                self._tell_window(now)
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

    def _tell_window(self, now: datetime) -> None:
        if self.schedule.waits_for_window(now):
            what = "what is left would not end within the window"
            self.halt(ProblemKind.WINDOW, what, hint="go on with --resume in the next one")

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
            else:
                if not item.asked and now >= item.began + _ask_again_after(item):
                    # It runs on: it seems that it was never asked.
                    self._ask_again(item)
                self._tell_waiting(item, now)

    def _tell_waiting(self, item: Shutdown, now: datetime) -> None:
        """Say now and then that a guest is waited for, and what comes if it does not go down."""
        if (now - item.told).total_seconds() < _HEARTBEAT_S:
            return
        item.told = now
        left = (item.deadline - now).total_seconds()
        then = "it is switched off hard" if self.options.allow_hard_power_off else "the step fails"
        text = f"waiting for its guest to shut down; after {left:.0f} s more {then}"
        step = item.move.step
        self.tell.step(EventType.APPLY_PROGRESS, step, text, undo=item.move.undo, began=item.began)

    def _ask_again(self, item: Shutdown) -> None:
        moid = self.world.moid(item.move.step.vm) or item.move.step.vm
        if self._only_settles:
            del self.shutdowns[item.move.step.id]
            self._journal_end(item.move, done=False, detail="its guest was not asked")
            return
        item.asked = True
        try:
            self.world.port.shut_down(moid, operation_id(self.operation, item.move))
        except LOST:
            item.asked = False
        except VSphereError as error:
            self.tell.warn("shutdown", f"{self.tell.words.step(item.move.step)}: {error.what}")

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
