"""A whole vCenter at one moment, and how complete the picture is."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

from vplacer.inventory.cluster import Cluster, Datastore, Network, ResourcePool
from vplacer.inventory.host import Host
from vplacer.inventory.vm import Vm


@dataclass(frozen=True, slots=True)
class About:
    """Who answered. ``api_version`` is the negotiated one."""

    name: str
    instance_uuid: str
    version: str
    build: str
    api_version: str


@dataclass(frozen=True, slots=True)
class Datacenter:
    """A datacenter."""

    moid: str
    name: str


@dataclass(frozen=True, slots=True, order=True)
class Gap:
    """Something that could not be read: the object, what of it, and why.

    ``kind``: permission | disconnected | fault | too_old.
    """

    object: str
    path: str
    kind: str
    reason: str


@dataclass(frozen=True)
class Inventory:
    """Everything read from one vCenter. Objects are ordered by managed object id (natural order).

    ``gaps`` not empty = incomplete: absence of an object then proves nothing.
    ``taken_at`` is ISO 8601 UTC with a trailing Z.
    """

    about: About
    taken_at: str
    datacenters: tuple[Datacenter, ...]
    clusters: tuple[Cluster, ...]
    hosts: tuple[Host, ...]
    pools: tuple[ResourcePool, ...]
    datastores: tuple[Datastore, ...]
    networks: tuple[Network, ...]
    vms: tuple[Vm, ...]
    gaps: tuple[Gap, ...] = ()
    notes: tuple[str, ...] = field(default=())

    @cached_property
    def host_by_moid(self) -> dict[str, Host]:
        """Hosts by managed object id."""
        return {host.moid: host for host in self.hosts}

    @cached_property
    def vm_by_moid(self) -> dict[str, Vm]:
        """VMs by managed object id."""
        return {vm.moid: vm for vm in self.vms}

    @cached_property
    def cluster_by_moid(self) -> dict[str, Cluster]:
        """Clusters by managed object id."""
        return {cluster.moid: cluster for cluster in self.clusters}

    @cached_property
    def pool_by_moid(self) -> dict[str, ResourcePool]:
        """Resource pools by managed object id."""
        return {pool.moid: pool for pool in self.pools}

    @cached_property
    def gaps_by_object(self) -> dict[str, tuple[Gap, ...]]:
        """Gaps by the object they are of; a gap of all objects of a type is of the type's name."""
        found: dict[str, list[Gap]] = {}
        for gap in self.gaps:
            found.setdefault(gap.object, []).append(gap)
        return {moid: tuple(gaps) for moid, gaps in found.items()}

    @cached_property
    def vms_by_host(self) -> dict[str, tuple[Vm, ...]]:
        """VMs by the host vCenter registers them on, powered off ones too."""
        found: dict[str, list[Vm]] = {}
        for vm in self.vms:
            if vm.host is not None:
                found.setdefault(vm.host, []).append(vm)
        return {host: tuple(vms) for host, vms in found.items()}

    @property
    def complete(self) -> bool:
        """Whether everything asked for was read."""
        return not self.gaps
