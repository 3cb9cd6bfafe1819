"""One call to the port for one step, and what is known of a call whose answer was lost."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from vplacer.apply.compare import after, differences
from vplacer.apply.records import Attempt
from vplacer.apply.steps import switches_off
from vplacer.apply.world import World
from vplacer.errors import InternalError
from vplacer.inventory.vm import Vm
from vplacer.plan.changes import (
    Change,
    Clone,
    Delete,
    OverrideDrs,
    Power,
    Reconfigure,
    Relocate,
    UpgradeHardware,
)
from vplacer.plan.model import Step
from vplacer.port import Port, Task

_WORDS = {
    Clone: "clone",
    Delete: "destroy",
    Reconfigure: "reconfig",
    UpgradeHardware: "upgrade",
    Relocate: "relocate migrate",
    OverrideDrs: "reconfig",
    Power: "power",
}
"""A word of the server's name for the task of each change."""


@dataclass(frozen=True, slots=True)
class Move:
    """A step to carry out. ``undo``: it is the inverse of a step of the plan, under the same id.

    ``restoring``: part of bringing a VM back whose chain of steps failed.
    """

    step: Step
    undo: bool = False
    restoring: bool = False


def operation_id(prefix: str, move: Move) -> str:
    """Return what the server writes to its log with the call."""
    return f"{prefix}-{move.step.id}" + ("-undo" if move.undo else "")


def asks_guest(change: Change) -> bool:
    """Whether a change begins with asking the guest to shut down: only one that runs can be asked."""
    return switches_off(change) and isinstance(change, Power) and change.before.value == "poweredOn"


def send(port: Port, change: Change, moid: str, vm: Vm | None, operation: str) -> Task:
    """Start the task of a change. ``vm`` as read just now; None = it is still to be made."""
    match change:
        case Clone():
            return port.clone(change, operation)
        case Delete():
            return port.delete(moid, change, operation)
        case Reconfigure():
            if vm is None or vm.change_version is None:
                raise InternalError("a VM without a change version is to be reconfigured", obj=moid)
            return port.reconfigure(moid, change, vm.change_version, operation)
        case UpgradeHardware():
            return port.upgrade(moid, change, operation)
        case Relocate():
            return port.relocate(moid, change, operation)
        case Power():
            return port.power(moid, change, operation)
        case OverrideDrs():
            return port.override_drs(moid, change, operation)


class Effect(StrEnum):
    """What is known of a lost call without a task of it."""

    DONE = "done"
    NOT_DONE = "not_done"


def find_call(
    world: World, step: Step, attempt: Attempt, known_tasks: set[str], moid: str | None
) -> Task | Effect:
    """Find out what became of a call whose answer was lost.

    First the tasks of the object that this account started since, then the fields. A call that left
    neither a task nor an effect, also after a while, was never carried out.
    """
    since = datetime.fromisoformat(attempt.intent.server_time)
    entity = _entity(step.change, moid)
    words = _WORDS[type(step.change)].split()
    for last in (False, True):
        seen = [] if entity is None else world.own_tasks(entity, since)
        tasks = [item.task for item in seen if item.task.id not in known_tasks]
        fitting = [task for task in tasks if any(word in task.what.lower() for word in words)]
        if fitting:
            return fitting[-1]
        if isinstance(step.change, Clone):
            made = made_by_name(world, step.change.name)
            if made is not None:
                return Effect.DONE
        elif not differences(after(step), world.look(step).facts):
            return Effect.DONE
        if not last:
            world.clock.sleep(world.timing.settle_s)
    return Effect.NOT_DONE


def made_by_name(world: World, name: str) -> str | None:
    """Return the id of the VM of a name, that a clone was to make; None = there is none."""
    return next((vm.moid for vm in world.inventory().vms if vm.name == name and not vm.template), None)


def _entity(change: Change, moid: str | None) -> str | None:
    match change:
        case Clone():
            return change.template
        case OverrideDrs():
            return change.cluster
        case _:
            return moid
