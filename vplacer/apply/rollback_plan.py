"""What a rollback would do: the inverse steps in the opposite order, and what stays."""

from __future__ import annotations

from dataclasses import dataclass

from vplacer.apply.inverse import inverse_step
from vplacer.apply.records import JournalState
from vplacer.apply.steps import steps_by_vm, switches_on
from vplacer.plan.changes import Clone
from vplacer.plan.model import Plan, Step


@dataclass(frozen=True, slots=True)
class Stays:
    """A step that is not taken back, and why."""

    step: str
    vm: str
    why: str
    irreversible: bool


@dataclass(frozen=True, slots=True)
class RollbackPlan:
    """Inverse steps, each after those it must wait for; and what stays as it is."""

    steps: tuple[Step, ...]
    stays: tuple[Stays, ...]


def rollback_plan(plan: Plan, state: JournalState) -> RollbackPlan:
    """Return what a rollback of all that the journal says was carried out would do.

    A VM that the plan made is deleted if it was never switched on; else it is kept as it is.
    """
    gone = deleted_again(plan, state)
    done = [step for step in plan.steps if state.is_done(step.id) and step.vm not in gone]
    chosen: list[Step] = []
    stays: list[Stays] = []
    for steps in steps_by_vm(done).values():
        first = steps[0]
        if isinstance(first.change, Clone):
            if any(switches_on(step.change) for step in steps):
                why = "the VM was made by this plan and has run since: it is kept"
                stays += [Stays(step.id, step.vm, why, False) for step in steps]
            else:
                chosen.append(first)
            continue
        for step in steps:
            if step.undo is None:
                stays.append(Stays(step.id, step.vm, step.irreversible or "nothing takes it back", True))
            else:
                chosen.append(step)
    names = {step.id for step in chosen}
    later: dict[str, list[str]] = {name: [] for name in names}
    for step in chosen:
        for before in _through(step, names, plan.step_by_id):
            later[before].append(step.id)
    order = {step.id: index for index, step in enumerate(plan.steps)}
    back = sorted(chosen, key=lambda step: -order[step.id])
    inverse = [item for step in back if (item := inverse_step(step, sorted(later[step.id]))) is not None]
    return RollbackPlan(tuple(inverse), tuple(stays))


def deleted_again(plan: Plan, state: JournalState) -> frozenset[str]:
    """Return the VMs that the plan made and a rollback has deleted."""
    clones = (step for step in plan.steps if isinstance(step.change, Clone))
    return frozenset(step.vm for step in clones if state.log(step.id).was_undone)


def _through(step: Step, names: set[str], by_id: dict[str, Step]) -> set[str]:
    """Return the chosen steps that a step depends on, directly or through steps that stay."""
    found: set[str] = set()
    seen: set[str] = set()
    stack = list(step.depends_on)
    while stack:
        name = stack.pop()
        if name in seen:
            continue
        seen.add(name)
        if name in names:
            found.add(name)
        elif name in by_id:
            stack.extend(by_id[name].depends_on)
    return found
