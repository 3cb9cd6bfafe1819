"""What views need beside the object itself: references, who belongs to whom, where things live."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from pyVmomi import vim

from vplacer.inventory.cluster import Cluster, ResourcePool
from vplacer.inventory.host import Host
from vplacer.inventory.moids import moid_order
from vplacer.inventory.vcenter import Inventory
from vplacer.inventory.vm import Vm
from vplacer.lab.model.state import LabState
from vplacer.lab.soap.views.drs_groups import GroupTable
from vplacer.lab.soap.wire.typetable import Ref

PORTGROUP_PREFIX = "dvportgroup-"


@dataclass(frozen=True, slots=True)
class ComputeUnit:
    """A cluster, or the compute resource of a host outside clusters (``cluster`` None then).

    Its members are for good, the values as they were at first: `World.hosts_of` has those of now.
    """

    moid: str
    name: str
    number: int
    cluster: Cluster | None
    datacenter: str
    hosts: tuple[Host, ...]
    root_pool: ResourcePool | None

    @property
    def ref(self) -> Ref:
        """The managed object."""
        cls: Any = vim.ComputeResource if self.cluster is None else vim.ClusterComputeResource
        return cls(self.moid)

    @property
    def browser(self) -> Ref:
        """Its environment browser."""
        return vim.EnvironmentBrowser(f"envbrowser-{self.number}")


@dataclass
class World:
    """Look-ups over the state of now. References to objects that the inventory lacks come out as None.

    Only VMs come and go while a site is served. ``state``: of the beginning. ``present``: tells the state
    of now, None = nothing changes. ``without_tools``: VMs in whose guest VMware Tools do not run.
    """

    state: LabState
    datacenters: tuple[tuple[str, str], ...] = field(init=False)
    group_tables: dict[str, GroupTable] = field(default_factory=dict)
    present: Callable[[], LabState] | None = None
    without_tools: frozenset[str] = frozenset()

    def __post_init__(self) -> None:
        found = tuple((d.moid, d.name) for d in self.inventory.datacenters)
        self.datacenters = found or (("datacenter-2", "ha-datacenter"),)

    @property
    def now(self) -> LabState:
        """The whole state of now. Takes the state machine's lock: not to be asked for under the store's."""
        return self.state if self.present is None else self.present()

    def put_vm(self, vm: Vm) -> frozenset[str]:
        """Add or replace a VM; return the places (see `vms_at`) where it is newly listed, or no longer."""
        old = self.vms.get(vm.moid)
        self.vms[vm.moid] = vm
        self._refs.setdefault(vm.moid, vim.VirtualMachine(vm.moid))
        before, after = set(_places(old) if old else ()), set(_places(vm))
        for place in before - after:
            self._vms_at[place].pop(vm.moid, None)
        for place in after - before:
            self._vms_at.setdefault(place, {})[vm.moid] = None
        return frozenset(before ^ after)

    def drop_vm(self, moid: str) -> frozenset[str]:
        """Remove a VM; return the places where it was listed."""
        places = _places(self.vms.pop(moid))
        self._refs.pop(moid, None)
        for place in places:
            self._vms_at[place].pop(moid, None)
        return frozenset(places)

    @cached_property
    def vms(self) -> dict[str, Vm]:
        """The VMs of now by managed object id."""
        return dict(self.inventory.vm_by_moid)

    @cached_property
    def hosts(self) -> dict[str, Host]:
        """The hosts of now by managed object id."""
        return dict(self.inventory.host_by_moid)

    @cached_property
    def clusters(self) -> dict[str, Cluster]:
        """The clusters of now by managed object id."""
        return dict(self.inventory.cluster_by_moid)

    def group_table(self, cluster: str) -> GroupTable:
        """Return what clients made of a cluster's DRS groups."""
        return self.group_tables.get(cluster, GroupTable())

    def hosts_of(self, unit: ComputeUnit) -> tuple[Host, ...]:
        """Return the hosts of a compute unit as they are now."""
        return tuple(self.hosts[host.moid] for host in unit.hosts)

    @property
    def inventory(self) -> Inventory:
        """What vCenter told at first: of VMs, hosts and clusters, see `vms`, `hosts` and `clusters`."""
        return self.state.inventory

    @cached_property
    def _refs(self) -> dict[str, Ref]:
        inventory = self.inventory
        refs: dict[str, Ref] = {moid: vim.Datacenter(moid) for moid, _ in self.datacenters}
        refs.update((h.moid, vim.HostSystem(h.moid)) for h in inventory.hosts)
        refs.update((v.moid, vim.VirtualMachine(v.moid)) for v in inventory.vms)
        refs.update((p.moid, vim.ResourcePool(p.moid)) for p in inventory.pools)
        refs.update((d.moid, vim.Datastore(d.moid)) for d in inventory.datastores)
        refs.update((n.moid, _network_ref(n.moid)) for n in inventory.networks)
        refs.update((u.moid, u.ref) for u in self.units)
        return refs

    def ref(self, moid: str | None) -> Ref | None:
        """Return the reference of a moid, or None where the inventory has no such object."""
        return None if moid is None else self._refs.get(moid)

    def refs(self, moids: Iterable[str]) -> list[Ref]:
        """Return the references of those moids that the inventory has."""
        return [self._refs[moid] for moid in moids if moid in self._refs]

    def datacenter_of(self, moid: str | None) -> str:
        """Return a datacenter's moid; the first one where it is not known."""
        known = [m for m, _ in self.datacenters]
        return moid if moid in known else known[0]

    @cached_property
    def units(self) -> tuple[ComputeUnit, ...]:
        """Clusters, then the compute resources of single hosts, numbered from 1."""
        roots = {p.owner: p for p in self.inventory.pools if p.parent is None}
        units: list[ComputeUnit] = []
        for cluster in self.inventory.clusters:
            hosts = tuple(h for h in self.inventory.hosts if h.cluster == cluster.moid)
            datacenter = self.datacenter_of(cluster.datacenter)
            root = roots.get(cluster.moid)
            units.append(
                ComputeUnit(cluster.moid, cluster.name, len(units) + 1, cluster, datacenter, hosts, root)
            )
        clusters = {c.moid for c in self.inventory.clusters}
        for host, moid in self._single_hosts(clusters):
            datacenter = self.datacenter_of(host.datacenter)
            units.append(
                ComputeUnit(moid, host.name, len(units) + 1, None, datacenter, (host,), roots.get(moid))
            )
        return tuple(units)

    def _single_hosts(self, clusters: set[str]) -> list[tuple[Host, str]]:
        """Pair hosts outside clusters with the owners of pools outside clusters.

        The inventory does not say whose compute resource is whose: a VM's host and pool do, and the rest
        are paired in order.
        """
        owners = {p.moid: p.owner for p in self.inventory.pools if p.owner not in clusters}
        single = [h for h in self.inventory.hosts if h.cluster not in clusters]
        names = {h.moid for h in single}
        paired: dict[str, str] = {}
        for vm in self.inventory.vms:
            if vm.host not in names or vm.host in paired or vm.pool not in owners:
                continue
            if owners[vm.pool] not in paired.values():
                paired[vm.host] = owners[vm.pool]
        left = sorted(set(owners.values()) - set(paired.values()), key=moid_order)
        for host in single:
            if host.moid not in paired:
                paired[host.moid] = left.pop(0) if left else f"domain-s{host.moid}"
        return [(host, paired[host.moid]) for host in single]

    @cached_property
    def unit_of_host(self) -> dict[str, ComputeUnit]:
        """Compute units by host."""
        return {host.moid: unit for unit in self.units for host in unit.hosts}

    @cached_property
    def unit_by_moid(self) -> dict[str, ComputeUnit]:
        """Compute units by their own moid."""
        return {unit.moid: unit for unit in self.units}

    def unit_of_vm(self, vm: Vm) -> ComputeUnit | None:
        """Return the compute unit a VM is in: its host's, else its pool's owner."""
        if vm.host in self.unit_of_host:
            return self.unit_of_host[vm.host]
        pool = self.inventory.pool_by_moid.get(vm.pool or "")
        return self.unit_by_moid.get(pool.owner) if pool else None

    @cached_property
    def _vms_at(self) -> dict[str, dict[str, None]]:
        found: dict[str, dict[str, None]] = {}
        for vm in self.inventory.vms:
            for place in _places(vm):
                found.setdefault(place, {})[vm.moid] = None
        return found

    def vms_at(self, place: str) -> list[Ref]:
        """Return the VMs of a host, directly in a pool, with files on a datastore, or on a network."""
        return self.refs(self._vms_at.get(place, ()))

    @cached_property
    def pools_by_parent(self) -> dict[str, list[Ref]]:
        """Pools directly below each pool."""
        found: dict[str, list[Ref]] = {}
        for pool in self.inventory.pools:
            if pool.parent is not None:
                found.setdefault(pool.parent, []).extend(self.refs([pool.moid]))
        return found

    @cached_property
    def hosts_of_datastore(self) -> dict[str, list[Host]]:
        """Hosts that mount each datastore."""
        found: dict[str, list[Host]] = {}
        for host in self.inventory.hosts:
            for moid in host.datastores:
                found.setdefault(moid, []).append(host)
        return found

    @cached_property
    def hosts_of_network(self) -> dict[str, list[Host]]:
        """Hosts that have each network."""
        found: dict[str, list[Host]] = {}
        for host in self.inventory.hosts:
            for moid in host.networks:
                found.setdefault(moid, []).append(host)
        return found

    def network_name(self, moid: str) -> str:
        """Return the name of a network, or its moid where the inventory lacks it."""
        return next((n.name for n in self.inventory.networks if n.moid == moid), moid)

    def datastore_name(self, moid: str) -> str:
        """Return the name of a datastore, or its moid where the inventory lacks it."""
        return next((d.name for d in self.inventory.datastores if d.moid == moid), moid)


def _places(vm: Vm) -> tuple[str, ...]:
    places = (vm.host, vm.pool, *vm.datastores, *vm.networks)
    return tuple(place for place in places if place is not None)


def _network_ref(moid: str) -> Any:
    cls: Any = vim.dvs.DistributedVirtualPortgroup if moid.startswith(PORTGROUP_PREFIX) else vim.Network
    return cls(moid)


def api_name(name: str) -> str:
    """Return a name as the API gives it: percent sign and both slashes escaped (ManagedEntity.name)."""
    return name.replace("%", "%25").replace("/", "%2f").replace("\\", "%5c")


def signed8(value: int) -> int:
    """Give an unsigned number the sign of an xsd:byte, as servers send it (govmomi #246)."""
    return value - 0x100 if value > 0x7F else value
