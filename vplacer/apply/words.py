"""Objects and fields as people know them: names for managed object ids, words for fields.

Where several VMs have one name, the id stands beside it. An id of which nobody knows the name stays.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from vplacer.apply.compare import Difference, shown
from vplacer.apply.steps import vm_name
from vplacer.inventory.vcenter import Inventory
from vplacer.plan.model import Fact, ObjectKind, Plan, Step
from vplacer.plan.observed import EXTRA_PREFIX
from vplacer.plan.staleness import StaleField

_FIELDS: Mapping[str, str] = {
    "cpus": "vCPUs",
    "drs_override": "DRS level of its own",
    "has_snapshots": "has snapshots",
    "memory_limit_mib": "memory limit in MiB",
    "memory_mib": "memory in MiB",
    "memory_reserved_mib": "reserved memory in MiB",
    "pool": "resource pool",
    "power": "power state",
    "running": "running VMs",
}
_POWER: Mapping[Fact, str] = {"poweredOn": "on", "poweredOff": "off", "suspended": "suspended"}
_HOLD_IDS = frozenset({"host", "pool", "cluster", "running", "devices"})
"""Fields whose values are managed object ids, or texts with some among their words."""


class Words:
    """Says things about a plan. ``inventory``: where names are looked up that the plan does not have."""

    def __init__(self, plan: Plan, inventory: Inventory | None = None) -> None:
        self._plan = plan
        self._names: dict[str, str] = {}
        if inventory is not None:
            self.learn(inventory)

    def learn(self, inventory: Inventory) -> None:
        """Take names from an inventory."""
        found: list[tuple[str, str]] = []
        for part in (inventory.vms, inventory.hosts, inventory.clusters, inventory.pools, inventory.networks):
            found += [(item.moid, item.name) for item in part]
        self._names |= dict(found)

    def vm(self, vm: str) -> str:
        """Return the name of a VM of the plan."""
        name = vm_name(self._plan, vm)
        return self.name(vm) if name == vm else name

    def name(self, moid: str) -> str:
        """Return the name of an object, or its id."""
        name = self._plan.name(moid)
        return self._names.get(moid, moid) if name == moid else name

    def step(self, step: Step) -> str:
        """Return whose step it is and of which kind."""
        return f"{self.vm(step.vm)} ({step.kind.value.replace('_', ' ')})"

    def field(self, field: str) -> str:
        """Return what a field is called."""
        if field.startswith(EXTRA_PREFIX):
            return field.removeprefix(EXTRA_PREFIX)
        return _FIELDS.get(field, field.replace("_", " "))

    def value(self, field: str, value: Fact) -> str:
        """Return a field's value."""
        if field == "power" and value in _POWER:
            return _POWER[value]
        text = shown(value)
        return re.sub(r"[^\s;()]+", lambda word: self.name(word[0]), text) if field in _HOLD_IDS else text

    def differs(self, difference: Difference) -> str:
        """Say of a field what it is, and what it must be."""
        if difference.field == "exists":
            return "it is gone" if difference.expected is True else "it exists already"
        return self._two(difference.field, difference.expected, difference.found, "not")

    def moved(self, field: str, was: Fact, found: Fact) -> str:
        """Say of a field what it is, and what it was; of lists what came and went."""
        if field == "exists":
            return "it is gone" if was is True else "it exists already"
        return self._two(field, was, found, "was")

    def all_moved(self, items: Iterable[tuple[str, Fact, Fact]]) -> str:
        """Say it of several fields: name, value before, value found."""
        return "; ".join(self.moved(*item) for item in items)

    def stale(self, item: StaleField) -> str:
        """Say what moved of an object since the plan was made."""
        name = (
            self.vm(item.object) if item.kind is ObjectKind.VM and item.object in self._names else item.name
        )
        if item.field == "exists":
            return f"{item.kind.value} {name} " + ("is gone" if item.expected is True else "exists already")
        text = f"{item.kind.value} {name}: {self.moved(item.field, item.expected, item.found)}"
        return f"{text} ({item.detail})" if item.detail else text

    def _two(self, field: str, one: Fact, found: Fact, relation: str) -> str:
        if isinstance(one, tuple) and isinstance(found, tuple):
            gone, came = _less(one, found), _less(found, one)
            parts = [f"{self.value(field, tuple(gone))} gone"] if gone else []
            parts += [f"{self.value(field, tuple(came))} new"] if came else []
            return f"{self.field(field)}: {', '.join(parts) or 'in another order'}"
        return f"{self.field(field)} is {self.value(field, found)}, {relation} {self.value(field, one)}"


def _less(items: tuple[str, ...], others: tuple[str, ...]) -> list[str]:
    """Return the items without those that are among the others too, each as often as it is."""
    left = list(others)
    found = []
    for item in items:
        if item in left:
            left.remove(item)
        else:
            found.append(item)
    return found
