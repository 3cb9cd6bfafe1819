"""What moved since a plan was begun, beside what the plan itself did."""

from __future__ import annotations

from vplacer.apply.compare import unforeseen
from vplacer.apply.records import JournalState
from vplacer.apply.steps import steps_by_vm
from vplacer.inventory.vcenter import Inventory
from vplacer.plan.changes import Clone, OverrideDrs
from vplacer.plan.effects import facts_after
from vplacer.plan.model import Fact, ObjectKind, Plan
from vplacer.plan.observed import vm_facts
from vplacer.plan.staleness import StaleField, stale_fields


def moved_since(plan: Plan, inventory: Inventory, state: JournalState) -> list[StaleField]:
    """Return what moved of all that has not been begun: what the plan itself did is no drift."""
    begun = {step.vm for step in plan.steps if state.log(step.id).attempts}
    own = {step.vm for step in plan.steps} | set(state.made.values())
    made = {step.change.name for step in plan.steps if isinstance(step.change, Clone) and step.vm in begun}
    found = []
    for item in stale_fields(plan, inventory):
        if item.kind is ObjectKind.VM and (item.object in begun or item.name in made):
            continue
        only_own = _without(item.expected, own) == _without(item.found, own)
        if item.kind is ObjectKind.HOST and item.field == "running" and only_own:
            continue
        if item.field == "exists" and item.object in state.made.values():
            continue
        found.append(item)
    return found


def _without(value: Fact, own: set[str]) -> tuple[str, ...]:
    return tuple(item for item in value if item not in own) if isinstance(value, tuple) else ()


def expected_facts(plan: Plan, inventory: Inventory, state: JournalState) -> dict[str, dict[str, Fact]]:
    """Return the fields each VM must have: as they are now, unless others changed them since our step."""
    found: dict[str, dict[str, Fact]] = {}
    for vm_id, steps in steps_by_vm(plan.steps).items():
        vm = inventory.vm_by_moid.get(state.made.get(vm_id, vm_id))
        if vm is None:
            continue
        now = dict(vm_facts(vm))
        captured = state.captured.get(vm_id)
        if captured is not None:
            then: dict[str, Fact] = {fact.field: fact.value for fact in captured.facts}
            done = [s.change for s in steps if state.is_done(s.id) and not isinstance(s.change, Clone)]
            for change in done:
                then = facts_after(change, then)
            last = done[-1] if done else OverrideDrs("", None, None)
            for name, was, _ in unforeseen(last, {k: v for k, v in then.items() if k in now}, now):
                now[name] = was
        found[vm_id] = now
    return found
