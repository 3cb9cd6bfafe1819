"""The simulated vCenter's state machine: its operations.

They carry vSphere's names. Each starts a task and returns at once; the task has its effect when it ends.
Time passes only by `Machine.advance` and `Machine.run_until`. All methods may be called from any thread.
"""

from __future__ import annotations

from collections.abc import Iterable

from vplacer.inventory.host import Host
from vplacer.inventory.vm import VmPower
from vplacer.lab.model import making, power, relocate
from vplacer.lab.model.checks import Finding, check_config, check_power_on
from vplacer.lab.model.cluster_edit import ClusterEdit, PassthroughEdit, edit_cluster, set_passthrough
from vplacer.lab.model.edit import VmEdit
from vplacer.lab.model.effects import ADMINISTRATOR, SOMEBODY, Effects, MachineOptions
from vplacer.lab.model.engine import Start
from vplacer.lab.model.faults import LabFault, invalid_power_state
from vplacer.lab.model.making import CloneSpec
from vplacer.lab.model.orders import Call
from vplacer.lab.model.tables import Changes
from vplacer.lab.model.tasks import LabTask, TaskKind

__all__ = ["ADMINISTRATOR", "SOMEBODY", "Changes", "Machine", "MachineOptions"]


class Machine(Effects):
    """A vCenter that can be changed.

    Args:
        state: where it begins.
        overlays: what no vCenter tells of the hosts' hardware, such as NVLinks.
        clock: None = one that begins when the inventory was taken.
        options: how it behaves.
        orders: what goes wrong; more can be added to `orders` at any time.
    """

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
            self._power_on(vm, host)

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
            for fault in power.lost_faults(self.tables, found):
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
                self._begin_shut_down(vm)
            self._tell()

    def clone(
        self, source: str, spec: CloneSpec, user: str = ADMINISTRATOR, operation: str | None = None
    ) -> LabTask:
        """CloneVM_Task; the task's result is the new VM's id."""

        def work() -> str:
            return self._clone(source, spec)

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
