"""The simulated vCenter's state machine: its operations.

They carry vSphere's names. Each starts a task and returns at once; the task has its effect when it ends.
Time passes only by `Machine.advance` and `Machine.run_until`. All methods may be called from any thread.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Final

from vplacer.inventory.host import ConnectionState, Host
from vplacer.inventory.overlay import Overlay
from vplacer.inventory.vm import Vm, VmPower
from vplacer.lab.model import making, power, relocate
from vplacer.lab.model.admission import amount_faults, host_faults
from vplacer.lab.model.card_choice import CardOrder
from vplacer.lab.model.checks import Finding, check_config, check_power_on
from vplacer.lab.model.clock import VirtualClock
from vplacer.lab.model.cluster_edit import ClusterEdit, PassthroughEdit, edit_cluster, set_passthrough
from vplacer.lab.model.edit import VmEdit
from vplacer.lab.model.engine import Engine, Start
from vplacer.lab.model.faults import LabFault, invalid_power_state
from vplacer.lab.model.making import CloneSpec, new_vm_moid
from vplacer.lab.model.orders import (
    Call,
    ChangeVm,
    Happening,
    LoseHost,
    Orders,
    StartMaintenance,
    StartVm,
    StopVm,
)
from vplacer.lab.model.reconfigure import edit_faults, edited
from vplacer.lab.model.state import LabState
from vplacer.lab.model.tables import Changes
from vplacer.lab.model.tasks import Durations, LabTask, TaskKind

__all__ = ["ADMINISTRATOR", "SOMEBODY", "Changes", "Machine", "MachineOptions"]

ADMINISTRATOR: Final = "VSPHERE.LOCAL\\Administrator"
SOMEBODY: Final = "VSPHERE.LOCAL\\somebody"
"""The other client, of whom orders speak."""


@dataclass(frozen=True, slots=True)
class MachineOptions:
    """How the simulated vCenter behaves.

    ``order``: which cards hosts choose. ``vgpu_moves``: vCenter's advanced setting
    ``vgpu.hotmigrate.enabled``. ``without_tools``: VMs whose guest cannot be asked to shut down.
    ``deaf``: VMs whose guest is asked and never does.
    """

    durations: Durations = field(default_factory=Durations)
    order: CardOrder = field(default_factory=CardOrder)
    vgpu_moves: bool = True
    without_tools: frozenset[str] = frozenset()
    deaf: frozenset[str] = frozenset()


class Machine(Engine):
    """A vCenter that can be changed.

    Args:
        state: where it begins.
        overlays: what no vCenter tells of the hosts' hardware, such as NVLinks.
        clock: None = one that begins when the inventory was taken.
        options: how it behaves.
        orders: what goes wrong; more can be added to `orders` at any time.
    """

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
        self._platform = power.Platform(options.order, {})
        self._made: set[str] = set()

    def reconfigure(
        self, vm: str, edit: VmEdit, user: str = ADMINISTRATOR, operation: str | None = None
    ) -> LabTask:
        """ReconfigVM_Task."""

        def work() -> None:
            self._reconfigure(vm, edit)

        return self._start(Start(TaskKind.RECONFIGURE, Call.RECONFIGURE, vm, user, operation, work))

    def power_on(
        self, vm: str, host: str | None = None, user: str = ADMINISTRATOR, operation: str | None = None
    ) -> LabTask:
        """PowerOnVM_Task; ``host`` None = its own, or where DRS finds room."""

        def work() -> None:
            power.power_on(self.tables, vm, host, self._platform, self.clock())
            self._move_version(vm)

        return self._start(Start(TaskKind.POWER_ON, Call.POWER_ON, vm, user, operation, work))

    def power_off(self, vm: str, user: str = ADMINISTRATOR, operation: str | None = None) -> LabTask:
        """PowerOffVM_Task."""

        def work() -> None:
            power.power_off(self.tables, vm)

        return self._start(Start(TaskKind.POWER_OFF, Call.POWER_OFF, vm, user, operation, work))

    def suspend(self, vm: str, user: str = ADMINISTRATOR, operation: str | None = None) -> LabTask:
        """SuspendVM_Task."""

        def work() -> None:
            power.suspend(self.tables, vm)

        return self._start(Start(TaskKind.SUSPEND, Call.SUSPEND, vm, user, operation, work))

    def shut_down(self, vm: str, user: str = ADMINISTRATOR) -> None:
        """ShutdownGuest: no task; the VM is off some time later.

        Raises:
            LabFault: ``InvalidPowerState``, ``ToolsUnavailable``, ``HostNotConnected``.
        """
        with self.lock:
            self._before(Call.SHUT_DOWN, vm)
            self._refuse(Call.SHUT_DOWN, vm)
            found = self.tables.vm(vm)
            fault = next(host_faults(self.tables.host(found.host)), None)
            if fault is not None and fault.name == "HostNotConnected":
                raise fault
            if found.power is not VmPower.ON:
                raise invalid_power_state(found.power, VmPower.ON)
            if vm in self.options.without_tools:
                text = (
                    "Cannot complete operation because VMware Tools is not running in this virtual machine."
                )
                raise LabFault("ToolsUnavailable", text)
            self._log("VmGuestShutdownEvent", user, vm, f"Guest OS shut down for {found.name}")
            if vm not in self.options.deaf:
                at = self.clock() + timedelta(seconds=self.durations.shut_down_s)
                self._schedule(at, lambda: self._guest_down(vm))
            self._tell()

    def clone(
        self, source: str, spec: CloneSpec, user: str = ADMINISTRATOR, operation: str | None = None
    ) -> LabTask:
        """CloneVM_Task; the task's result is the new VM's id."""

        def work() -> str:
            # An id once given is never given again.
            moid = new_vm_moid([*self.tables.vms, *self.tables.base.vm_by_moid, *self._made])
            making.clone(self.tables, source, spec, moid, self._next_version())
            self._made.add(moid)
            return moid

        return self._start(Start(TaskKind.CLONE, Call.CLONE, source, user, operation, work))

    def destroy(self, vm: str, user: str = ADMINISTRATOR, operation: str | None = None) -> LabTask:
        """Destroy_Task."""

        def work() -> None:
            making.destroy(self.tables, vm)

        return self._start(Start(TaskKind.DESTROY, Call.DELETE, vm, user, operation, work))

    def relocate(
        self,
        vm: str,
        host: str | None = None,
        pool: str | None = None,
        user: str = ADMINISTRATOR,
        operation: str | None = None,
    ) -> LabTask:
        """RelocateVM_Task: vMotion where the VM runs."""

        def work() -> None:
            moves = self.options.vgpu_moves
            relocate.relocate(self.tables, vm, host, pool, self._platform, self.clock(), vgpu_moves=moves)

        found = self.tables.vms.get(vm)
        seconds = self.durations.live_move_s if found is not None and found.is_on else None
        return self._start(Start(TaskKind.RELOCATE, Call.RELOCATE, vm, user, operation, work, seconds))

    def upgrade(
        self,
        vm: str,
        version: int | None = None,
        user: str = ADMINISTRATOR,
        operation: str | None = None,
    ) -> LabTask:
        """UpgradeVM_Task; None = the newest version of the host."""

        def work() -> None:
            making.upgrade(self.tables, vm, version)
            self._move_version(vm)

        return self._start(Start(TaskKind.UPGRADE, Call.UPGRADE, vm, user, operation, work))

    def edit_cluster(
        self, cluster: str, edit: ClusterEdit, user: str = ADMINISTRATOR, operation: str | None = None
    ) -> LabTask:
        """ReconfigureComputeResource_Task."""

        def work() -> None:
            edit_cluster(self.tables, cluster, edit)

        return self._start(Start(TaskKind.EDIT_CLUSTER, Call.EDIT_CLUSTER, cluster, user, operation, work))

    def set_passthrough(self, host: str, edits: Iterable[PassthroughEdit]) -> Host:
        """UpdatePassthruConfig: no task.

        Raises:
            LabFault: ``HostConfigFault``.
        """
        with self.lock:
            self._before(Call.SET_PASSTHROUGH, None)
            self._refuse(Call.SET_PASSTHROUGH, None)
            after = set_passthrough(self.tables, host, edits)
            self._tell()
            return after

    def log_event(self, entity: str, message: str, user: str = ADMINISTRATOR) -> None:
        """LogUserEvent.

        Raises:
            LabFault: ``ManagedObjectNotFound``.
        """
        with self.lock:
            self._refuse(Call.LOG_EVENT, entity)
            self._entity_name(entity)
            self._log("GeneralUserEvent", user, entity, message)
            self._tell()

    def check_config(self, vm: str, host: str, edit: VmEdit) -> tuple[Finding, ...]:
        """CheckVmConfig: what a reconfigure would be refused for, and what is doubtful. Changes nothing."""
        with self.lock:
            self._refuse(Call.CHECK, vm)
            return check_config(self.tables, vm, host, edit)

    def check_power_on(self, vm: str, host: str) -> tuple[Finding, ...]:
        """CheckPowerOn: the same of a start at a host."""
        with self.lock:
            self._refuse(Call.CHECK, vm)
            return check_power_on(self.tables, vm, host, self.options.order)

    # What others do

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

    # Inner workings

    def _reconfigure(self, moid: str, edit: VmEdit) -> None:
        """Change a VM.

        Raises:
            LabFault: what the vCenter says against it.
        """
        vm = self.tables.vm(moid)
        host = self.tables.hosts.get(vm.host or "")
        lost = next(host_faults(host), None) if host is not None else None
        if lost is not None and lost.name == "HostNotConnected":
            raise lost
        fault = next(edit_faults(vm, host, edit, hot_plug=moid in self.tables.fixed_hot_plug), None)
        if fault is not None:
            raise fault
        self._free_name(vm, edit)
        found = edited(vm, edit)
        if vm.is_on and host is not None:
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
        for other in self.tables.vms.values():
            if (other.datacenter, other.folder, other.name) == (vm.datacenter, vm.folder, edit.name):
                text = f"The name '{edit.name}' already exists."
                raise LabFault("DuplicateName", text, name=edit.name, object=other.moid)

    def _guest_down(self, moid: str) -> None:
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
                power.power_on(self.tables, what.vm, what.host, self._platform, self.clock())
                self._move_version(what.vm)
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
