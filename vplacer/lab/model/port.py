"""`LabPort`: the simulated vCenter as a port, in process, on a clock that moves only by waiting."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import TypeVar

from vplacer.errors import AnswerLost, ConnectionFailed, PermissionMissing, SessionLost, VSphereFault
from vplacer.inventory.cluster import VmHostRule, VmVmRule
from vplacer.inventory.measured import MeasuredHome, Spread
from vplacer.inventory.moids import moid_order
from vplacer.inventory.vcenter import Inventory
from vplacer.inventory.vm import VmPower
from vplacer.lab.model.cluster_edit import ClusterEdit, PassthroughEdit, RuleEdit
from vplacer.lab.model.faults import LabFault
from vplacer.lab.model.machine import ADMINISTRATOR, Machine
from vplacer.lab.model.making import CloneSpec
from vplacer.lab.model.orders import READING, Call, ExpireSession
from vplacer.lab.model.port_edits import edit_of
from vplacer.lab.model.tasks import LabTask, TaskPhase
from vplacer.plan.changes import (
    Action,
    Clone,
    Delete,
    OverrideDrs,
    Power,
    Reconfigure,
    Relocate,
    UpgradeHardware,
)
from vplacer.port import (
    CheckFinding,
    LabelChange,
    Part,
    RuleChange,
    SeenTask,
    Task,
    TaskResult,
    TaskState,
)

T = TypeVar("T")


class LabClock:
    """The simulated vCenter's time: sleeping lets it pass, and what is due happen."""

    def __init__(self, machine: Machine) -> None:
        self._machine = machine

    def now(self) -> datetime:
        """Return the time, with its zone."""
        return self._machine.clock()

    def sleep(self, seconds: float) -> None:
        """Let time pass."""
        self._machine.advance(max(0.0, seconds))


class LabPort:
    """Implements `vplacer.port.Port` over a `Machine`, without a connection.

    Orders about the connection are obeyed as the adapter to a real vCenter would tell of them: a change
    whose answer is lost raises `AnswerLost`, a reading call `ConnectionFailed`; a session that cannot be
    renewed `SessionLost`.
    """

    def __init__(self, machine: Machine, user: str = ADMINISTRATOR) -> None:
        self.machine = machine
        self.clock = LabClock(machine)
        self._user = user
        self._down_until: datetime | None = None

    @property
    def user(self) -> str:
        """The account's name as tasks show it."""
        return self._user

    # Reading

    def server_time(self) -> datetime:
        """Return the server's clock."""
        return self._call(Call.SERVER_TIME, None, self.machine.clock)

    def read(self) -> Inventory:
        """Return the inventory as it is, dated now."""

        def work() -> Inventory:
            return replace(self.machine.state.inventory, taken_at=_text(self.machine.clock()))

        return self._call(Call.READ, None, work)

    def read_part(
        self, vms: Iterable[str] = (), hosts: Iterable[str] = (), clusters: Iterable[str] = ()
    ) -> Part:
        """Return some objects as they are."""

        def work() -> Part:
            with self.machine.lock:
                tables = self.machine.tables
                return Part(
                    tuple(tables.vms[moid] for moid in vms if moid in tables.vms),
                    tuple(tables.hosts[moid] for moid in hosts if moid in tables.hosts),
                    tuple(tables.clusters[moid] for moid in clusters if moid in tables.clusters),
                )

        return self._call(Call.READ_PART, None, work)

    def measure(self, hosts: Iterable[str]) -> tuple[tuple[str, MeasuredHome], ...]:
        """Return where running VMs are, as one sample of esxtop tells.

        Raises:
            PermissionMissing: none of the hosts offers the service.
        """

        def work() -> tuple[tuple[str, MeasuredHome], ...]:
            state = self.machine.state
            asked = list(hosts)
            able = [moid for moid in asked if state.has_esxtop(moid)]
            if asked and not able:
                raise PermissionMissing(
                    "no host lets itself be measured", why="the esxtop service is missing"
                )
            at = _text(self.machine.clock())
            found = []
            for host in able:
                for vm in state.inventory.vms_by_host.get(host, ()):
                    home = state.home(vm)
                    if home is not None:
                        share = Spread.of([home.locality_low, home.locality_high])
                        found.append(
                            (vm.moid, MeasuredHome(home.nodes, at, share, migrations=home.migrations))
                        )
            return tuple(sorted(found, key=lambda item: moid_order(item[0])))

        return self._call(Call.MEASURE, None, work)

    def guests_without_tools(self, vms: Iterable[str]) -> frozenset[str]:
        """Return those running VMs in whose guest VMware Tools do not run."""

        def look() -> frozenset[str]:
            now = self.machine.state.inventory.vm_by_moid
            return frozenset(
                moid
                for moid in set(vms) & self.machine.options.without_tools
                if moid in now and now[moid].is_on
            )

        return self._call(Call.READ_PART, None, look)

    def check(self, vm: str, host: str, change: Reconfigure | None) -> tuple[CheckFinding, ...]:
        """Ask whether a VM could be changed so, or switched on, at a host."""

        def work() -> tuple[CheckFinding, ...]:
            machine = self.machine
            with machine.lock:
                if change is None:
                    found = machine.check_power_on(vm, host)
                else:
                    tables = machine.tables
                    edit = edit_of(tables.vm(vm), tables.host(host), change, None)
                    found = machine.check_config(vm, host, edit)
            return tuple(CheckFinding(f.error, f.fault.name, f.fault.message) for f in found)

        return self._call(Call.CHECK, vm, work)

    # Writing

    def clone(self, change: Clone, operation: str) -> Task:
        """Make a VM from a template."""
        spec = CloneSpec(change.name, change.host, change.pool, change.datastore, change.folder)
        return self._start(
            Call.CLONE,
            change.template,
            lambda: self.machine.clone(change.template, spec, self._user, operation),
        )

    def delete(self, vm: str, change: Delete, operation: str) -> Task:
        """Remove a VM that has the change's name and is off."""

        def work() -> LabTask:
            found = self.machine.tables.vm(vm)
            if found.name != change.name:
                text = f"{vm} is called '{found.name}', not '{change.name}'"
                raise VSphereFault("a VM is not the one to be removed", fault_type="InvalidName", why=text)
            return self.machine.destroy(vm, self._user, operation)

        return self._start(Call.DELETE, vm, work)

    def reconfigure(self, vm: str, change: Reconfigure, change_version: str, operation: str) -> Task:
        """Change settings and devices in one task."""

        def work() -> LabTask:
            with self.machine.lock:
                tables = self.machine.tables
                found = tables.vm(vm)
                edit = edit_of(found, tables.hosts.get(found.host or ""), change, change_version)
                return self.machine.reconfigure(vm, edit, self._user, operation)

        return self._start(Call.RECONFIGURE, vm, work)

    def upgrade(self, vm: str, change: UpgradeHardware, operation: str) -> Task:
        """Raise the hardware version; having it already is a success (see `wait`)."""
        return self._start(
            Call.UPGRADE, vm, lambda: self.machine.upgrade(vm, change.after, self._user, operation)
        )

    def relocate(self, vm: str, change: Relocate, operation: str) -> Task:
        """Move a VM."""
        return self._start(
            Call.RELOCATE,
            vm,
            lambda: self.machine.relocate(vm, change.host_after, change.pool_after, self._user, operation),
        )

    def power(self, vm: str, change: Power, operation: str) -> Task:
        """Switch a VM on at a host, off, or suspend it."""
        machine, user = self.machine, self._user
        match change.after:
            case VmPower.ON:
                return self._start(
                    Call.POWER_ON, vm, lambda: machine.power_on(vm, change.host, user, operation)
                )
            case VmPower.OFF:
                return self._start(Call.POWER_OFF, vm, lambda: machine.power_off(vm, user, operation))
            case VmPower.SUSPENDED:
                return self._start(Call.SUSPEND, vm, lambda: machine.suspend(vm, user, operation))

    def shut_down(self, vm: str, operation: str) -> None:  # noqa: ARG002
        """Ask the guest to shut down."""
        self._call(Call.SHUT_DOWN, vm, lambda: self.machine.shut_down(vm, self._user))

    def override_drs(self, vm: str, change: OverrideDrs, operation: str) -> Task:
        """Set or clear the VM's own DRS level."""
        edit = ClusterEdit(overrides=((vm, change.after),))
        return self._start(
            Call.EDIT_CLUSTER,
            vm,
            lambda: self.machine.edit_cluster(change.cluster, edit, self._user, operation),
        )

    def set_labels(self, changes: Iterable[LabelChange], operation: str) -> tuple[Task, ...]:  # noqa: ARG002
        """Set hardware labels; a vCenter has no task for it."""
        by_host: dict[str, list[PassthroughEdit]] = {}
        for change in changes:
            edit = PassthroughEdit(change.address, label=change.after or "")
            by_host.setdefault(change.host, []).append(edit)
        for host, edits in by_host.items():
            self._call(Call.SET_PASSTHROUGH, None, partial(self.machine.set_passthrough, host, edits))
        return ()

    def edit_rules(self, changes: Iterable[RuleChange], operation: str) -> tuple[Task, ...]:
        """Add, change or remove DRS rules, one task a cluster."""
        by_cluster: dict[str, list[RuleEdit]] = {}
        for change in changes:
            by_cluster.setdefault(change.cluster, []).append(_rule_edit(change.before, change.after))
        tasks = []
        for cluster, rules in by_cluster.items():
            edit = ClusterEdit(rules=tuple(rules))
            tasks.append(
                self._start(
                    Call.EDIT_CLUSTER,
                    None,
                    partial(self.machine.edit_cluster, cluster, edit, self._user, operation),
                )
            )
        return tuple(tasks)

    def log_event(self, vm: str, message: str) -> None:
        """Write a user event."""
        self._call(Call.LOG_EVENT, vm, lambda: self.machine.log_event(vm, message, self._user))

    # Tasks

    def wait(self, tasks: Iterable[Task], timeout_s: float) -> tuple[TaskResult, ...]:
        """Let time pass until one of the tasks has ended, or the time is up."""
        waiting = tuple(tasks)

        def work() -> tuple[TaskResult, ...]:
            machine = self.machine
            deadline = machine.clock() + timedelta(seconds=timeout_s)
            while True:
                found = tuple(result for task in waiting if (result := self._result(task)) is not None)
                due = machine.next_due()
                if found:
                    return found
                if due is None or due > deadline:
                    machine.run_until(deadline)
                    return ()
                machine.run_until(due)

        return self._call(Call.WAIT, None, work)

    def tasks_since(self, object_: str, since: datetime) -> tuple[SeenTask, ...]:
        """Return the tasks of an object queued since a time."""

        def work() -> tuple[SeenTask, ...]:
            return tuple(
                SeenTask(_task(task), task.user, task.queued_at, _ended(task))
                for task in self.machine.tasks(object_, since)
            )

        return self._call(Call.TASKS_SINCE, object_, work)

    def _result(self, task: Task) -> TaskResult | None:
        found = self.machine.task(task.id)
        return TaskResult(task, TaskState.UNKNOWN) if found is None else _ended(found)

    # The connection

    def _start(self, call: Call, vm: str | None, work: Callable[[], LabTask]) -> Task:
        return _task(self._call(call, vm, work))

    def _call(self, call: Call, vm: str | None, work: Callable[[], T]) -> T:
        """Make a call, unless an order about the connection wants it otherwise."""
        self._reach(call)
        order = self.machine.orders.connection(call, vm)
        if isinstance(order, ExpireSession):
            if not order.renewable:
                raise SessionLost("the session has ended and could not be renewed", obj=vm)
        elif order is not None:
            if order.carried_out:
                with _told(vm):
                    work()
            self._down_until = self.machine.clock() + timedelta(seconds=order.down_s)
            raise _lost(call, vm)
        with _told(vm):
            return work()

    def _reach(self, call: Call) -> None:
        if self._down_until is None:
            return
        if self.machine.clock() < self._down_until:
            self.machine.advance(1.0)
            raise ConnectionFailed("the vCenter cannot be reached", why=f"at the call {call.value}")
        self._down_until = None


def _lost(call: Call, vm: str | None) -> ConnectionFailed | AnswerLost:
    if call in READING:
        return ConnectionFailed("the connection broke", obj=vm, why=f"at the call {call.value}")
    why = f"at the call {call.value}: nobody knows whether the server did it"
    return AnswerLost("the connection broke before the answer came", obj=vm, why=why)


@contextmanager
def _told(vm: str | None) -> Iterator[None]:
    """Tell faults as the adapter does."""
    try:
        yield
    except LabFault as fault:
        if fault.name == "NoPermission":
            raise PermissionMissing("a privilege is missing", obj=vm, why=fault.message) from None
        raise VSphereFault(
            "the vCenter refused the call", fault_type=fault.name, obj=vm, why=fault.message
        ) from None


def _task(task: LabTask) -> Task:
    return Task(task.id, task.kind, task.entity)


def _ended(task: LabTask) -> TaskResult | None:
    if not task.ended:
        return None
    if task.phase is TaskPhase.SUCCESS:
        return TaskResult(_task(task), TaskState.SUCCESS, result=task.result)
    fault = task.fault
    if fault is not None and fault.name == "AlreadyUpgraded":
        return TaskResult(_task(task), TaskState.SUCCESS)
    name, text = (fault.name, fault.message) if fault is not None else (None, None)
    return TaskResult(_task(task), TaskState.ERROR, name, text)


def _rule_edit(before: VmVmRule | VmHostRule | None, after: VmVmRule | VmHostRule | None) -> RuleEdit:
    if before is None:
        return RuleEdit(Action.ADD, after)
    return RuleEdit(Action.REMOVE if after is None else Action.EDIT, after, before.key)


def _text(moment: datetime) -> str:
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
