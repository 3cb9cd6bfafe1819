"""The end of a step that succeeded: read back, written down, told."""

from __future__ import annotations

from datetime import datetime

from vplacer.apply.calls import Move
from vplacer.apply.compare import (
    after,
    differences,
    unforeseen,
)
from vplacer.apply.events import EventType
from vplacer.apply.failing import Failing
from vplacer.apply.outcome import ProblemKind
from vplacer.apply.records import Logged
from vplacer.apply.steps import switches_on
from vplacer.apply.world import Look
from vplacer.errors import VSphereError
from vplacer.plan.changes import Clone
from vplacer.plan.effects import facts_after
from vplacer.plan.observed import vm_facts


class Ending(Failing):
    """Closes steps that were carried out."""

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
        detail = "; ".join(self.tell.words.differs(item) for item in wrong) or None
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
            text = self.tell.words.all_moved(moved)
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
                self.tell.note(
                    "event", f"{self.tell.words.vm(vm)}: the user event could not be written: {error.what}"
                )
