"""PowerOnVM, PowerOffVM, SuspendVM."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final

from vplacer.inventory.host import ConnectionState, Host
from vplacer.inventory.vm import (
    DvxBacking,
    DynamicBacking,
    SriovBacking,
    StaticBacking,
    VgpuBacking,
    Vm,
    VmPower,
)
from vplacer.lab.model.admission import amount_faults, host_faults, misfits, place_faults
from vplacer.lab.model.card_choice import CardOrder, choose_cards
from vplacer.lab.model.faults import LabFault, invalid_argument, invalid_power_state
from vplacer.lab.model.homes import home_of, is_floating, sized_by_host
from vplacer.lab.model.seats import Seat, leave_seats, take_seats
from vplacer.lab.model.start_rules import config_faults
from vplacer.lab.model.tables import Tables

_FULLY: Final = "fullyAutomated"


@dataclass
class Platform:
    """How hosts, and DRS, decide what is theirs to decide. ``starts``: see `homes`."""

    order: CardOrder
    starts: dict[str, tuple[datetime, tuple[int, ...]]]
    drs_places: bool = False


def start_faults(tables: Tables, vm: Vm, host: Host, order: CardOrder) -> Iterator[LabFault]:
    """Yield all that keeps a VM from being started at a host."""
    if vm.template:
        yield LabFault("NotSupported", "A template cannot be powered on.")
    if vm.is_on:
        yield invalid_power_state(vm.power, VmPower.OFF)
    found = [*lost_faults(tables, vm), *host_faults(host)]
    yield from found
    if found:
        return
    yield from _elsewhere_faults(tables, vm, host)
    yield from place_faults(tables, vm, host)
    yield from config_faults(vm, host)
    yield from amount_faults(tables, vm, host)
    try:
        choose_cards(tables, vm, host, order)
    except LabFault as fault:
        yield fault


def _elsewhere_faults(tables: Tables, vm: Vm, host: Host) -> Iterator[LabFault]:
    """A VM is powered on within its compute resource (vSphere API: PowerOnVM_Task)."""
    home = tables.hosts.get(vm.host or "")
    if home is None or home.moid == host.moid:
        return
    if home.cluster is None or home.cluster != host.cluster:
        yield invalid_argument("host", f"{host.name} is not in the compute resource of {vm.name}")
    elif vm.power is VmPower.SUSPENDED:
        yield LabFault("InvalidState", f"{vm.name} is suspended on {home.name}.")


def power_on(tables: Tables, moid: str, host: str | None, platform: Platform, now: datetime) -> Vm:
    """Start a VM at a host, None = at its own, or where DRS finds room.

    Raises:
        LabFault: it cannot be started.
    """
    vm = tables.vm(moid)
    target = tables.host(host or vm.host)
    wrong = any(True for _ in _elsewhere_faults(tables, vm, target))
    if host is not None and not wrong and any(True for _ in misfits(vm, target)):
        # "If this host is not compatible, the current host association is used" (PowerOnVM_Task).
        target = tables.host(vm.host)
    faults = list(start_faults(tables, vm, target, platform.order))
    if faults and host is None:
        target = _by_drs(tables, vm, target, faults, platform.order)
    elif faults:
        raise faults[0]
    elif platform.drs_places:
        target = _another(tables, vm, target, platform.order)
    seats = choose_cards(tables, vm, target, platform.order)
    return _started(tables, vm, target, seats, platform, now)


def _by_drs(tables: Tables, vm: Vm, first: Host, faults: list[LabFault], order: CardOrder) -> Host:
    """Another host of the cluster, where DRS places VMs at power-on by itself."""
    stays = vm.is_on or vm.template or any(True for _ in lost_faults(tables, vm))
    if stays or not _is_placed_by_drs(tables, vm, first):
        raise faults[0]
    hosts = [first.moid]
    errors = [faults[0]]
    for host in _others(tables, first):
        fault = next(start_faults(tables, vm, host, order), None)
        if fault is None:
            return host
        hosts.append(host.moid)
        errors.append(fault)
    text = f"No host is compatible with the virtual machine {vm.name}. {errors[0].message}"
    raise LabFault("NoCompatibleHost", text, host=hosts, error=errors)


def _another(tables: Tables, vm: Vm, named: Host, order: CardOrder) -> Host:
    """A host that DRS chooses in place of the one that was named, if it may and there is one."""
    if not _is_placed_by_drs(tables, vm, named):
        return named
    fit = (host for host in _others(tables, named) if not any(True for _ in misfits(vm, host)))
    able = (host for host in fit if next(start_faults(tables, vm, host, order), None) is None)
    return next(able, named)


def _is_placed_by_drs(tables: Tables, vm: Vm, host: Host) -> bool:
    cluster = tables.cluster_of(host)
    level = dict(cluster.drs_overrides).get(vm.moid, cluster.drs_level) if cluster is not None else None
    return level not in (None, "manual", "disabled")


def _others(tables: Tables, host: Host) -> list[Host]:
    return [h for h in tables.hosts.values() if h.cluster == host.cluster and h.moid != host.moid]


def _started(
    tables: Tables, vm: Vm, host: Host, seats: tuple[Seat, ...], platform: Platform, now: datetime
) -> Vm:
    placed = replace(vm, power=VmPower.ON, host=host.moid)
    if vm.vnuma.auto or not vm.vnuma.cores_per_node:
        placed = sized_by_host(placed, host)
    placed = take_seats(tables, placed, host, seats)
    home = home_of(tables, placed, tables.host(host.moid), now, platform.starts)
    tables.put_vm(placed)
    if home:
        tables.set_home(vm.moid, home)
        if is_floating(placed, host):
            platform.starts[host.moid] = (now, home)
    return placed


def power_off(tables: Tables, moid: str) -> Vm:
    """Switch a VM off; a suspended one loses its memory.

    Raises:
        LabFault: ``InvalidPowerState``: it is off; ``HostNotConnected``.
    """
    vm = tables.vm(moid)
    if vm.power is VmPower.OFF:
        raise invalid_power_state(vm.power, VmPower.ON)
    _reachable(tables, vm)
    return stopped(tables, vm, VmPower.OFF)


def suspend(tables: Tables, moid: str) -> Vm:
    """Suspend a VM; one with DirectPath cannot be (Broadcom KB: limits of DirectPath I/O).

    Raises:
        LabFault: it does not run, or has a device that cannot be suspended.
    """
    vm = tables.vm(moid)
    if not vm.is_on:
        raise invalid_power_state(vm.power, VmPower.ON)
    host = _reachable(tables, vm)
    profiles = {profile.name: profile.migratable for profile in host.vgpu_profiles}
    for device in vm.devices:
        backing = device.backing
        held = isinstance(backing, StaticBacking | DynamicBacking | SriovBacking | DvxBacking)
        if isinstance(backing, VgpuBacking):
            told = backing.migratable if backing.migratable is not None else profiles.get(backing.profile)
            held = told is False
        if held:
            text = f"{device.label} does not support suspend."
            raise LabFault("DeviceNotSupported", text, device=device.label)
    return stopped(tables, vm, VmPower.SUSPENDED)


def stopped(tables: Tables, vm: Vm, power: VmPower) -> Vm:
    """Make a VM give back what it held."""
    after = replace(leave_seats(tables, vm), power=power)
    tables.put_vm(after)
    tables.forget_run(vm.moid)
    return after


def lost_faults(tables: Tables, vm: Vm) -> Iterator[LabFault]:
    """Yield that a VM cannot be reached: its host is lost, or its files are."""
    home = tables.hosts.get(vm.host or "")
    if home is not None and home.connection is not ConnectionState.CONNECTED:
        yield next(iter(host_faults(home)))
    elif vm.connection is not ConnectionState.CONNECTED:
        yield LabFault("InvalidState", f"Virtual machine {vm.name} is {vm.connection.value}.")


def _reachable(tables: Tables, vm: Vm) -> Host:
    for fault in lost_faults(tables, vm):
        raise fault
    return tables.host(vm.host)
