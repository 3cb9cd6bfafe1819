"""What operations do at the moment at which they have their effect, and what others do in between."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Final

from vplacer.inventory.host import ConnectionState
from vplacer.inventory.overlay import Overlay
from vplacer.inventory.vm import Backing, Vm, VmDevice, VmPower
from vplacer.lab.model import making, power
from vplacer.lab.model.admission import amount_faults
from vplacer.lab.model.card_choice import CardOrder
from vplacer.lab.model.clock import VirtualClock
from vplacer.lab.model.edit import VmEdit
from vplacer.lab.model.engine import Engine
from vplacer.lab.model.faults import LabFault
from vplacer.lab.model.making import CloneSpec, highest_number
from vplacer.lab.model.orders import (
    Call,
    ChangeVm,
    Happening,
    LoseHost,
    Orders,
    StartMaintenance,
    StartVm,
    StopVm,
    TakeDevices,
)
from vplacer.lab.model.pools import vm_takes_mib
from vplacer.lab.model.reconfigure import edit_faults, edited
from vplacer.lab.model.state import LabState
from vplacer.lab.model.tasks import Durations

ADMINISTRATOR: Final = "VSPHERE.LOCAL\\Administrator"
SOMEBODY: Final = "VSPHERE.LOCAL\\somebody"
"""The other client, of whom orders speak."""


@dataclass(frozen=True, slots=True)
class MachineOptions:
    """How the simulated vCenter behaves.

    ``order``: which cards hosts choose. ``vgpu_moves``: vCenter's advanced setting
    ``vgpu.hotmigrate.enabled``. ``without_tools``: VMs whose guest cannot be asked to shut down.
    ``deaf``: VMs whose guest is asked and never does. ``drs_places``: where DRS is automated it starts a VM
    at another host than the one that was named, if it finds one.
    """

    durations: Durations = field(default_factory=Durations)
    order: CardOrder = field(default_factory=CardOrder)
    vgpu_moves: bool = True
    without_tools: frozenset[str] = frozenset()
    deaf: frozenset[str] = frozenset()
    drs_places: bool = False


class Effects(Engine):
    """A vCenter's hands. Arguments as `Machine`."""

    def __init__(
        self,
        state: LabState,
        overlays: Iterable[Overlay] = (),
        *,
        clock: VirtualClock | None = None,
        options: MachineOptions = MachineOptions(),
        orders: Orders | None = None,
    ) -> None:
        super().__init__(state, overlays, clock, options.durations, orders)
        self.options = options
        self._platform = power.Platform(options.order, {}, options.drs_places)
        self._made = 0
        self._shut_downs = 0
        self._going_down: dict[str, int] = {}
        self._highest = highest_number(self.tables.vms)

    # What others do

    def later(self, seconds: float, what: Happening) -> None:
        """Let another client do something some time from now; its ``when`` is not looked at."""
        with self.lock:
            at = self.clock() + timedelta(seconds=seconds)
            self._schedule(at, lambda: self._happen(what, None))

    def lose_host(self, host: str) -> None:
        """Cut a host off from the vCenter; its VMs run on, and nothing can be done to them."""
        self._connect(host, ConnectionState.NOT_RESPONDING, ConnectionState.DISCONNECTED)

    def regain_host(self, host: str) -> None:
        """Connect a host again."""
        self._connect(host, ConnectionState.CONNECTED, ConnectionState.CONNECTED)

    def set_maintenance(self, host: str, on: bool) -> None:
        """Put a host into maintenance mode or out of it, whatever runs there."""
        with self.lock:
            self.tables.put_host(replace(self.tables.host(host), in_maintenance=on))
            self._tell()

    def _connect(self, host: str, state: ConnectionState, of_vms: ConnectionState) -> None:
        with self.lock:
            self.tables.put_host(replace(self.tables.host(host), connection=state))
            for vm in self.tables.vms_on(host):
                self.tables.put_vm(replace(vm, connection=of_vms))
            self._tell()

    # Effects

    def _power_on(self, vm: str, host: str | None) -> None:
        self._going_down.pop(vm, None)
        power.power_on(self.tables, vm, host, self._platform, self.clock())
        self._move_version(vm)

    def _clone(self, source: str, spec: CloneSpec) -> str:
        # An id once given is never given again.
        moid = f"vm-{self._highest + 1}"
        making.clone(self.tables, source, spec, moid, self._next_version())
        self._highest += 1
        self._made += 1
        return moid

    def _reconfigure(self, moid: str, edit: VmEdit) -> None:
        """Change a VM.

        Raises:
            LabFault: what the vCenter says against it.
        """
        vm = self.tables.vm(moid)
        host = self.tables.hosts.get(vm.host or "")
        for lost in power.lost_faults(self.tables, vm):
            raise lost
        fault = next(edit_faults(vm, host, edit, hot_plug=moid in self.tables.fixed_hot_plug), None)
        if fault is not None:
            raise fault
        self._free_name(vm, edit)
        found = edited(vm, edit)
        if vm.is_on and host is not None and _reserves_more(vm, found.vm):
            fault = next(amount_faults(self.tables, found.vm, host), None)
            if fault is not None:
                raise fault
        self.tables.put_vm(found.vm)
        if edit.fixed_hot_plug is not None:
            (self.tables.fixed_hot_plug.add if edit.fixed_hot_plug else self.tables.fixed_hot_plug.discard)(
                moid
            )
        self.tables.renew_macs(moid, found)
        self._move_version(moid)

    def _free_name(self, vm: Vm, edit: VmEdit) -> None:
        if edit.name is None or edit.name == vm.name:
            return
        other = self.tables.vm_named(vm.datacenter, vm.folder, edit.name)
        if other is not None:
            text = f"The name '{edit.name}' already exists."
            raise LabFault("DuplicateName", text, name=edit.name, object=other.moid)

    def _begin_shut_down(self, moid: str) -> None:
        """Let a guest go down, once, however often it is asked while it does."""
        if moid in self._going_down:
            return
        self._shut_downs += 1
        number = self._going_down[moid] = self._shut_downs
        at = self.clock() + timedelta(seconds=self.durations.shut_down_s)
        self._schedule(at, lambda: self._guest_down(moid, number))

    def _guest_down(self, moid: str, number: int) -> None:
        if self._going_down.get(moid) != number:
            return  # it was started anew since
        del self._going_down[moid]
        vm = self.tables.vms.get(moid)
        if vm is not None and vm.is_on:
            power.stopped(self.tables, vm, VmPower.OFF)
            self._log("VmPoweredOffEvent", None, moid, f"{vm.name} is powered off")

    def _refuse(self, call: Call, vm: str | None) -> None:
        fault = self.orders.refusal(call, vm)
        if fault is not None:
            raise fault

    def _before(self, call: Call, vm: str | None) -> None:
        for happening in self.orders.happenings(call, vm):
            self._happen(happening, vm)

    def _happen(self, what: Happening, vm: str | None) -> None:
        """Let another client do something, at once; what it cannot do it does not."""
        try:
            self._do(what, vm)
        except LabFault as fault:
            self._log("OtherClientFailed", SOMEBODY, vm or "", fault.message)

    def _do(self, what: Happening, vm: str | None) -> None:
        match what:
            case ChangeVm(edit=edit):
                target = what.vm or vm
                if target is not None:
                    self._reconfigure(target, replace(edit, change_version=None))
            case StartVm():
                self._power_on(what.vm, what.host)
            case TakeDevices():
                self._take_devices(what, vm)
            case StopVm():
                power.power_off(self.tables, what.vm or vm or "")
            case LoseHost():
                self.lose_host(what.host or self._host_of(vm))
            case StartMaintenance():
                self.set_maintenance(what.host or self._host_of(vm), True)

    def _host_of(self, vm: str | None) -> str:
        found = self.tables.vms.get(vm or "")
        if found is None or found.host is None:
            raise LabFault("ManagedObjectNotFound", "the call names no VM on a host")
        return found.host

    def _take_devices(self, what: TakeDevices, vm: str | None) -> None:
        """Start VMs with the devices of the call's VM, until there are no more or enough."""
        like = self.tables.vm(what.vm or vm or "")
        host = what.host or self._host_of(like.moid)
        number = 0
        while what.most is None or number < what.most:
            number += 1
            moid = self._clone(like.moid, CloneSpec(f"somebody-{self._made + 1}", host, like.pool))
            small = replace(self.tables.vm(moid), cpus=1, cores_per_socket=None, memory_mib=4)
            self.tables.put_vm(_plain(small, what.backings))
            if what.backings is not None:
                with contextlib.suppress(LabFault):  # it has the newest version
                    making.upgrade(self.tables, moid, None)
            try:
                self._power_on(moid, host)
            except LabFault:
                self.tables.drop_vm(moid)
                return


def _reserves_more(before: Vm, after: Vm) -> bool:
    mhz = (after.cpu_reservation_mhz or 0) > (before.cpu_reservation_mhz or 0)
    return mhz or vm_takes_mib(after) > vm_takes_mib(before)


def _plain(vm: Vm, backings: Iterable[Backing] | None) -> Vm:
    """A VM that asks for nothing but its devices, or others in their place."""
    if backings is not None:
        devices = tuple(VmDevice(13000 + i, f"PCI device {i}", item) for i, item in enumerate(backings))
        vm = replace(vm, devices=devices, device_groups=())
    return replace(
        vm,
        cores_per_socket_auto=True,
        vnuma=replace(vm.vnuma, cores_per_node=None, auto=True),
        memory_reservation_mib=vm.memory_mib,
        memory_locked_to_max=True,
        memory_limit_mib=None,
        cpu_reservation_mhz=0,
        overhead_mib=0,
        latency_sensitivity="normal",
        extra_config=(),
    )
