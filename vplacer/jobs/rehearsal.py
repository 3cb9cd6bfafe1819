"""Rehearses a plan in this process: the real executor at a simulated vCenter, no socket, no file."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from vplacer.errors import VplacerError

if TYPE_CHECKING:
    from vplacer.apply.options import ApplyOptions
    from vplacer.apply.outcome import Outcome
    from vplacer.inventory.overlay import Overlay
    from vplacer.inventory.vcenter import Inventory
    from vplacer.plan.model import Plan, Rehearsal

MOST_STEPS = 300
"""Of a longer plan, VMs with so many steps in all are rehearsed, spread over the plan."""
_MOST_FAULTS = 20


def rehearsed(
    plan: Plan,
    inventory: Inventory,
    overlays: tuple[Overlay, ...],
    include_managed: tuple[str, ...] = (),
    most_steps: int = MOST_STEPS,
) -> Rehearsal:
    """Return what carrying a plan out came to. Equal plans and inventories give equal answers.

    Args:
        plan: the plan.
        inventory: what it was made from.
        overlays: what goes with that.
        include_managed: VMs that are changed although somebody else owns them.
        most_steps: of a longer plan, a part of about so many steps is enough.
    """
    from vplacer.apply.run import apply_plan
    from vplacer.inventory.site import Site
    from vplacer.lab.model.machine import Machine
    from vplacer.lab.model.port import LabPort
    from vplacer.lab.model.state import seed_state

    site = Site(plan.source.vcenter, "snapshot", inventory, overlays)
    port = LabPort(Machine(seed_state(site), overlays))
    options = everything_allowed(include_managed)
    part = _part(plan, most_steps)
    try:
        outcome = apply_plan(part, port, options, None, port.clock, overlays=overlays)
    except VplacerError as error:
        return _failed(error.render().replace("\n", " "))
    return _summed_up(part, outcome, complete=part is plan)


def everything_allowed(include_managed: tuple[str, ...] = ()) -> ApplyOptions:
    """Return options with every consent."""
    from vplacer.apply.options import ApplyOptions

    return ApplyOptions(
        allow_power_cycle=True,
        allow_migration=True,
        allow_hw_upgrade=True,
        allow_hard_power_off=True,
        include_managed=frozenset(include_managed),
    )


def _part(plan: Plan, most_steps: int) -> Plan:
    """Return a plan with about so many of the steps: all steps of some VMs, and of those they wait for."""
    if len(plan.steps) <= most_steps:
        return plan
    groups = _groups(plan)
    # Every so many-th, so that VMs of all kinds are among them.
    stride = -(-len(plan.steps) // most_steps)
    chosen: set[str] = set()
    for offset in range(stride):
        for group in groups[offset::stride]:
            if not chosen or len(chosen) + len(group) <= most_steps:
                chosen |= group
    return replace(plan, steps=tuple(step for step in plan.steps if step.id in chosen))


def _groups(plan: Plan) -> list[set[str]]:
    """Return the ids of steps that wait for each other or are of one VM, in the order of the plan."""
    group_of: dict[str, set[str]] = {}
    of_vm: dict[str, set[str]] = {}
    for step in plan.steps:
        own = of_vm.setdefault(step.vm, set()) | {step.id}
        for name in step.depends_on:
            own |= group_of.get(name, set())
        for name in own:
            group_of[name] = own
            of_vm[plan.step_by_id[name].vm] = own
    found: dict[int, set[str]] = {}
    for step in plan.steps:
        found.setdefault(id(group_of[step.id]), group_of[step.id])
    return list(found.values())


def _failed(text: str) -> Rehearsal:
    from vplacer.plan.model import Rehearsal

    return Rehearsal(0, 0, (text,), complete=True)


def _summed_up(plan: Plan, outcome: Outcome, *, complete: bool) -> Rehearsal:
    from vplacer.apply.outcome import ProblemKind, StepState
    from vplacer.apply.steps import vm_name
    from vplacer.plan.model import Rehearsal

    faults = [
        f"{item.name}: {item.what}" if item.name else item.what
        for item in outcome.troubles
        if item.kind is not ProblemKind.IRREVERSIBLE
    ]
    if not faults:
        faults = [
            f"{vm_name(plan, step.vm)}: {step.detail or step.id}"
            for step in outcome.steps
            if step.state in (StepState.FAILED, StepState.SKIPPED)
        ]
    return Rehearsal(
        steps=outcome.count(StepState.DONE),
        seconds=round(outcome.elapsed_s),
        faults=tuple(faults[:_MOST_FAULTS]),
        complete=complete,
    )
