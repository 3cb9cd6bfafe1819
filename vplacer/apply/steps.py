"""Questions about the steps of a plan that several parts of an apply ask."""

from __future__ import annotations

from collections.abc import Iterable

from vplacer.inventory.vm import VmPower
from vplacer.plan.changes import Change, Power, Relocate
from vplacer.plan.model import Plan, Step


def switches_off(change: Change) -> bool:
    """Whether a change switches a VM off."""
    return isinstance(change, Power) and change.after is VmPower.OFF


def switches_on(change: Change) -> bool:
    """Whether a change switches a VM on."""
    return isinstance(change, Power) and change.after is VmPower.ON


def gives_up_memory(change: Change) -> bool:
    """Whether a change gives up the memory of a suspended VM."""
    return isinstance(change, Power) and change.before is VmPower.SUSPENDED


def is_live_move(change: Change) -> bool:
    """Whether a change is a vMotion."""
    return isinstance(change, Relocate) and change.live


def disrupts(change: Change) -> bool:
    """Whether a change disturbs a VM that runs (or is suspended)."""
    return switches_off(change) or is_live_move(change)


def steps_by_vm(steps: Iterable[Step]) -> dict[str, list[Step]]:
    """Return the steps of each VM, in the order of the plan."""
    found: dict[str, list[Step]] = {}
    for step in steps:
        found.setdefault(step.vm, []).append(step)
    return found


def disrupted_vms(steps: Iterable[Step]) -> list[str]:
    """Return the VMs that are switched off or migrated while they run, in the order of the steps."""
    return list(dict.fromkeys(step.vm for step in steps if disrupts(step.change)))


def vm_name(plan: Plan, vm: str) -> str:
    """Return the name of a VM of a plan."""
    if vm.startswith("new:"):
        return vm.removeprefix("new:")
    return plan.vm_names.get(vm) or plan.name(vm)
