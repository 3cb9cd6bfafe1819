"""What a ContainerView holds: the objects below a container, as the inventory's properties lead to them."""

from __future__ import annotations

from typing import Any

from pyVmomi import vim

from vplacer.lab.soap.store import Store, Withheld
from vplacer.lab.soap.wire import typetable
from vplacer.lab.soap.wire.typetable import Ref, Value

# The documented paths (vSphere API: ContainerView), downwards only: by parents instead, the VMs of a
# cluster's view were missing.
_DOWNWARDS: tuple[tuple[Any, tuple[str, ...]], ...] = (
    (vim.Folder, ("childEntity",)),
    (vim.Datacenter, ("vmFolder", "hostFolder", "datastoreFolder", "networkFolder")),
    (vim.ComputeResource, ("host", "resourcePool")),
    (vim.ResourcePool, ("resourcePool", "vm")),
    (vim.HostSystem, ("vm",)),
)
CONTAINER_PROPERTIES = frozenset(name for _, names in _DOWNWARDS for name in names)


def contained(store: Store, container: Ref, types: tuple[Any, ...], recursive: bool) -> Value:
    """List the objects below a container, of the given classes if any are given."""
    found: dict[str, Ref] = {}
    todo = [container]
    with store.changed:
        while todo:
            parent = todo.pop()
            children = [ref for ref in _children(store, parent) if typetable.moid(ref) not in found]
            found.update((typetable.moid(ref), ref) for ref in children)
            if recursive:
                todo.extend(reversed(children))
    wanted = [ref for ref in found.values() if not types or isinstance(ref, types)]
    return typetable.array_of(typetable.ManagedObject, wanted)


def _children(store: Store, parent: Ref) -> list[Ref]:
    entry = store.find(parent)
    if entry is None:
        return []
    children: list[Ref] = []
    for cls, names in _DOWNWARDS:
        if not isinstance(entry.ref, cls):
            continue
        for name in names:
            try:
                value = entry.get(name)
            except Withheld:
                continue
            refs = value if isinstance(value, list) else [] if value is None else [value]
            children.extend(ref for ref in refs if store.find(ref) is not None)
    return children
