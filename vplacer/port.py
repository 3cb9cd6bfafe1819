"""The one narrow port to anything that behaves like a vCenter: a real one, or a simulated one.

Arguments are inventory values and plan changes, never ConfigSpecs: how a server wants them encoded is
the adapter's business. Objects are named by managed object id. Every writing method starts a task and
returns at once; `wait` tells how tasks ended. Nothing here decides anything: preconditions, order and
undo are the caller's.

``operation`` is an id that the server writes to its own log with the call (``vplacer-<plan>-<step>``).

Errors are those of `vplacer.errors`: `VSphereError` and its leaves for what the server refuses.
`AnswerLost` is the one after which nobody knows whether the server did it: a writing method never sends
a call again by itself, `tasks_since` and `read_part` tell.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Protocol

from vplacer.inventory.cluster import Cluster, VmHostRule, VmVmRule
from vplacer.inventory.host import Host
from vplacer.inventory.measured import MeasuredHome
from vplacer.inventory.pci import PciAddress
from vplacer.inventory.vcenter import Inventory
from vplacer.inventory.vm import Vm
from vplacer.plan.changes import (
    Clone,
    Delete,
    OverrideDrs,
    Power,
    Reconfigure,
    Relocate,
    UpgradeHardware,
)


@dataclass(frozen=True, slots=True)
class Task:
    """A task that was started. ``id`` as the server names it, so that it can be found again later."""

    id: str
    what: str
    object: str


class TaskState(StrEnum):
    """How a task ended. UNKNOWN: the server no longer knows it; its effect must be read back."""

    SUCCESS = "success"
    ERROR = "error"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class TaskResult:
    """The end of a task.

    ``fault``: the fault's wire name, ``message`` quotes its text; both None on success. ``result``: the
    managed object id of what was made, for a clone.
    """

    task: Task
    state: TaskState
    fault: str | None = None
    message: str | None = None
    result: str | None = None


@dataclass(frozen=True, slots=True)
class CheckFinding:
    """What the server says beforehand of a change; ``blocking`` False = a warning."""

    blocking: bool
    fault: str
    message: str


@dataclass(frozen=True, slots=True)
class LabelChange:
    """The hardware label of one card of a host; None = no label."""

    host: str
    address: PciAddress
    before: str | None
    after: str | None


@dataclass(frozen=True, slots=True)
class RuleChange:
    """A DRS rule of a cluster; ``before`` None = added, ``after`` None = removed."""

    cluster: str
    before: VmVmRule | VmHostRule | None
    after: VmVmRule | VmHostRule | None


@dataclass(frozen=True, slots=True)
class SeenTask:
    """A task of the server's list, whoever started it.

    ``user``: who did; None = the server itself. ``queued_at`` by the server's clock. ``result`` None = it
    has not ended.
    """

    task: Task
    user: str | None
    queued_at: datetime
    result: TaskResult | None


@dataclass(frozen=True, slots=True)
class Part:
    """Some objects as they are now. What no longer exists is missing from it."""

    vms: tuple[Vm, ...]
    hosts: tuple[Host, ...]
    clusters: tuple[Cluster, ...]


class ReadPort(Protocol):
    """What every source can do: say what there is."""

    def read(self) -> Inventory:
        """Return everything that can be read, and in ``gaps`` what could not."""
        ...

    def measure(self, hosts: Iterable[str]) -> tuple[tuple[str, MeasuredHome], ...]:
        """Return the NUMA homes of running VMs as the hosts' esxtop counters tell, by VM.

        VMs of hosts that do not let themselves be measured are left out.

        Raises:
            PermissionMissing: no host may be measured with this account.
        """
        ...


class Port(ReadPort, Protocol):
    """What can be done to a vCenter."""

    @property
    def user(self) -> str:
        """The account's name as the server writes it to tasks."""
        ...

    def server_time(self) -> datetime:
        """Return the server's clock, with its zone."""
        ...

    def read_part(
        self, vms: Iterable[str] = (), hosts: Iterable[str] = (), clusters: Iterable[str] = ()
    ) -> Part:
        """Read some objects afresh, as `read` would."""
        ...

    def guests_without_tools(self, vms: Iterable[str]) -> frozenset[str]:
        """Return those running VMs of which the server says that VMware Tools do not run in their guest.

        Their guest cannot be asked to shut down (vSphere API: GuestInfo.toolsRunningStatus, ShutdownGuest).
        """
        ...

    def check(self, vm: str, host: str, change: Reconfigure | None) -> tuple[CheckFinding, ...]:
        """Ask the server whether a VM could be changed so (None: switched on) at a host. Changes nothing.

        An empty answer is no promise: how deep the server looks at devices is its own affair.
        """
        ...

    def clone(self, change: Clone, operation: str) -> Task:
        """Make a VM from a template, switched off. The task's result is its managed object id."""
        ...

    def delete(self, vm: str, change: Delete, operation: str) -> Task:
        """Remove a VM that is off and has the change's name: only ever one that a `Clone` made."""
        ...

    def reconfigure(self, vm: str, change: Reconfigure, change_version: str, operation: str) -> Task:
        """Change settings and devices in one task; devices and groups are added and removed together.

        ``change_version`` as read just before: the server refuses if somebody else wrote since.
        A removed device without a key is found by content.
        """
        ...

    def upgrade(self, vm: str, change: UpgradeHardware, operation: str) -> Task:
        """Upgrade the virtual hardware of a VM that is off. One that has the version is a success."""
        ...

    def relocate(self, vm: str, change: Relocate, operation: str) -> Task:
        """Move a VM to another host, on shared storage: running (vMotion) or off."""
        ...

    def power(self, vm: str, change: Power, operation: str) -> Task:
        """Switch a VM on at the change's host, or off at once, whatever the guest does."""
        ...

    def shut_down(self, vm: str, operation: str) -> None:
        """Ask the guest to shut down. It is no task: `read_part` tells when the VM is off.

        Raises:
            VSphereFault: ``ToolsUnavailable`` where the guest cannot be asked.
        """
        ...

    def override_drs(self, vm: str, change: OverrideDrs, operation: str) -> Task:
        """Set or clear the VM's own DRS level."""
        ...

    def set_labels(self, changes: Iterable[LabelChange], operation: str) -> tuple[Task, ...]:
        """Set hardware labels, host by host; hosts whose server has no task for it are done on return."""
        ...

    def edit_rules(self, changes: Iterable[RuleChange], operation: str) -> tuple[Task, ...]:
        """Add, change or remove DRS rules, one task a cluster."""
        ...

    def log_event(self, vm: str, message: str) -> None:
        """Write a user event at a VM, so that the server's own log tells who did what."""
        ...

    def wait(self, tasks: Iterable[Task], timeout_s: float) -> tuple[TaskResult, ...]:
        """Wait until at least one task ends, and return those that did; empty = the time is up."""
        ...

    def tasks_since(self, object_: str, since: datetime) -> tuple[SeenTask, ...]:
        """Return the tasks of an object queued since a time of the server's clock, the oldest first.

        How a task is found again whose id was lost with the connection.
        """
        ...
