"""Datacenters and folders. An inventory keeps the path of a VM's folder only; the folders are made here."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from pyVmomi import vim

from vplacer.inventory.vm import Vm
from vplacer.lab.soap.views.host import Seen
from vplacer.lab.soap.views.world import World, api_name
from vplacer.lab.soap.wire.typetable import Ref

_VM_ROOT = "vm"
_STATUS = {"overallStatus": "green", "configStatus": "green"}


@dataclass(slots=True)
class _Folder:
    ref: Ref
    name: str
    parent: Ref
    child_types: list[Any]
    children: list[Ref] = field(default_factory=list)

    def seen(self) -> Seen:
        return Seen(
            self.ref,
            {
                "name": api_name(self.name),
                "parent": self.parent,
                "childType": self.child_types,
                "childEntity": self.children,
                **_STATUS,
            },
        )


class Folders:
    """The folder tree of a world, filled with what belongs in each folder."""

    root = vim.Folder("group-d1")

    def __init__(self, world: World) -> None:
        self._world = world
        self._made = 0
        self._vm: dict[tuple[str, str], _Folder] = {}
        self._host: dict[str, _Folder] = {}
        self._datastore: dict[str, _Folder] = {}
        self._network: dict[str, _Folder] = {}
        self._datastore_home: dict[str, _Folder] = {}
        self._network_home: dict[str, _Folder] = {}
        for moid, _ in world.datacenters:
            datacenter = vim.Datacenter(moid)
            entity = vim.Folder
            self._vm[moid, _VM_ROOT] = self._make("v", _VM_ROOT, datacenter, [entity, vim.VirtualMachine])
            self._host[moid] = self._make("h", "host", datacenter, [entity, vim.ComputeResource])
            self._datastore[moid] = self._make("s", "datastore", datacenter, [entity, vim.Datastore])
            self._network[moid] = self._make("n", "network", datacenter, [entity, vim.Network])
        self._fill()

    def host_folder(self, datacenter: str) -> Ref:
        """Return the folder of a datacenter's clusters and hosts."""
        return self._host[datacenter].ref

    def datastore_folder(self, moid: str) -> Ref:
        """Return the folder a datastore is in."""
        return self._datastore_home[moid].ref

    def network_folder(self, moid: str) -> Ref:
        """Return the folder a network is in."""
        return self._network_home[moid].ref

    def vm_folder(self, vm: Vm) -> Ref:
        """Return the folder a VM is in."""
        return self._folder_of(vm).ref

    def add(self, vm: Vm) -> Ref:
        """Put a new VM into its folder, which exists; return the folder."""
        folder = self._folder_of(vm)
        folder.children = [*folder.children, self._world.ref(vm.moid)]
        return folder.ref

    def remove(self, vm: Vm) -> Ref:
        """Take a VM out of its folder; return the folder."""
        folder = self._folder_of(vm)
        folder.children = [ref for ref in folder.children if ref._moId != vm.moid]
        return folder.ref

    def children(self, folder: Ref) -> list[Ref]:
        """List what is in a VM folder."""
        return next(f.children for f in self._vm.values() if f.ref == folder)

    def path_of(self, folder: Ref) -> tuple[str, str] | None:
        """Return the datacenter and the path (``vm/templates``) of a VM folder; None = it is none."""
        return next((key for key, found in self._vm.items() if found.ref == folder), None)

    def objects(self) -> Iterator[Seen]:
        """Yield the root folder, the datacenters and all other folders."""
        datacenters = [vim.Datacenter(moid) for moid, _ in self._world.datacenters]
        yield _Folder(self.root, "Datacenters", None, [vim.Folder, vim.Datacenter], datacenters).seen()
        for moid, name in self._world.datacenters:
            yield Seen(
                vim.Datacenter(moid),
                {
                    "name": api_name(name),
                    "parent": self.root,
                    "vmFolder": self._vm[moid, _VM_ROOT].ref,
                    "hostFolder": self._host[moid].ref,
                    "datastoreFolder": self._datastore[moid].ref,
                    "networkFolder": self._network[moid].ref,
                    "datastore": self._datastore[moid].children,
                    "network": self._network[moid].children,
                    **_STATUS,
                },
            )
        for group in (self._vm, self._host, self._datastore, self._network):
            for folder in group.values():
                yield folder.seen()

    def _fill(self) -> None:
        world, inventory = self._world, self._world.inventory
        for unit in world.units:
            self._host[unit.datacenter].children.append(unit.ref)
        for datastore in inventory.datastores:
            hosts = world.hosts_of_datastore.get(datastore.moid, [])
            home = self._datastore[world.datacenter_of(hosts[0].datacenter if hosts else None)]
            self._datastore_home[datastore.moid] = home
            home.children.extend(world.refs([datastore.moid]))
        for network in inventory.networks:
            hosts = world.hosts_of_network.get(network.moid, [])
            home = self._network[world.datacenter_of(hosts[0].datacenter if hosts else None)]
            self._network_home[network.moid] = home
            home.children.extend(world.refs([network.moid]))
        for vm in inventory.vms:
            self._folder_of(vm).children.extend(world.refs([vm.moid]))

    def _folder_of(self, vm: Vm) -> _Folder:
        """Return a VM's folder, made on the way down where it is not there yet.

        The path begins with the datacenter's VM folder, as ``vm/templates``.
        """
        datacenter = self._world.datacenter_of(vm.datacenter)
        parts = [part for part in vm.folder.split("/") if part]
        if parts[:1] == [_VM_ROOT]:
            parts = parts[1:]
        folder, path = self._vm[datacenter, _VM_ROOT], _VM_ROOT
        for part in parts:
            path = f"{path}/{part}"
            below = self._vm.get((datacenter, path))
            if below is None:
                below = self._make("v", part, folder.ref, [vim.Folder, vim.VirtualMachine])
                self._vm[datacenter, path] = below
                folder.children.append(below.ref)
            folder = below
        return folder

    def _make(self, letter: str, name: str, parent: Ref, child_types: list[Any]) -> _Folder:
        # group-d1 is the root; no other object of an inventory is called group-.
        self._made += 1
        return _Folder(vim.Folder(f"group-{letter}{self._made + 1}"), name, parent, child_types)
