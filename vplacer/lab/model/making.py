"""CloneVM, Destroy, UpgradeVM."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace

from vplacer.constraints.filters.hardware_version import limits_of
from vplacer.inventory.host import ConnectionState
from vplacer.inventory.limits_table import FIRST_WITH_VNUMA
from vplacer.inventory.site_names import stable_uuid
from vplacer.inventory.vm import DynamicBacking, Ownership, Vm, VmPower
from vplacer.lab.model.admission import host_faults
from vplacer.lab.model.faults import LabFault, invalid_argument, invalid_power_state, not_found
from vplacer.lab.model.power import lost_faults
from vplacer.lab.model.tables import Tables

_NUMBER = re.compile(r"^vm-([0-9]{1,12})$")


@dataclass(frozen=True, slots=True)
class CloneSpec:
    """Where a clone goes. None = as the source. ``power_on``: started after it was made.

    ``folder``: the path of the folder, as the inventory names it.
    """

    name: str
    host: str | None = None
    pool: str | None = None
    datastore: str | None = None
    folder: str | None = None
    template: bool = False


def highest_number(vms: Iterable[str]) -> int:
    """Return the highest number among managed object ids of VMs: that of the next one less 1."""
    numbers = [int(match[1]) for moid in vms if (match := _NUMBER.match(moid))]
    return max(numbers, default=2000)


def clone(tables: Tables, source: str, spec: CloneSpec, moid: str, version: str) -> Vm:
    """Make a VM from a template or VM. What is of the source's host and history stays with the source.

    Raises:
        LabFault: ``DuplicateName`` in the folder; the place does not take it.
    """
    origin = tables.vm(source)
    host = tables.host(spec.host or origin.host)
    fault = next(host_faults(host), None)
    if fault is not None:
        raise fault
    folder = origin.folder if spec.folder is None else spec.folder
    if not spec.name:
        raise LabFault("InvalidName", "The name '' is invalid.", name="")
    other = tables.vm_named(host.datacenter, folder, spec.name)
    if other is not None:
        raise LabFault(
            "DuplicateName", f"The name '{spec.name}' already exists.", name=other.name, object=other.moid
        )
    pool = spec.pool or (None if spec.template else origin.pool or _root_pool(tables, host.cluster))
    if pool is not None and pool not in tables.pools:
        raise not_found(pool)
    if not spec.template and pool is None and tables.pools:
        raise invalid_argument("spec.location.pool", "a clone of a template needs a resource pool")
    stores = (spec.datastore,) if spec.datastore is not None else origin.datastores
    for store in stores:
        if store not in host.datastores:
            text = f"Host {host.name} cannot access datastore {store}."
            raise LabFault("CannotAccessVmDisk", text, device=f"datastore {store}", backing=store)
    made = replace(
        origin,
        moid=moid,
        name=spec.name,
        instance_uuid=stable_uuid("clone", source, moid, spec.name),
        datacenter=host.datacenter,
        folder=folder,
        host=host.moid,
        pool=pool,
        power=VmPower.OFF,
        connection=ConnectionState.CONNECTED,
        template=spec.template,
        change_version=version,
        devices=tuple(
            replace(device, backing=replace(device.backing, assigned_id=None))
            if isinstance(device.backing, DynamicBacking)
            else device
            for device in origin.devices
        ),
        datastores=stores,
        snapshot_count=0,
        linked_clone=None if origin.linked_clone is None else False,
        ownership=Ownership(),
        tags=(),
    )
    tables.put_vm(made)
    return made


def _root_pool(tables: Tables, owner: str | None) -> str | None:
    return next((p.moid for p in tables.pools.values() if p.owner == owner and p.parent is None), None)


def destroy(tables: Tables, moid: str) -> None:
    """Remove a VM that is off.

    Raises:
        LabFault: ``InvalidPowerState``, ``HostNotConnected``.
    """
    vm = tables.vm(moid)
    if vm.power is VmPower.ON:
        raise invalid_power_state(vm.power, VmPower.OFF)
    for fault in lost_faults(tables, vm):
        raise fault
    tables.drop_vm(moid)


def upgrade(tables: Tables, moid: str, version: int | None) -> Vm:
    """Raise the hardware version; None = to the newest that the host offers.

    Raises:
        LabFault: ``InvalidPowerState``, ``AlreadyUpgraded``, ``VirtualHardwareVersionNotSupported``.
    """
    vm = tables.vm(moid)
    host = tables.host(vm.host)
    fault = next(host_faults(host), None)
    if fault is not None:
        raise fault
    if vm.power is not VmPower.OFF:
        raise invalid_power_state(vm.power, VmPower.OFF)
    if version is None:
        version = max((limits.version for limits in host.limits), default=vm.hardware_version or 0)
    have = vm.hardware_version or 0
    if version <= have:
        text = f"Virtual machine {vm.name} is already at hardware version vmx-{have}."
        raise LabFault("AlreadyUpgraded", text)
    if limits_of(host, version) is None:
        text = f"Virtual machine hardware version vmx-{version} is not supported by host {host.name}."
        raise LabFault("VirtualHardwareVersionNotSupported", text, hostName=host.name, host=host.moid)
    after = replace(vm, hardware_version=version)
    if have < FIRST_WITH_VNUMA <= version:
        shape = after.vnuma
        after = replace(
            after,
            cores_per_socket_auto=vm.cores_per_socket is None,
            vnuma=replace(shape, auto=True if shape.auto is None else shape.auto),
        )
    tables.put_vm(after)
    return after
