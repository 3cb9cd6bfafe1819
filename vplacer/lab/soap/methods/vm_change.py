"""VirtualMachine: reconfigure, upgrade, clone, destroy, relocate. Each starts a task of the state machine."""

from __future__ import annotations

import re
from typing import Any

from pyVmomi import vim

from vplacer.inventory.vm import Vm
from vplacer.lab.model.making import CloneSpec
from vplacer.lab.soap.decode.config_spec import privileges, vm_edit
from vplacer.lab.soap.decode.members import (
    invalid_argument,
    moid_or_none,
    not_supported,
    refuse_others,
    set_members,
)
from vplacer.lab.soap.methods.table import Call, MethodTable
from vplacer.lab.soap.views.world import World
from vplacer.lab.soap.wire import typetable
from vplacer.lab.soap.wire.typetable import Ref

TABLE = MethodTable()
_VERSION = re.compile(r"vmx-([0-9]{2,3})")


def vm_of(call: Call, ref: Ref) -> Vm:
    """Return a VM as it is now.

    Raises:
        vmodl.fault.ManagedObjectNotFound: there is none.
    """
    call.require(ref)
    return call.live.world.vms[typetable.moid(ref)]


def network_named(world: World, name: str) -> str | None:
    """Return the id of a network by its name."""
    return next((network.moid for network in world.inventory.networks if network.name == name), None)


@TABLE.method(vim.VirtualMachine, "ReconfigVM_Task")
def reconfigure(call: Call, this: Ref, args: Any) -> object:
    """Change settings and devices of a VM."""
    live, vm = call.live, vm_of(call, this)
    for privilege in privileges(args.spec):
        call.need(privilege, this)
    edit = vm_edit(args.spec, vm, lambda name: network_named(live.world, name))
    order = call.order
    return live.start(lambda: live.machine.reconfigure(vm.moid, edit, order.user, order.operation))


@TABLE.method(vim.VirtualMachine, "UpgradeVM_Task")
def upgrade(call: Call, this: Ref, args: Any) -> object:
    """Upgrade the virtual hardware."""
    live, vm, order = call.live, vm_of(call, this), call.order
    match = _VERSION.fullmatch(args.version or "")
    if args.version and match is None:
        raise invalid_argument("version", f"'{args.version}' is no hardware version such as vmx-20")
    version = int(match[1]) if match else None
    return live.start(lambda: live.machine.upgrade(vm.moid, version, order.user, order.operation))


@TABLE.method(vim.VirtualMachine, "CloneVM_Task")
def clone(call: Call, this: Ref, args: Any) -> object:
    """Make a VM from a template or another VM, switched off."""
    live, vm, order, spec = call.live, vm_of(call, this), call.order, args.spec
    call.need(f"VirtualMachine.Provisioning.{'DeployTemplate' if vm.template else 'Clone'}", this)
    call.need("VirtualMachine.Inventory.CreateFromExisting", args.folder)
    refuse_others(spec, ("location", "template", "powerOn", "config"), "spec")
    if spec.powerOn:
        raise not_supported("spec.powerOn")
    if spec.config is not None and set_members(spec.config):
        raise not_supported(f"spec.config.{', spec.config.'.join(set_members(spec.config))}")
    place = spec.location
    refuse_others(place, ("folder", "host", "pool", "datastore"), "spec.location")
    if place.pool is not None:
        call.need("Resource.AssignVMToPool", place.pool)
    wanted = CloneSpec(
        args.name,
        moid_or_none(place.host),
        moid_or_none(place.pool),
        moid_or_none(place.datastore),
        _folder(call, place.folder or args.folder),
        bool(spec.template),
    )
    return live.start(lambda: live.machine.clone(vm.moid, wanted, order.user, order.operation))


def _folder(call: Call, folder: Ref) -> str:
    call.require(folder)
    found = call.live.folders.path_of(folder)
    if found is None:
        raise invalid_argument("folder", "it does not hold VMs")
    return found[1]


@TABLE.method(vim.VirtualMachine, "Destroy_Task")
def destroy(call: Call, this: Ref, _args: Any) -> object:
    """Remove a VM that is off."""
    live, vm, order = call.live, vm_of(call, this), call.order
    call.need("VirtualMachine.Inventory.Delete", this)
    return live.start(lambda: live.machine.destroy(vm.moid, order.user, order.operation))


@TABLE.method(vim.VirtualMachine, "RelocateVM_Task")
def relocate(call: Call, this: Ref, args: Any) -> object:
    """Move a VM to another host or pool, its files staying where they are."""
    host, pool = relocation(call, vm_of(call, this), args.spec)
    return _move(call, this, host, pool)


def relocation(call: Call, vm: Vm, spec: Any) -> tuple[Ref, Ref]:
    """Return the host and the pool of a RelocateSpec, either None = it stays.

    Raises:
        vmodl.fault.NotSupported: another datastore or folder, or anything else.
    """
    refuse_others(spec, ("host", "pool", "datastore", "folder"), "spec")
    if spec.datastore is not None and (typetable.moid(spec.datastore),) != vm.datastores:
        raise not_supported("spec.datastore other than the VM's own")
    if spec.folder is not None and spec.folder != call.live.folders.vm_folder(vm):
        raise not_supported("spec.folder other than the VM's own")
    for ref in (spec.host, spec.pool):
        if ref is not None:
            call.require(ref)
    return spec.host, spec.pool


@TABLE.method(vim.VirtualMachine, "MigrateVM_Task")
def migrate(call: Call, this: Ref, args: Any) -> object:
    """Move a VM to another host or pool; refused unless it is in the power state named, if one is."""
    vm = vm_of(call, this)
    if args.state is not None and args.state != vm.power.value:
        raise vim.fault.InvalidPowerState(
            existingState=vm.power.value,
            requestedState=args.state,
            msg="The attempted operation cannot be performed in the current state.",
        )
    for ref in (args.host, args.pool):
        if ref is not None:
            call.require(ref)
    return _move(call, this, args.host, args.pool)


def _move(call: Call, this: Ref, host: Ref, pool: Ref) -> Ref:
    live, vm, order = call.live, vm_of(call, this), call.order
    call.need("Resource.HotMigrate" if vm.is_on else "Resource.ColdMigrate", this)
    if pool is not None:
        call.need("Resource.AssignVMToPool", pool)
    target, into = moid_or_none(host), moid_or_none(pool)
    return live.start(lambda: live.machine.relocate(vm.moid, target, into, order.user, order.operation))
