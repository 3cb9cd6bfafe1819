"""Demands that are alike are one class: the solver counts, it does not tell twins apart."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, replace

from vplacer.constraints.disturbance import NEW, AsItIs, Disturbance, as_it_is, disturbance
from vplacer.constraints.seating import Seating
from vplacer.constraints.state import Placement, Problem
from vplacer.inventory.vm import Vm
from vplacer.request.demand import Demand


@dataclass(frozen=True, slots=True)
class DemandClass:
    """Interchangeable demands.

    ``members`` are demand ids, sorted. ``vm`` is set for an existing VM, which is a class of its own;
    ``stay`` then is its placement of today if it already meets the demand, else None: it may still
    remain as it is, unplaced. ``today``: what of it need not be changed.
    """

    index: int
    members: tuple[str, ...]
    demand: Demand
    vm: Vm | None = None
    stay: Placement | None = None
    gang: str | None = None
    today: AsItIs = NEW

    @property
    def count(self) -> int:
        """How many VMs."""
        return len(self.members)

    @property
    def home(self) -> str | None:
        """The host an existing VM is on."""
        return self.vm.host if self.vm is not None else None

    def disturbed(self, host: str, seating: Seating) -> Disturbance:
        """Return what a seat on a host does to an existing VM."""
        return disturbance(self.vm, self.today, self.home == host, seating)


def build_classes(
    problem: Problem, today: Mapping[str, Placement], settled: frozenset[str] | set[str] = frozenset()
) -> tuple[DemandClass, ...]:
    """Group demands into classes, in the order of their smallest member id.

    Args:
        problem: the problem.
        today: placements of today of those existing VMs that meet their demand.
        settled: demand ids that are placed already and are not to be classed.
    """
    rules = problem.request.rules
    gang_of = {vm: gang.name for gang in rules.gangs for vm in gang.vms}
    marks: dict[str, list[str]] = defaultdict(list)
    for apart in rules.apart:
        for vm in apart.vms:
            marks[vm].append(f"apart:{apart.name}")
    for together in rules.together:
        for vm in together.vms:
            marks[vm].append(f"together:{together.name}")
    for on_hosts in rules.on_hosts:
        for vm in on_hosts.vms:
            marks[vm].append(f"hosts:{on_hosts.name}")
    groups: dict[object, list[Demand]] = defaultdict(list)
    for demand in problem.request.demands:
        if demand.id in settled:
            continue
        plain = replace(demand, id="", name="", source=None)
        key = (plain, demand.vm, gang_of.get(demand.id), tuple(sorted(marks[demand.id])))
        groups[key].append(demand)
    ordered = sorted((sorted(group, key=lambda d: d.id) for group in groups.values()), key=lambda g: g[0].id)
    classes = []
    for index, group in enumerate(ordered):
        first = group[0]
        existing = problem.inventory.vm_by_moid.get(first.vm) if first.vm is not None else None
        classes.append(
            DemandClass(
                index=index,
                members=tuple(d.id for d in group),
                demand=first,
                vm=existing,
                stay=today.get(first.id),
                gang=gang_of.get(first.id),
                today=as_it_is(problem, first),
            )
        )
    return tuple(classes)
