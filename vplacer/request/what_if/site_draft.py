"""An inventory in the making: what is added and removed, and what is told of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace

from vplacer.inventory.cluster import Cluster, ResourcePool
from vplacer.inventory.host import Host
from vplacer.inventory.moids import moid_order
from vplacer.inventory.overlay import Overlay
from vplacer.inventory.vcenter import Inventory
from vplacer.inventory.vm import Vm


@dataclass(frozen=True)
class ChangedSite:
    """A site as it might be.

    ``changes``: a sentence each. ``displaced``: VMs that run on hosts that are gone and need a place; in
    the inventory they are on no host.
    """

    inventory: Inventory
    overlays: tuple[Overlay, ...]
    changes: tuple[str, ...]
    displaced: tuple[Vm, ...]


@dataclass
class SiteDraft:
    """The parts of an inventory that change; whatever is not named here stays."""

    original: Inventory
    overlays: list[Overlay]
    changes: list[str] = field(default_factory=list)
    displaced: list[Vm] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.hosts = {host.moid: host for host in self.original.hosts}
        self.vms = {vm.moid: vm for vm in self.original.vms}
        self.pools = {pool.moid: pool for pool in self.original.pools}
        self.clusters = {cluster.moid: cluster for cluster in self.original.clusters}

    def inventory(self) -> Inventory:
        """Return the inventory as it stands now."""
        return replace(
            self.original,
            hosts=tuple(sorted(self.hosts.values(), key=lambda host: moid_order(host.moid))),
            vms=tuple(sorted(self.vms.values(), key=lambda vm: moid_order(vm.moid))),
            pools=tuple(self.pools.values()),
            clusters=tuple(self.clusters.values()),
        )

    def done(self) -> ChangedSite:
        """Return the changed site."""
        return ChangedSite(self.inventory(), tuple(self.overlays), tuple(self.changes), tuple(self.displaced))

    def new_moid(self, prefix: str) -> str:
        """Return an id that no object has, and that sorts behind those vCenter gave."""
        known = {**self.hosts, **self.vms}
        number = 1
        while f"{prefix}-new-{number}" in known:
            number += 1
        return f"{prefix}-new-{number}"

    def change_hosts(self, change: Callable[[Host], Host]) -> None:
        """Change every host."""
        self.hosts = {moid: change(host) for moid, host in self.hosts.items()}

    def change_clusters(self, change: Callable[[Cluster], Cluster]) -> None:
        """Change every cluster."""
        self.clusters = {moid: change(cluster) for moid, cluster in self.clusters.items()}

    def reserve(self, pool: str | None, mib: int) -> None:
        """Take memory from a resource pool and those above it; a negative amount gives it back."""
        seen: set[str] = set()
        at = pool
        while at is not None and at in self.pools and at not in seen:
            seen.add(at)
            self._add(at, -mib)
            at = self.pools[at].parent

    def widen(self, cluster: str | None, mib: int) -> None:
        """Give a cluster's root pool more memory, and with it the pools that may draw on it."""
        roots = [p.moid for p in self.pools.values() if p.owner == cluster and p.parent not in self.pools]
        for root in roots:
            self._add(root, mib)
            self._widen_children(root, mib)

    def _widen_children(self, parent: str, mib: int) -> None:
        for pool in [p for p in self.pools.values() if p.parent == parent]:
            if pool.memory_expandable and pool.memory_limit_mib in (None, -1):
                self._add(pool.moid, mib)
                self._widen_children(pool.moid, mib)

    def _add(self, moid: str, mib: int) -> None:
        pool: ResourcePool = self.pools[moid]
        if pool.memory_unreserved_mib is not None:
            self.pools[moid] = replace(pool, memory_unreserved_mib=pool.memory_unreserved_mib + mib)


def plural(number: int, word: str) -> str:
    """Return "1 host", "2 hosts"."""
    return f"{number} {word}" if number == 1 else f"{number} {word}s"


def names_of(things: Iterable[Host | Vm]) -> str:
    """Return the names of hosts or VMs."""
    return " ".join(thing.name for thing in things)
