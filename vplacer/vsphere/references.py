"""References from managed object ids alone: the id's prefix tells the type."""

from __future__ import annotations

from typing import Final

from vplacer.vsphere.raw import MoRef

_TYPES: Final = (
    ("domain-c", "ClusterComputeResource"),
    ("domain-s", "ComputeResource"),
    ("host-", "HostSystem"),
    ("resgroup-v", "VirtualApp"),
    ("resgroup-", "ResourcePool"),
    ("resourcepool-", "ResourcePool"),
    ("datastore-", "Datastore"),
    ("datacenter-", "Datacenter"),
    ("group-", "Folder"),
)


def ref_of(moid: str) -> MoRef:
    """Return the reference of an object of the inventory; an id of no known form is taken for a VM's."""
    kind = next((kind for prefix, kind in _TYPES if moid.startswith(prefix)), "VirtualMachine")
    return MoRef(kind, moid)
