"""The state of a simulated vCenter: what it would tell, and what only it knows."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

from vplacer.inventory.site import Site, SiteExtras
from vplacer.inventory.vcenter import Inventory
from vplacer.inventory.vm import Vm


@dataclass(frozen=True, slots=True)
class Home:
    """Where a running VM is: its pNUMA nodes, the share of local memory, NUMA migrations so far.

    None = esxtop does not tell.
    """

    nodes: tuple[int, ...]
    locality_percent: int | None = None
    migrations: int | None = None


@dataclass(frozen=True)
class LabState:
    """An immutable state. A change makes a new one.

    ``inventory`` is what vCenter tells; ``extras`` what it does not: which card backs which device of
    a running VM, which sets of cards a device group may take, where ESXi keeps floating VMs.
    """

    inventory: Inventory
    extras: SiteExtras = field(default_factory=SiteExtras)

    @cached_property
    def _homes(self) -> dict[str, tuple[int, ...]]:
        return dict(self.extras.homes)

    def home(self, vm: Vm) -> Home | None:
        """Return where a VM is, as a measurement would find it; None = off, or nobody knows.

        A stated measurement comes first, then the place the site gives the VM, then the nodes its
        ``numa.nodeAffinity`` binds it to.
        """
        if not vm.is_on:
            return None
        if vm.measured_home is not None:
            measured = vm.measured_home
            return Home(measured.nodes, measured.locality_percent, measured.migrations)
        nodes = self._homes.get(vm.moid) or vm.node_affinity
        return Home(nodes, 100, 0) if nodes else None


def seed_state(site: Site) -> LabState:
    """Return the state that a file describes, a snapshot or inventory YAML."""
    return LabState(site.inventory, site.extras)
