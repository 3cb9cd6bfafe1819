"""What a step changes, as values: the arguments of the port's writing methods.

Each change holds the state before and the state after, so that it can be shown, checked against what
is there now, and undone. None of them knows how a vCenter encodes it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TypeAlias

from vplacer.inventory.vm import Backing, VmPower
from vplacer.request.demand import BoundBy

Scalar: TypeAlias = int | bool | str | tuple[int, ...] | None
"""A field's value; None = unset (automatic, no limit, no reservation)."""


class Field(StrEnum):
    """Typed fields of a VM's configuration that a plan may change.

    CORES_PER_NUMA_NODE None = automatic. VNUMA_ON_HOT_ADD: whether vNUMA is shown to the guest though
    CPU hot-add is on. MEMORY_RESERVED_MIB: only ever in an undo, of a VM whose memory
    was not all reserved before. MEMORY_LIMIT_MIB None = no limit. CPU_AFFINITY: CPUs the VM is pinned to; the
    empty tuple clears it.
    """

    CPUS = "cpus"
    CORES_PER_SOCKET = "cores_per_socket"
    CORES_PER_NUMA_NODE = "cores_per_numa_node"
    VNUMA_ON_HOT_ADD = "vnuma_on_hot_add"
    MEMORY_MIB = "memory_mib"
    MEMORY_LOCKED_TO_MAX = "memory_locked_to_max"
    MEMORY_RESERVED_MIB = "memory_reserved_mib"
    MEMORY_LIMIT_MIB = "memory_limit_mib"
    CPU_RESERVATION_MHZ = "cpu_reservation_mhz"
    LATENCY_SENSITIVITY = "latency_sensitivity"
    CPU_AFFINITY = "cpu_affinity"


@dataclass(frozen=True, slots=True)
class FieldChange:
    """One typed field."""

    field: Field
    before: Scalar
    after: Scalar


@dataclass(frozen=True, slots=True)
class ExtraConfigChange:
    """One extraConfig key; None = absent. An absent value is written as "", which deletes the key."""

    key: str
    before: str | None
    after: str | None


class Action(StrEnum):
    """What happens to a device or a device group."""

    ADD = "add"
    REMOVE = "remove"
    EDIT = "edit"


@dataclass(frozen=True, slots=True)
class GroupRef:
    """A device group a VM has or will have: ``ref`` within the plan, and the vendor's name of its type."""

    ref: str
    name: str


@dataclass(frozen=True, slots=True)
class DeviceValue:
    """A device by content, without the key that vSphere gives it.

    ``numa_node`` is the vNUMA node the guest is told: None = unset, negative = none
    (vSphere API: VirtualDevice.numaNode; unset in a change = keep, so clearing sends -1).
    ``group``: the device group it belongs to; ``sequence``: its place in the group, from the vendor's
    template. A member whose content only the host's template tells has an `UnknownBacking` that names
    the member's kind.
    """

    backing: Backing
    numa_node: int | None = None
    group: GroupRef | None = None
    sequence: int | None = None


@dataclass(frozen=True, slots=True)
class DeviceChange:
    """One device added, removed or edited (only ``numa_node`` is ever edited).

    ``ref`` names the device within the plan ("gpu0", "nic1", "device 13000" for one to be removed).
    ``key`` is the key of a device the VM has; None for one to be added, or one that an earlier step
    added: that one is found by content. ``bound_by``: who chooses the card of a device that the request
    asks for; None for one that goes.
    """

    action: Action
    ref: str
    key: int | None
    before: DeviceValue | None
    after: DeviceValue | None
    bound_by: BoundBy | None = None


@dataclass(frozen=True, slots=True)
class GroupChange:
    """A vendor device group added or removed whole, in the same task as all its members.

    ``key``: of a group the VM has; None for one to be added, or one that an earlier step added.
    """

    action: Action
    group: GroupRef
    key: int | None


@dataclass(frozen=True, slots=True)
class Reconfigure:
    """Everything one reconfigure task changes."""

    fields: tuple[FieldChange, ...] = ()
    extra_config: tuple[ExtraConfigChange, ...] = ()
    devices: tuple[DeviceChange, ...] = ()
    groups: tuple[GroupChange, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.fields or self.extra_config or self.devices or self.groups)

    def field(self, field: Field) -> FieldChange | None:
        """Return the change of one typed field, or None where it stays."""
        return next((change for change in self.fields if change.field is field), None)


@dataclass(frozen=True, slots=True)
class Clone:
    """A VM made from a template, not powered on. ``datastore`` None = the template's own."""

    template: str
    name: str
    host: str
    pool: str | None
    datastore: str | None
    folder: str


@dataclass(frozen=True, slots=True)
class Delete:
    """A VM that this plan made is taken away again; only ever the undo of a `Clone`."""

    name: str


@dataclass(frozen=True, slots=True)
class UpgradeHardware:
    """Virtual hardware versions (20 = vmx-20). Cannot be undone."""

    before: int
    after: int


@dataclass(frozen=True, slots=True)
class Power:
    """A change of the power state; ``host`` is where a VM is powered on."""

    before: VmPower
    after: VmPower
    host: str | None


@dataclass(frozen=True, slots=True)
class Relocate:
    """Another host, within reach of the VM's storage. ``live`` = vMotion, else the VM is off."""

    host_before: str
    host_after: str
    pool_before: str | None
    pool_after: str | None
    live: bool


@dataclass(frozen=True, slots=True)
class OverrideDrs:
    """The VM's own DRS level in its cluster; None = it follows the cluster."""

    cluster: str
    before: str | None
    after: str | None


Change: TypeAlias = Clone | Delete | UpgradeHardware | Power | Reconfigure | Relocate | OverrideDrs


def inverse(change: Change) -> Change | None:
    """Return the change that restores the state before; None where nothing does.

    Devices that the change adds are removed by content, since their keys are not known yet.
    """
    match change:
        case Clone():
            return Delete(change.name)
        case Reconfigure():
            return _inverse_reconfigure(change)
        case Power():
            return (
                None
                if change.before is VmPower.SUSPENDED
                else Power(change.after, change.before, change.host)
            )
        case Relocate():
            return Relocate(
                change.host_after, change.host_before, change.pool_after, change.pool_before, change.live
            )
        case OverrideDrs():
            return OverrideDrs(change.cluster, change.after, change.before)
        case UpgradeHardware() | Delete():
            return None


_OPPOSITE = {Action.ADD: Action.REMOVE, Action.REMOVE: Action.ADD, Action.EDIT: Action.EDIT}


def _inverse_reconfigure(change: Reconfigure) -> Reconfigure:
    return Reconfigure(
        tuple(FieldChange(item.field, item.after, item.before) for item in change.fields),
        tuple(ExtraConfigChange(item.key, item.after, item.before) for item in change.extra_config),
        tuple(_inverse_device(item) for item in change.devices),
        tuple(replace(item, action=_OPPOSITE[item.action], key=None) for item in change.groups),
    )


def _inverse_device(change: DeviceChange) -> DeviceChange:
    action = _OPPOSITE[change.action]
    key = change.key if action is Action.EDIT else None
    before, after = change.after, change.before
    if action is Action.EDIT and after is not None and after.numa_node is None:
        after = replace(after, numa_node=-1)
    return DeviceChange(action, change.ref, key, before, after, change.bound_by)
