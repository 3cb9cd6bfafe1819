"""The state of a simulated vCenter: what it would tell, and what only it knows."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

from vplacer.inventory.host import Host
from vplacer.inventory.pci import PciAddress
from vplacer.inventory.site import EsxtopSeed, Site, SiteExtras
from vplacer.inventory.vcenter import Inventory
from vplacer.inventory.vm import Vm


@dataclass(frozen=True, slots=True)
class Home:
    """Where a running VM is: its pNUMA nodes, the share of local memory, NUMA migrations so far.

    The share varies from ``locality_low`` to ``locality_high`` percent. None = esxtop does not tell.
    """

    nodes: tuple[int, ...]
    locality_low: int | None = None
    locality_high: int | None = None
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

    @cached_property
    def _esxtop(self) -> dict[str, EsxtopSeed]:
        return dict(self.extras.esxtop)

    @cached_property
    def _esxcli_nodes(self) -> dict[tuple[str, PciAddress], int | None]:
        return {(host, address): node for host, address, node in self.extras.esxcli_nodes}

    def home(self, vm: Vm) -> Home | None:
        """Return where a VM is, as a measurement would find it; None = off, or nobody knows.

        A stated measurement comes first, then the place the site gives the VM, then the nodes its
        ``numa.nodeAffinity`` binds it to.
        """
        if not vm.is_on:
            return None
        seed = self._esxtop.get(vm.moid)
        if seed is not None:
            return Home(seed.nodes, seed.locality_low, seed.locality_high, seed.migrations)
        nodes = self._homes.get(vm.moid) or vm.node_affinity
        return Home(nodes, 100, 100, 0) if nodes else None

    def has_esxtop(self, host: str) -> bool:
        """Whether a host offers the esxtop service."""
        return host not in self.extras.no_esxtop

    def esxcli_node(self, host: Host, address: PciAddress) -> int | None:
        """Return the NUMA node that esxcli tells of a device; None = none."""
        if (host.moid, address) in self._esxcli_nodes:
            return self._esxcli_nodes[host.moid, address]
        return host.node_of(address)


def seed_state(site: Site) -> LabState:
    """Return the state that a file describes, a snapshot or inventory YAML."""
    return LabState(site.inventory, site.extras)
