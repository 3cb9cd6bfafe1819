"""VMs taken out of a site, and VMs added that run."""

from __future__ import annotations

from dataclasses import replace
from uuid import NAMESPACE_URL, uuid5

from vplacer.inventory.host import Host
from vplacer.inventory.vm import (
    DynamicBacking,
    NetworkBacking,
    StaticBacking,
    UnknownBacking,
    Vm,
    VmDevice,
    VmPower,
)
from vplacer.request.what_if.site_draft import SiteDraft


def displace(draft: SiteDraft, vm: Vm) -> None:
    """Take a running VM off its host: it holds nothing, and is on no host."""
    draft.reserve(vm.pool, -reserved_mib(vm))
    draft.change_hosts(lambda host: without_holder(host, vm.moid))
    draft.vms[vm.moid] = replace(vm, host=None)
    draft.displaced.append(vm)


def take_out(draft: SiteDraft, vm: Vm) -> None:
    """Take a VM out of the site: off its host's cards, out of rules, its reservation back to its pool."""
    del draft.vms[vm.moid]
    if vm.is_on and not vm.template:
        draft.reserve(vm.pool, -reserved_mib(vm))
    draft.change_hosts(lambda host: without_holder(host, vm.moid))
    draft.change_clusters(
        lambda cluster: replace(
            cluster,
            vm_vm_rules=tuple(
                replace(rule, vms=tuple(m for m in rule.vms if m != vm.moid)) for rule in cluster.vm_vm_rules
            ),
            vm_host_rules=tuple(
                replace(rule, vms=tuple(m for m in rule.vms if m != vm.moid))
                for rule in cluster.vm_host_rules
            ),
        )
    )


def without_holder(host: Host, vm: str) -> Host:
    """Return a host on which a VM holds nothing; the very same where it held nothing."""
    named = any(binding.vm == vm for binding in host.bindings)
    drawn = any(d.graphics is not None and vm in d.graphics.vms for d in host.pci_devices)
    if not named and not drawn:
        return host
    devices = tuple(
        replace(d, graphics=replace(d.graphics, vms=tuple(m for m in d.graphics.vms if m != vm)))
        if d.graphics is not None and vm in d.graphics.vms
        else d
        for d in host.pci_devices
    )
    return replace(host, bindings=tuple(b for b in host.bindings if b.vm != vm), pci_devices=devices)


def add_running(draft: SiteDraft, like: Vm, host: Host, name: str) -> Vm:
    """Add a VM that runs on a host and is otherwise like another."""
    moid = draft.new_moid("vm")
    vm = replace(
        like,
        moid=moid,
        name=name,
        instance_uuid=str(uuid5(NAMESPACE_URL, f"{like.instance_uuid or like.moid}/{name}")),
        host=host.moid,
        datacenter=host.datacenter,
        power=VmPower.ON,
        template=False,
        devices=tuple(_unassigned(device) for device in like.devices),
        snapshot_count=0,
    )
    draft.vms[moid] = vm
    draft.reserve(vm.pool, reserved_mib(vm))
    return vm


def static_device(vm: Vm) -> StaticBacking | None:
    """Return a device of a VM that is bound to one card of one host, or None."""
    return next((d.backing for d in vm.devices if isinstance(d.backing, StaticBacking)), None)


def reserved_mib(vm: Vm) -> int:
    """Return the memory a running VM has reserved in its pool."""
    full = vm.memory_locked_to_max or any(not _is_network(device) for device in vm.devices)
    reserved = vm.memory_mib if full else (vm.memory_reservation_mib or 0)
    return reserved + (vm.overhead_mib or 0)


def _is_network(device: VmDevice) -> bool:
    return isinstance(device.backing, NetworkBacking | UnknownBacking)


def _unassigned(device: VmDevice) -> VmDevice:
    if isinstance(device.backing, DynamicBacking):
        return replace(device, backing=replace(device.backing, assigned_id=None))
    return device
