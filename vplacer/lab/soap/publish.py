"""What changed in the state machine, put into the store: the views of the changed objects only."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import fields
from typing import Any

from pyVmomi import vim

from vplacer.inventory.cluster import Cluster
from vplacer.inventory.host import Host
from vplacer.inventory.vm import Vm
from vplacer.lab.model.tables import Changes, Tables
from vplacer.lab.soap.store import Lazy, Store
from vplacer.lab.soap.views import cluster as cluster_view
from vplacer.lab.soap.views.folders import Folders
from vplacer.lab.soap.views.host import Seen, host_objects
from vplacer.lab.soap.views.vm import snapshot_refs, vm_objects
from vplacer.lab.soap.views.world import World

_LIVELY = frozenset({"bindings", "pci_devices", "in_maintenance", "reboot_required"})
"""Fields of a host that tasks change; none of `_SETTLED` shows them."""
_SETTLED = frozenset({"hardware", "capability", "systemResources"})


class Publisher:
    """Keeps a store's views up with the state. To be called by one thread at a time."""

    def __init__(self, world: World, folders: Folders, store: Store) -> None:
        self._world = world
        self._folders = folders
        self._store = store

    def publish(self, changes: Changes, tables: Tables) -> None:
        """Show what changed. Waiting clients are woken when all of it is in."""
        with self._store.changed:
            places: set[str] = set()
            for moid in sorted(changes.gone):
                if moid in self._world.vms:
                    places |= self._remove(self._world.vms[moid])
            for moid in sorted(changes.vms):
                if moid in tables.vms:
                    places |= self._put_vm(tables.vms[moid])
            for moid in sorted(changes.hosts):
                self._put_host(tables.hosts[moid])
            for place in sorted(places):
                self._put_list(place)
            for moid in sorted(changes.clusters):
                self._put_cluster(tables.clusters[moid])
            for moid in sorted(changes.pools):
                self._put(cluster_view.pool_object(self._world, tables.pools[moid]))

    def refresh_cluster(self, moid: str) -> None:
        """Show a cluster's configuration anew: its DRS groups changed, which only the view knows."""
        with self._store.changed:
            self._put_configuration(self._world.clusters[moid])

    def _put(self, seen: Seen, kept: Iterable[str] = ()) -> None:
        """Set the properties that may differ: a value not built yet counts as different."""
        entry = self._store.find(seen.ref)
        if entry is None:
            return
        entry.answers = seen.answers
        for name, held in seen.props.items():
            same = name in kept if isinstance(held, Lazy) else entry.props.get(name) == held
            if not same:
                self._store.put(seen.ref, name, held)

    def _put_vm(self, vm: Vm) -> frozenset[str]:
        old = self._world.vms.get(vm.moid)
        places = self._world.put_vm(vm)
        if old is None:
            folder = self._folders.add(vm)
            for seen in vm_objects(self._world, vm, folder):
                self._store.add(seen.ref, seen.props, seen.answers)
            self._store.put(folder, "childEntity", self._folders.children(folder))
            return places
        this, *_snapshots = vm_objects(self._world, vm, self._folders.vm_folder(vm))
        self._put(this, kept=("snapshot",))
        return places

    def _remove(self, vm: Vm) -> frozenset[str]:
        folder = self._folders.remove(vm)
        places = self._world.drop_vm(vm.moid)
        self._store.put(folder, "childEntity", self._folders.children(folder))
        for ref in (vim.VirtualMachine(vm.moid), *snapshot_refs(vm)):
            self._store.remove(ref)
        return places

    def _put_host(self, host: Host) -> None:
        old = self._world.hosts[host.moid]
        if old is host:
            return
        self._world.hosts[host.moid] = host
        differing = _changed_fields(old, host)
        settled = _SETTLED if differing <= _LIVELY else frozenset[str]()
        for seen in host_objects(self._world, host):
            self._put(seen, settled)
        if differing & {"connection", "in_maintenance"}:
            unit = self._world.unit_of_host[host.moid]
            self._store.put(unit.ref, "summary", Lazy(lambda: cluster_view.unit_summary(self._world, unit)))

    def _put_list(self, place: str) -> None:
        ref = self._world.ref(place)
        if ref is not None and self._store.find(ref) is not None:
            self._store.put(ref, "vm", self._world.vms_at(place))

    def _put_cluster(self, cluster: Cluster) -> None:
        old = self._world.clusters[cluster.moid]
        self._world.clusters[cluster.moid] = cluster
        if old != cluster:
            self._put_configuration(cluster)

    def _put_configuration(self, cluster: Cluster) -> None:
        held = Lazy(lambda: cluster_view.configuration(self._world, cluster))
        self._store.put(self._world.ref(cluster.moid), "configurationEx", held)


def _changed_fields(before: Any, after: Any) -> frozenset[str]:
    return frozenset(
        field.name for field in fields(before) if getattr(before, field.name) != getattr(after, field.name)
    )
