"""The placement state: what the judge looks at, and what the solver hands over."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property
from typing import Any, Concatenate, ParamSpec, TypeVar

from vplacer.inventory.pci import PciAddress
from vplacer.inventory.vcenter import Inventory
from vplacer.inventory.vm import Vm
from vplacer.request.demand import BoundBy, Demand, ResolvedRequest
from vplacer.topology.host_topology import HostTopology

P = ParamSpec("P")
T = TypeVar("T")
Of = TypeVar("Of")

_MISSING: Any = object()


def _once(
    kept: dict[Hashable, Any],
    make: Callable[Concatenate[Of, P], T],
    of: Of,
    *args: P.args,
    **kwargs: P.kwargs,
) -> T:
    key = (make, args, tuple(sorted(kwargs.items()))) if kwargs else (make, args)
    found: T = kept.get(key, _MISSING)
    if found is _MISSING:
        found = kept[key] = make(of, *args, **kwargs)
    return found


def of_one_host(make: T) -> T:
    """Mark a fact that looks at one host or VM, its topology and the VMs on it, and nothing else.

    Such facts hold in any part of the inventory that the host and those VMs are in: see `Problem.part`.
    """
    make.of_one_host = True  # type: ignore[attr-defined]
    return make


class Confidence(StrEnum):
    """How sure a violation is."""

    PROVED = "proved"
    LIKELY = "likely"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class DeviceAssignment:
    """One device of a placed demand.

    ``ask``: "gpu" or "nic" and ``index`` into the demand's list. ``address``: the card bound
    (static, label: any card the label allows on the node) or, with ``bound_by`` platform, a witness
    that capacity suffices, which promises nothing about the card the VM will get. For a device
    group one assignment a member card, sharing ``group`` (a number within the placement).
    """

    ask: str
    index: int
    address: PciAddress
    bound_by: BoundBy
    label: str | None = None
    group: int | None = None


@dataclass(frozen=True, slots=True)
class Placement:
    """Where a demand goes.

    ``nodes``: pNUMA nodes written to numa.nodeAffinity, each taking an equal part of vCPUs and
    memory; empty = floating (mode hint). ``stays`` True = the VM is left exactly as it is today.
    """

    demand: str
    host: str
    nodes: tuple[int, ...]
    devices: tuple[DeviceAssignment, ...] = ()
    stays: bool = False


@dataclass(frozen=True, slots=True)
class Violation:
    """One constraint that one object breaks.

    ``constraint`` is the registry id; ``object`` the demand id or moid; ``host`` where it happens;
    ``evidence`` is a sentence with the figures; ``numbers`` the figures as data.
    """

    constraint: str
    object: str
    evidence: str
    confidence: Confidence = Confidence.PROVED
    host: str | None = None
    numbers: tuple[tuple[str, int], ...] = ()


@dataclass(frozen=True)
class Problem:
    """Everything a decision is made from: inventory, topology of every host, the resolved request."""

    inventory: Inventory
    topologies: Mapping[str, HostTopology]
    request: ResolvedRequest
    _derived: dict[Hashable, Any] = field(default_factory=dict, init=False, repr=False, compare=False)
    _facts: dict[Hashable, Any] = field(default_factory=dict, init=False, repr=False, compare=False)
    _whole: Problem | None = field(default=None, init=False, repr=False, compare=False)

    def derive(self, make: Callable[Concatenate[Problem, P], T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Return ``make(self, ...)``, computed once: ``make`` is a pure function, its arguments hashable."""
        return _once(self._derived, make, self, *args, **kwargs)

    def derive_fact(self, make: Callable[Concatenate[Problem, P], T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Return `derive`'s answer, shared with the problems of `with_request`.

        ``make`` looks at the inventory and the topologies alone, not at the request.
        """
        if self._whole is not None and getattr(make, "of_one_host", False):
            return self._whole.derive_fact(make, *args, **kwargs)
        return _once(self._facts, make, self, *args, **kwargs)

    def with_request(self, request: ResolvedRequest) -> Problem:
        """Return the problem of another request on the same inventory; what was derived of that is kept."""
        other = Problem(self.inventory, self.topologies, request)
        object.__setattr__(other, "_facts", self._facts)
        object.__setattr__(other, "_whole", self._whole)
        return other

    def part(self, inventory: Inventory, request: ResolvedRequest) -> Problem:
        """Return the problem of some hosts of the inventory, as they are and with the same VMs.

        Facts of single hosts and VMs are those of the whole.
        """
        topologies = {h.moid: self.topologies[h.moid] for h in inventory.hosts if h.moid in self.topologies}
        other = Problem(inventory, topologies, request)
        object.__setattr__(other, "_whole", self)
        return other

    @cached_property
    def demand_by_id(self) -> dict[str, Demand]:
        """Demands by id."""
        return {demand.id: demand for demand in self.request.demands}

    @cached_property
    def demanded_vms(self) -> frozenset[str]:
        """Moids of existing VMs that are demands."""
        return frozenset(demand.vm for demand in self.request.demands if demand.vm is not None)


@dataclass(frozen=True)
class State:
    """A problem with an answer: the placements made, at most one a demand.

    An existing VM that is a demand but has no placement stays as it is today and goes on consuming
    what it holds; a new VM without one does not exist.
    """

    problem: Problem
    placements: tuple[Placement, ...]
    _derived: dict[Hashable, Any] = field(default_factory=dict, init=False, repr=False, compare=False)

    def derive(self, make: Callable[Concatenate[State, P], T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Return ``make(self, ...)``, computed once: ``make`` is a pure function, its arguments hashable."""
        return _once(self._derived, make, self, *args, **kwargs)

    @cached_property
    def placement_by_demand(self) -> dict[str, Placement]:
        """Placements by demand id."""
        return {placement.demand: placement for placement in self.placements}

    @cached_property
    def placements_by_host(self) -> dict[str, tuple[Placement, ...]]:
        """Placements that change or make a VM, by host moid."""
        found: dict[str, list[Placement]] = {}
        for placement in self.placements:
            if not placement.stays:
                found.setdefault(placement.host, []).append(placement)
        return {host: tuple(items) for host, items in found.items()}

    @cached_property
    def all_placements_by_host(self) -> dict[str, tuple[Placement, ...]]:
        """All placements by host moid, those of VMs that stay too."""
        found: dict[str, list[Placement]] = {}
        for placement in self.placements:
            found.setdefault(placement.host, []).append(placement)
        return {host: tuple(items) for host, items in found.items()}

    @cached_property
    def standing_by_host(self) -> dict[str, tuple[Vm, ...]]:
        """Existing VMs that stay as they are, by host: all but those placed anew. Templates excluded."""
        moved = {placement.demand for placement in self.placements if not placement.stays}
        found: dict[str, list[Vm]] = {}
        for vm in self.problem.inventory.vms:
            if vm.host is not None and not vm.template and vm.moid not in moved:
                found.setdefault(vm.host, []).append(vm)
        return {host: tuple(vms) for host, vms in found.items()}
