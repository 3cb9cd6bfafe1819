"""Moves and clones: where a VM is to be."""

from __future__ import annotations

from typing import Any

from vplacer.plan.changes import Clone
from vplacer.vsphere.data_objects import make
from vplacer.vsphere.raw import MoRef


def encode_relocate(host: MoRef, pool: MoRef | None) -> Any:
    """Return the spec of a move to another host; the disks stay where they are.

    Args:
        host: where it goes.
        pool: the resource pool it is to be in; None = it stays in its own, which is the host's too.
    """
    return make("VirtualMachineRelocateSpec", host=host, pool=pool)


def encode_clone(change: Clone, host: MoRef, pool: MoRef) -> Any:
    """Return the spec of a clone: a VM, switched off. A template has no pool, so that one is always named.

    Args:
        change: the clone.
        host: where it is made.
        pool: the resource pool it is in.
    """
    datastore = MoRef("Datastore", change.datastore) if change.datastore is not None else None
    location = make("VirtualMachineRelocateSpec", host=host, pool=pool, datastore=datastore)
    return make("VirtualMachineCloneSpec", location=location, template=False, powerOn=False)
