"""RelocateVM: another host, with the VM off (cold) or running (vMotion)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime

from vplacer.inventory.host import Host
from vplacer.inventory.vm import (
    DvxBacking,
    DynamicBacking,
    SriovBacking,
    StaticBacking,
    VgpuBacking,
    Vm,
    VmPower,
)
from vplacer.lab.model.admission import amount_faults, host_faults, place_faults
from vplacer.lab.model.card_choice import CardOrder, choose_cards
from vplacer.lab.model.faults import LabFault, invalid_argument
from vplacer.lab.model.homes import home_of, is_floating
from vplacer.lab.model.power import Platform, lost_faults
from vplacer.lab.model.seats import leave_seats, take_seats
from vplacer.lab.model.tables import Tables


def relocation_faults(
    tables: Tables, vm: Vm, target: Host, pool: str | None, order: CardOrder, *, vgpu_moves: bool
) -> Iterator[LabFault]:
    """Yield all that keeps a VM from moving. ``vgpu_moves``: vCenter's `vgpu.hotmigrate.enabled`."""
    source = tables.hosts.get(vm.host or "")
    yield from host_faults(target)
    yield from lost_faults(tables, vm)
    if vm.power is VmPower.SUSPENDED and _holds_hardware(vm):
        yield _attached(vm, "a suspended VM keeps the hardware that it has")
    moved = replace(vm, pool=pool or vm.pool)
    yield from _pool_faults(tables, moved, target)
    if source is None or source.moid == target.moid:
        return
    yield from place_faults(tables, moved, target)
    yield from _device_faults(vm, source, vgpu_moves=vgpu_moves)
    if vm.is_on:
        yield from _live_faults(tables, moved, source, target)
        yield from amount_faults(tables, moved, target)
        if not any(map(_pins_live, vm.devices)):
            try:
                choose_cards(tables, moved, target, order)
            except LabFault as fault:
                yield fault


def relocate(
    tables: Tables,
    moid: str,
    host: str | None,
    pool: str | None,
    platform: Platform,
    now: datetime,
    *,
    vgpu_moves: bool = True,
) -> Vm:
    """Move a VM; None = the host, the pool stay.

    Raises:
        LabFault: it cannot move.
    """
    vm = tables.vm(moid)
    target = tables.host(host or vm.host)
    if pool is not None and pool not in tables.pools:
        raise LabFault("ManagedObjectNotFound", f"There is no resource pool {pool}.", obj=pool)
    fault = next(relocation_faults(tables, vm, target, pool, platform.order, vgpu_moves=vgpu_moves), None)
    if fault is not None:
        raise fault
    moved = replace(vm, host=target.moid, pool=pool or vm.pool)
    if vm.is_on and vm.host != target.moid:
        seats = choose_cards(tables, moved, target, platform.order)
        leave_seats(tables, vm)
        moved = take_seats(tables, moved, tables.host(target.moid), seats)
        home = home_of(tables, moved, target, now, platform.starts)
        tables.put_vm(moved)
        if home:
            tables.set_home(moid, home)
            if is_floating(moved, target):
                platform.starts[target.moid] = (now, home)
    else:
        tables.put_vm(moved)
    return moved


def _pool_faults(tables: Tables, vm: Vm, target: Host) -> Iterator[LabFault]:
    """A VM's pool belongs to the compute resource of its host."""
    pool = tables.pools.get(vm.pool or "")
    if pool is None or target.cluster is None or pool.owner not in tables.clusters:
        return
    if pool.owner != target.cluster:
        yield invalid_argument("spec.pool", f"pool {pool.name} is not of the cluster of {target.name}")


def _device_faults(vm: Vm, source: Host, *, vgpu_moves: bool) -> Iterator[LabFault]:
    profiles = {profile.name: profile.migratable for profile in source.vgpu_profiles}
    for device in vm.devices:
        backing = device.backing
        if isinstance(backing, StaticBacking):
            yield _attached(vm, f"{device.label} is a card of {source.name}")
        elif isinstance(backing, SriovBacking) and backing.physical_function is not None:
            yield _attached(vm, f"{device.label} is a port of {source.name}")
        elif not vm.is_on:
            continue
        elif isinstance(backing, DynamicBacking | SriovBacking | DvxBacking):
            yield _attached(vm, f"{device.label} cannot be moved while the VM runs")
        elif isinstance(backing, VgpuBacking):
            known = backing.migratable if backing.migratable is not None else profiles.get(backing.profile)
            if known is not True:
                yield _attached(vm, f"vGPU {backing.profile} does not support vMotion")
            elif not vgpu_moves:
                yield _attached(vm, "vgpu.hotmigrate.enabled is not set at the vCenter")


def _live_faults(tables: Tables, vm: Vm, source: Host, target: Host) -> Iterator[LabFault]:
    if vm.cpu_affinity:
        text = f"Virtual machine {vm.name} has CPU affinity and cannot be moved while it runs."
        yield LabFault("AffinityConfigured", text, configuredAffinity=["cpu"])
    why = _cpu_difference(tables, source, target)
    if why is not None:
        text = f"The CPU of host {target.name} is not compatible with virtual machine {vm.name}: {why}."
        yield LabFault("FeatureRequirementsNotMet", text, host=target.moid, vm=vm.moid)


def _cpu_difference(tables: Tables, source: Host, target: Host) -> str | None:
    """In what a running VM would not find the CPU it knows; EVC makes the CPUs of one vendor alike."""
    one, other = source.cpu_vendor, target.cpu_vendor
    if one and other and one.lower() != other.lower():
        return f"{one} and {other}"
    cluster = tables.cluster_of(target)
    if cluster is not None and cluster.evc_mode and source.cluster == target.cluster:
        return None
    if source.cpu_features_visible is not None and target.cpu_features_visible is not None:
        missing = sorted(set(source.cpu_features_visible) - set(target.cpu_features_visible))
        if missing:
            return f"it lacks {', '.join(missing)}"
    if source.cpu_model and target.cpu_model and source.cpu_model != target.cpu_model:
        return f"{source.cpu_model} and {target.cpu_model}, and no EVC mode"
    return None


def _holds_hardware(vm: Vm) -> bool:
    kinds = (StaticBacking, DynamicBacking, SriovBacking, DvxBacking, VgpuBacking)
    return any(isinstance(device.backing, kinds) for device in vm.devices)


def _pins_live(device: object) -> bool:
    backing = getattr(device, "backing", None)
    return isinstance(backing, StaticBacking | DynamicBacking | SriovBacking | DvxBacking)


def _attached(vm: Vm, why: str) -> LabFault:
    text = f"Virtual machine {vm.name} has a device that prevents migration: {why}."
    return LabFault("DisallowedMigrationDeviceAttached", text, fault=why)
