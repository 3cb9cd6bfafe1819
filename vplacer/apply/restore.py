"""Which steps are taken back when a chain fails, so that no VM stays off that ran."""

from __future__ import annotations

from collections.abc import Mapping, Set

from vplacer.apply.steps import switches_off, switches_on
from vplacer.apply.units import Unit
from vplacer.inventory.vm import Vm, VmPower
from vplacer.plan.model import Step


def steps_back(unit: Unit, done: Set[str], now: Mapping[str, Vm]) -> tuple[list[Step], list[Step]]:
    """Return the steps of a failed unit to take back, the last first, and those that nothing takes back.

    Only VMs that are off and not at the end of their steps: one that runs is left as it is, and so is
    one that was made by the plan. ``now``: the VMs as they are.
    """
    back: list[Step] = []
    final: list[Step] = []
    for step in reversed(unit.steps):
        if step.id not in done or not _comes_back(unit, step.vm, done, now.get(step.vm)):
            continue
        (back if step.undo is not None else final).append(step)
    return back, final


def _comes_back(unit: Unit, vm_id: str, done: Set[str], vm: Vm | None) -> bool:
    own = [step for step in unit.steps if step.vm == vm_id]
    if vm is None or vm.power is not VmPower.OFF or vm_id.startswith("new:"):
        return False
    if all(step.id in done for step in own):
        return False
    was_on = any(switches_off(step.change) and step.id in done for step in own)
    return was_on or any(switches_on(step.change) for step in own)
