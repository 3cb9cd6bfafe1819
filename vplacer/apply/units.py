"""What is done as one: VMs whose changes wait for each other, with all that they disturb meanwhile.

Most units are one VM. VMs that exchange cards are one unit, since each can only be changed while the
other is off. A unit that disturbs running VMs takes its hosts and anti-affinity groups for itself, from
the first VM off to the last one on; it begins when everything it waits for is done, so that no VM is off
longer than its own steps take.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property

from vplacer.apply.steps import disrupts, steps_by_vm
from vplacer.inventory.vcenter import Inventory
from vplacer.plan.changes import Clone, Power, Relocate
from vplacer.plan.model import Plan, Step
from vplacer.request.naming import matching


@dataclass(frozen=True, slots=True)
class Unit:
    """VMs that are changed as one.

    ``steps`` in an order that fits their dependencies. ``needs``: ids of steps of other units that must
    be done; ``after``: units that must be done whole. ``resources``: hosts and anti-affinity groups that
    it disturbs; empty = it disturbs nothing that runs. ``disrupted``: the VMs it disturbs.
    """

    index: int
    vms: tuple[str, ...]
    steps: tuple[Step, ...]
    after: frozenset[int]
    resources: frozenset[str]
    disrupted: frozenset[str]


class Units:
    """The units of a plan, in an order that fits their dependencies."""

    def __init__(self, units: tuple[Unit, ...]) -> None:
        self.units = units

    @cached_property
    def of_vm(self) -> dict[str, Unit]:
        """Units by VM."""
        return {vm: unit for unit in self.units for vm in unit.vms}

    @cached_property
    def dependents(self) -> dict[int, frozenset[int]]:
        """All units that wait for a unit, directly or not."""
        found: dict[int, set[int]] = {unit.index: set() for unit in self.units}
        for unit in reversed(self.units):
            for before in unit.after:
                found[before] |= {unit.index, *found[unit.index]}
        return {index: frozenset(items) for index, items in found.items()}


def make_units(
    steps: Iterable[Step], groups: Mapping[str, frozenset[str]], hosts: Mapping[str, str]
) -> Units:
    """Divide steps into units.

    Args:
        steps: in an order that fits their dependencies.
        groups: anti-affinity groups: VMs by the group's name.
        hosts: the host each VM is on today.
    """
    import networkx as nx

    ordered = tuple(steps)
    by_vm = steps_by_vm(ordered)
    vm_of = {step.id: step.vm for step in ordered}
    graph: nx.DiGraph[str] = nx.DiGraph()
    graph.add_nodes_from(by_vm)
    for step in ordered:
        graph.add_edges_from(
            (vm_of[name], step.vm) for name in step.depends_on if name in vm_of and vm_of[name] != step.vm
        )
    place = {vm: index for index, vm in enumerate(by_vm)}
    condensed = nx.condensation(graph)
    members = {
        node: sorted(data["members"], key=place.__getitem__) for node, data in condensed.nodes(data=True)
    }
    order = nx.lexicographical_topological_sort(condensed, key=lambda node: place[members[node][0]])
    index_of: dict[int, int] = {}
    units = []
    for index, node in enumerate(order):
        index_of[node] = index
        vms = tuple(members[node])
        own = [step for step in ordered if step.vm in members[node]] if len(vms) > 1 else by_vm[vms[0]]
        disrupted = frozenset(step.vm for step in own if disrupts(step.change))
        resources = {f"host {host}" for vm in disrupted for host in _hosts(by_vm[vm], hosts.get(vm))}
        resources |= {f"rule {name}" for name, those in groups.items() if disrupted & those}
        after = frozenset(index_of[before] for before in condensed.predecessors(node))
        units.append(Unit(index, vms, tuple(own), after, frozenset(resources), disrupted))
    return Units(tuple(units))


def _hosts(steps: Iterable[Step], today: str | None) -> set[str]:
    """The hosts on which the steps of a VM disturb it."""
    found = {today} if today is not None else set()
    for step in steps:
        if isinstance(step.change, Relocate):
            found |= {step.change.host_before, step.change.host_after}
        elif isinstance(step.change, Power) and step.change.host is not None:
            found.add(step.change.host)
    return found


def apart_groups(plan: Plan, inventory: Inventory) -> dict[str, frozenset[str]]:
    """Return the groups of VMs that stand in for each other: rules apart, of the request and of DRS."""
    names = {vm.moid: vm.name for vm in inventory.vms if not vm.template}
    made = {step.vm: step.change.name for step in plan.steps if isinstance(step.change, Clone)}
    everyone = {**names, **made}
    found = {}
    for index, words in enumerate(_apart_words(plan)):
        fitting = frozenset().union(*(matching(word, everyone.values()) for word in words)) | frozenset(words)
        found[f"{index + 1} of the request"] = frozenset(
            vm for vm, name in everyone.items() if name in fitting or vm in fitting
        )
    for cluster in inventory.clusters:
        for rule in cluster.vm_vm_rules:
            if rule.enabled and rule.apart and len(rule.vms) > 1:
                found[f"{cluster.name}: {rule.name}"] = frozenset(rule.vms)
    return found


def _apart_words(plan: Plan) -> list[list[str]]:
    """The names and patterns of each rule apart of the request."""
    document = json.loads(plan.request.document or "null")
    rules = document.get("rules") if isinstance(document, dict) else None
    found = []
    for rule in rules if isinstance(rules, list) else []:
        words = rule.get("apart") if isinstance(rule, dict) else None
        if isinstance(words, str):
            found.append([words])
        elif isinstance(words, list):
            found.append([word for word in words if isinstance(word, str)])
    return found
