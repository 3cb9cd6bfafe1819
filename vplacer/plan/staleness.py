"""Does the world still look as it did when the plan was made? What moved is named field by field."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
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


@dataclass(frozen=True, slots=True)
class MovedCard:
    """A card at another address: its text before and after, and the move in words."""

    before: str
    after: str
    what: str


def stale_fields(plan: Plan, inventory: Inventory) -> tuple[StaleField, ...]:
    """Compare all that the decision used with an inventory read now; empty = the plan still holds.

    changeVersion is not looked at: it moves with any client's write. A VM that is to be made must not
    exist yet. A hypothetical plan never holds.
    """
    found = _hypothetical(plan)
    found += [
        StaleField(seen.kind, seen.id, seen.name, name, expected, now, _detail(name, expected, now))
        for seen, name, expected, now in _differences(plan, inventory)
    ]
    taken = {vm.name: vm.moid for vm in inventory.vms}
    for step in plan.steps:
        if step.kind is StepKind.CLONE and isinstance(step.change, Clone) and step.change.name in taken:
            name = step.change.name
            found.append(StaleField(ObjectKind.VM, taken[name], name, "exists", False, True))
    return tuple(found)


def _hypothetical(plan: Plan) -> list[StaleField]:
    """Say of a plan for a site as it might be that there is no such site."""
    if not plan.hypothetical:
        return []
    source = plan.source
    detail = f"made for a site that is not so: {'; '.join(plan.what_if)}"
    return [
        StaleField(
            ObjectKind.VCENTER, source.instance_uuid, source.vcenter, "hypothetical", True, False, detail
        )
    ]


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


@dataclass(frozen=True, slots=True)
class _Card:
    text: str
    address: str
    ids: str
    slot: str | None


def moved_cards(before: Sequence[str], after: Sequence[str]) -> tuple[MovedCard, ...]:
    """Return which cards of a host's field "cards" changed their address, in the order of the old ones.

    A card is known again by its ids, and by its slot where both sides tell one: first those whose slot
    is the same, then those of which a side tells none.
    """
    was, now = _cards(before), _cards(after)
    gone = [card for address, card in was.items() if address not in now or now[address].ids != card.ids]
    came = [card for address, card in now.items() if address not in was or was[address].ids != card.ids]
    found: dict[str, MovedCard] = {}
    for told in (True, False):
        for old in gone:
            match = next((new for new in came if _is_again(old, new, told)), None)
            if old.address not in found and match is not None:
                came.remove(match)
                found[old.address] = MovedCard(old.text, match.text, _moved_text(old, match))
    return tuple(found[card.address] for card in gone if card.address in found)


def _is_again(old: _Card, new: _Card, slots_told: bool) -> bool:
    if old.ids != new.ids:
        return False
    told = old.slot is not None and new.slot is not None
    return told is slots_told and (not told or old.slot == new.slot)


def _moved_text(old: _Card, new: _Card) -> str:
    vendor, device, *_ = old.ids.split(":")
    return f"{vendor}:{device} moved from {old.address} to {new.address}"


def _cards(texts: Sequence[str]) -> dict[str, _Card]:
    found = {}
    for text in texts:
        match = _CARD_RE.match(text)
        if match is not None:
            found[match["address"]] = _Card(text, match["address"], match["ids"], match["slot"])
    return found


def _detail(field: str, expected: Fact, found: Fact) -> str | None:
    if field != "cards" or not isinstance(expected, tuple) or not isinstance(found, tuple):
        return None
    return "; ".join(card.what for card in moved_cards(expected, found)) or None
