"""The one narrow port to anything that behaves like a vCenter: a real one, or a simulated one.

Arguments are inventory values and plan changes, never ConfigSpecs: how a server wants them encoded is
the adapter's business. Objects are named by managed object id. Every writing method starts a task and
returns at once; `wait` tells how tasks ended. Nothing here decides anything: preconditions, order and
undo are the caller's.

Errors are those of `vplacer.errors`: `VSphereError` and its leaves for what the server refuses.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from vplacer.inventory.cluster import VmHostRule, VmVmRule
from vplacer.inventory.measured import MeasuredHome
from vplacer.inventory.pci import PciAddress
from vplacer.inventory.vcenter import Inventory
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

    def check(self, vm: str, host: str, change: Reconfigure | None) -> tuple[CheckFinding, ...]:
        """Ask the server whether a VM could be changed so and switched on at a host. Changes nothing.

        An empty answer is no promise: how deep the server looks at devices is its own affair.
        """
        ...

    def clone(self, change: Clone) -> Task:
        """Make a VM from a template, switched off. The task's result is its managed object id."""
        ...

    def delete(self, vm: str, change: Delete) -> Task:
        """Remove a VM that is off and has the change's name: only ever one that a `Clone` made."""
        ...

    def reconfigure(self, vm: str, change: Reconfigure, change_version: str) -> Task:
        """Change settings and devices in one task; devices and groups are added and removed together.

        ``change_version`` as read just before: the server refuses if somebody else wrote since.
        A removed device without a key is found by content.
        """
        ...

    def upgrade(self, vm: str, change: UpgradeHardware) -> Task:
        """Upgrade the virtual hardware of a VM that is off. One that has the version is a success."""
        ...

    def relocate(self, vm: str, change: Relocate) -> Task:
        """Move a VM to another host, on shared storage: running (vMotion) or off."""
        ...

    def power(self, vm: str, change: Power) -> Task:
        """Switch a VM on at the change's host, or off. Off asks the guest first where it can."""
        ...

    def override_drs(self, vm: str, change: OverrideDrs) -> Task:
        """Set or clear the VM's own DRS level."""
        ...

    def set_labels(self, changes: Iterable[LabelChange]) -> tuple[Task, ...]:
        """Set hardware labels, one task a host."""
        ...

    def edit_rules(self, changes: Iterable[RuleChange]) -> tuple[Task, ...]:
        """Add, change or remove DRS rules, one task a cluster."""
        ...

    def log_event(self, object_: str, message: str) -> None:
        """Write a user event at an object, so that the server's own log tells who did what."""
        ...

    def wait(self, tasks: Iterable[Task], timeout_s: float) -> tuple[TaskResult, ...]:
        """Wait until at least one task ends, and return those that did; empty = the time is up."""
        ...
