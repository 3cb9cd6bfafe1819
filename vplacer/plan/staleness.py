"""Does the world still look as it did when the plan was made? What moved is named field by field."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from vplacer.inventory.vcenter import Inventory
from vplacer.plan.changes import Clone
from vplacer.plan.model import DriftItem, Fact, ObjectKind, Observed, Plan, StepKind
from vplacer.plan.observed import observe_host, observe_vcenter, vm_facts

_CARD_RE = re.compile(r"^(?P<address>\S+) (?P<ids>\S+) pNUMA \S+(?: slot (?P<slot>\d+))?")


@dataclass(frozen=True, slots=True)
class StaleField:
    """A field that is no longer what the plan was decided on.

    ``detail``: what happened, where the two values alone do not tell ("0000:65:00.0 moved to ...").
    """

    kind: ObjectKind
    object: str
    name: str
    field: str
    expected: Fact
    found: Fact
    detail: str | None = None


def stale_fields(plan: Plan, inventory: Inventory) -> tuple[StaleField, ...]:
    """Compare all that the decision used with an inventory read now; empty = the plan still holds.

    changeVersion is not looked at: it moves with any client's write. A VM that is to be made must not
    exist yet.
    """
    found = [
        StaleField(seen.kind, seen.id, seen.name, name, expected, now, _moved_cards(name, expected, now))
        for seen, name, expected, now in _differences(plan, inventory)
    ]
    taken = {vm.name: vm.moid for vm in inventory.vms}
    for step in plan.steps:
        if step.kind is StepKind.CLONE and isinstance(step.change, Clone) and step.change.name in taken:
            name = step.change.name
            found.append(StaleField(ObjectKind.VM, taken[name], name, "exists", False, True))
    return tuple(found)


def drift(previous: Plan, inventory: Inventory) -> tuple[DriftItem, ...]:
    """Return what moved since a previous plan, other than by that plan.

    A field that has the value the plan would have given it is no drift, whoever gave it.
    """
    intended = {(fact.object, fact.field): fact.value for step in previous.steps for fact in step.checks}
    own = {step.vm for step in previous.steps}
    named = {step.change.name for step in previous.steps if isinstance(step.change, Clone)}
    own |= {vm.moid for vm in inventory.vms if vm.name in named}
    items = []
    for seen, name, was, now in _differences(previous, inventory):
        if intended.get((seen.id, name), was) == now:
            continue
        before, after = was, now
        if seen.kind is ObjectKind.HOST and name == "running":
            before, after = _without(was, own), _without(now, own)
            if before == after:
                continue
        items.append(DriftItem(seen.kind, seen.id, seen.name, name, before, after))
    return tuple(items)


def _without(value: Fact, own: set[str]) -> Fact:
    return tuple(item for item in value if item not in own) if isinstance(value, tuple) else value


def _differences(plan: Plan, inventory: Inventory) -> Iterator[tuple[Observed, str, Fact, Fact]]:
    for seen in plan.observed:
        facts = _facts_now(seen, inventory)
        if facts is None:
            yield seen, "exists", True, False
            continue
        for name, expected in seen.fields:
            now = facts.get(name)
            if now != expected or isinstance(now, bool) is not isinstance(expected, bool):
                yield seen, name, expected, now


def _facts_now(seen: Observed, inventory: Inventory) -> Mapping[str, Fact] | None:
    match seen.kind:
        case ObjectKind.VCENTER:
            return dict(observe_vcenter(inventory).fields)
        case ObjectKind.HOST:
            host = inventory.host_by_moid.get(seen.id)
            if host is None:
                return None
            return dict(observe_host(host, inventory.vms_by_host.get(seen.id, ())).fields)
        case ObjectKind.VM:
            vm = inventory.vm_by_moid.get(seen.id)
            return None if vm is None else vm_facts(vm)


def _moved_cards(field: str, expected: Fact, found: Fact) -> str | None:
    """Say which cards changed their address: same ids, same slot where both are known."""
    if field != "cards" or not isinstance(expected, tuple) or not isinstance(found, tuple):
        return None
    before, after = _cards(expected), _cards(found)
    gone = {address: card for address, card in before.items() if after.get(address, ("", None))[0] != card[0]}
    came = {address: card for address, card in after.items() if before.get(address, ("", None))[0] != card[0]}
    texts = []
    for old, (ids, slot) in gone.items():
        for new, (new_ids, new_slot) in came.items():
            same_slot = slot is None or new_slot is None or slot == new_slot
            if ids == new_ids and same_slot:
                texts.append(f"{ids} moved from {old} to {new}")
                del came[new]
                break
    return "; ".join(texts) or None


def _cards(texts: tuple[str, ...]) -> dict[str, tuple[str, str | None]]:
    found = {}
    for text in texts:
        match = _CARD_RE.match(text)
        if match is not None:
            found[match["address"]] = (match["ids"], match["slot"])
    return found
