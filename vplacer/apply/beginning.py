"""The begin of a step: look, write down the intent, call; and what to do if the answer is lost or a no."""

from __future__ import annotations

from datetime import timedelta

from vplacer.apply.books import Call
from vplacer.apply.calls import Effect, Move, asks_guest, find_call, made_by_name, operation_id, send
from vplacer.apply.compare import (
    Difference,
    after,
    before,
    differences,
    drifted,
)
from vplacer.apply.ending import Ending
from vplacer.apply.events import EventType
from vplacer.apply.inverse import held_to
from vplacer.apply.outcome import ProblemKind
from vplacer.apply.records import Captured, Ended, Intent, Kept, Sent
from vplacer.apply.shutdown import Shutdown
from vplacer.apply.steps import switches_on
from vplacer.apply.world import LOST, Look
from vplacer.errors import VSphereError, VSphereFault
from vplacer.plan.changes import Clone
from vplacer.plan.model import FieldFact
from vplacer.port import Task

_CONTESTED = frozenset({"TaskInProgress", "ConcurrentAccess"})
"""Faults that say that somebody else works on the VM at this moment."""
_MOST_SENDS = 3


class Beginning(Ending):
    """Begins steps."""

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
        step, left = held_to(move.step, look.facts[move.step.vm], self.tell.words)
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
        text = "; ".join(self.tell.words.differs(item) for item in wrong)
        self._drift(step, f"somebody else has changed it: {text}", halts=same_plan)
        return False

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
        try:
            if asks_guest(step.change):
                self._ask_guest(move, moid, operation)
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

    def _ask_guest(self, move: Move, moid: str, operation: str) -> None:
        asked = True
        try:
            self.world.port.shut_down(moid, operation)
        except LOST:
            asked = False
        except VSphereFault as error:
            if self.options.allow_hard_power_off and error.fault_type.startswith("Tools"):
                self._switch_off_hard(move, moid, f"its guest cannot be asked ({error.fault_type})")
                return
            raise
        self._wait_for_guest(move, asked=asked)

    def _wait_for_guest(self, move: Move, *, asked: bool) -> None:
        """Wait for a VM to go off. ``asked`` False = it is not known whether its guest was asked."""
        now = self.world.clock.now()
        deadline = now + timedelta(seconds=self.options.timing.shutdown_timeout_s)
        self.shutdowns[move.step.id] = Shutdown(move, now, deadline, asked, now)

    def _switch_off_hard(self, move: Move, moid: str, why: str) -> None:
        self.tell.warn("hard_power_off", f"{self.tell.words.vm(move.step.vm)}: switched off hard: {why}")
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

    def _lost(self, move: Move, why: str) -> None:
        """Look what became of a call whose answer was lost."""
        step = move.step
        self.tell.warn(
            "answer_lost", f"{self.tell.words.step(step)}: {why}; looking whether it was carried out"
        )
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
