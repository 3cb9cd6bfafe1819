"""A step that fails: its chain stops, and a VM that is off because of it is brought back."""

from __future__ import annotations

from vplacer.apply.books import Books
from vplacer.apply.calls import Move
from vplacer.apply.events import EventType, Severity
from vplacer.apply.inverse import inverse_step
from vplacer.apply.outcome import ProblemKind
from vplacer.apply.restore import steps_back
from vplacer.apply.units import Unit
from vplacer.plan.changes import Power
from vplacer.plan.model import Step

_HINTS = {
    ProblemKind.FAULT: "mend the cause, then go on with --resume, or take it back with `vplacer rollback`",
    ProblemKind.NOT_RESTORED: "mend the cause, then `vplacer rollback`; with --dry-run it says what is left",
    ProblemKind.VERIFICATION: "look at the VM; then --resume goes on, and `vplacer rollback` takes it back",
    ProblemKind.CONNECTION: "go on with --resume when the vCenter answers again",
}
"""What to do next, where the trouble itself knows nothing better."""


class Failing(Books):
    """Gives chains of steps up, and VMs their old state back."""

    def halt(self, kind: ProblemKind, why: str, vm: str | None = None, hint: str | None = None) -> None:
        """Let no more VMs begin; those in between are brought to an end."""
        self.tell.trouble(kind, why, vm=vm, hint=hint)
        self.schedule.halted = self.schedule.halted or why

    def _drift(self, step: Step, what: str, *, halts: bool) -> None:
        self.tell.step(EventType.APPLY_ERRORED, step, what, code="drifted")
        hint = "look at who changed it, then plan again"
        self.tell.trouble(ProblemKind.DRIFTED, what, vm=step.vm, step=step.id, hint=hint)
        self.failed[step.id] = what
        self._give_up(step, restore=not halts)
        if halts:
            self.halt(ProblemKind.DRIFTED, "another apply seems to be at work on the same VMs", vm=step.vm)

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
        elif kind is ProblemKind.FAULT:
            what = f"{step.effect}: {what}"
        hint = hint or _HINTS.get(kind)
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
                        self.failed.setdefault(
                            item.id, f"waits for {self.tell.words.vm(step.vm)}, whose steps failed"
                        )
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
            names = ", ".join(sorted({self.tell.words.vm(step.vm) for step in steps}))
            self.tell.diagnostic("restoring", f"bringing back to how it was: {names}", Severity.WARNING)
        return [back for step in steps if (back := inverse_step(step)) is not None]
