"""What moved since an earlier plan, as the audit looks at it: with names instead of managed object ids."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from vplacer.inventory.vcenter import Inventory
from vplacer.plan.model import DriftItem, Fact, Plan
from vplacer.plan.staleness import drift


@dataclass(frozen=True, slots=True)
class PlanDrift:
    """What moved since the plan made at ``created`` (ISO 8601 UTC), other than by that plan."""

    created: str
    items: tuple[DriftItem, ...]


def drift_since(plan: Plan, inventory: Inventory) -> PlanDrift:
    """Compare an inventory with what a plan was made for and would have made of it."""
    named = (inventory.hosts, inventory.vms, inventory.pools, inventory.clusters)
    names = dict(plan.names) | {item.moid: item.name for items in named for item in items}
    return PlanDrift(
        plan.created,
        tuple(
            replace(item, was=_named(item.was, names), now=_named(item.now, names))
            for item in drift(plan, inventory)
        ),
    )


def _named(value: Fact, names: Mapping[str, str]) -> Fact:
    if isinstance(value, str):
        return names.get(value, value)
    return tuple(names.get(item, item) for item in value) if isinstance(value, tuple) else value
