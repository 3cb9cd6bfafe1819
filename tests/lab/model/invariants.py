"""What must hold of the simulated vCenter whatever was done to it."""

from __future__ import annotations

from collections import Counter

from vplacer.constraints.supply import MIB
from vplacer.inventory.host import GpuMode, Host
from vplacer.inventory.vm import DvxBacking, DynamicBacking, NetworkBacking, UnknownBacking, Vm
from vplacer.lab.model.machine import Machine
from vplacer.lab.model.pools import vm_takes_mib
from vplacer.lab.model.seats import CardsHeld, cards_held, seats_of
from vplacer.topology.claims import host_cards
from vplacer.topology.device_use import device_use


def check(machine: Machine) -> None:
    """Assert all of it."""
    tables = machine.tables
    state = machine.state
    for host in state.inventory.hosts:
        held = cards_held(tables, host)
        for group in tables.topology(host).ownership_groups:
            assert len({held.whole[a].vm for a in group if a in held.whole}) < 2, f"{host.name} {group}"
        _cards(host, held)
        _memory(machine, host)
        _told(machine, host)
    for vm in state.inventory.vms:
        _vm(machine, vm)
    for pool in state.inventory.pools:
        begun = tables.base.pool_by_moid[pool.moid].memory_unreserved_mib
        assert pool.memory_unreserved_mib is None or pool.memory_unreserved_mib >= min(0, begun or 0), pool
    assert len({vm.moid for vm in state.inventory.vms}) == len(state.inventory.vms)


def _cards(host: Host, held: CardsHeld) -> None:
    """A card is held by one VM, or shared by vGPUs that lie apart, or by so many functions as there are."""
    assert not held.whole.keys() & held.vgpus.keys(), host.name
    for address, seats in held.functions.items():
        assert len(seats) <= held.cards.by_address[address].sriov_free_vfs, f"{host.name} {address}"
        assert address not in held.whole
    for address, seats in held.vgpus.items():
        card = held.cards.by_address[address]
        spots = [seat.offset for seat in seats if seat.offset is not None]
        if card.mode in (GpuMode.MIXED_SIZE, GpuMode.MIG):
            for index, one in enumerate(spots):
                for other in spots[index + 1 :]:
                    assert one[1] <= other[0] or other[1] <= one[0], f"{host.name} {address} {spots}"
        else:
            assert len({seat.profile for seat in seats}) == 1, f"{host.name} {address}"


def _memory(machine: Machine, host: Host) -> None:
    used = sum(vm_takes_mib(vm) for vm in machine.tables.vms_on(host.moid))
    begun = sum(vm_takes_mib(vm) for vm in machine.tables.base.vms_by_host.get(host.moid, ()))
    assert used <= max(begun, (host.memory_bytes or 0) // MIB - (host.system_memory_mib or 0)), host.name


def _told(machine: Machine, host: Host) -> None:
    """What the host tells names the VMs that hold its cards and no others, and fits what they hold."""
    tables = machine.tables
    vms = tables.vms_on(host.moid)
    cards = host_cards(host, tables.topology(host))
    bound = Counter(binding.vm for binding in host.bindings)
    for vm in vms:
        seats = seats_of(tables, vm.moid, host.moid, cards)
        assert bound[vm.moid] == sum(seat.kind != "vf" for seat in seats), f"{vm.name} {host.bindings}"
    for device in host.pci_devices:
        for moid in device.graphics.vms if device.graphics is not None else ():
            assert any(item.address == device.address for item in tables.held[moid]), f"{host.name} {moid}"
    for claim in device_use(cards, vms).now:
        mine = {seat.address for seat in seats_of(tables, claim.vm, host.moid, cards)}
        where = {claim.address} if claim.address is not None else set(claim.candidates)
        assert mine & where, f"{host.name}: {claim} but {mine}"


def _vm(machine: Machine, vm: Vm) -> None:
    tables = machine.tables
    held = tables.held.get(vm.moid, ())
    hardware = [d for d in vm.devices if not isinstance(d.backing, NetworkBacking | UnknownBacking)]
    if vm.is_on:
        certain = [device for device in hardware if not isinstance(device.backing, DvxBacking)]
        assert {d.key for d in certain} <= {item.device_key for item in held}, vm.name
        assert {item.host for item in held} <= {vm.host}, vm.name
    else:
        assert held == (), f"{vm.name} is {vm.power.value} and holds {held}"
        assert machine.state.home(vm) is None
        assert vm.moid not in tables.homes
    for device in vm.devices:
        if isinstance(device.backing, DynamicBacking):
            assert (device.backing.assigned_id is not None) == vm.is_on, vm.name
    assert len({device.key for device in vm.devices}) == len(vm.devices), vm.name
    groups = {group.key for group in vm.device_groups}
    assert groups == {device.group_key for device in vm.devices if device.group_key is not None}, vm.name
