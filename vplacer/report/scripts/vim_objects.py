"""Changes as data objects of the vSphere API, for languages that can say all of it.

Type and member names are those of the vSphere API (vim.vm.ConfigSpec and what hangs below it).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, TypeAlias

from vplacer.inventory.pci import signed16
from vplacer.inventory.vm import (
    Backing,
    DvxBacking,
    DynamicBacking,
    SriovBacking,
    StaticBacking,
    VgpuBacking,
)
from vplacer.plan.changes import Action, DeviceChange, ExtraConfigChange, Field, FieldChange, Reconfigure

_AUTO_CORES_FROM: Final = 20
"""Below this hardware version, 1 stands for "automatic" cores per socket, since 0 is refused
(vmware-tanzu/vm-operator)."""

Value: TypeAlias = "int | bool | str | Vim | tuple[Value, ...]"


@dataclass(frozen=True, slots=True)
class Vim:
    """A data object: type name, and members that are set."""

    type: str
    members: tuple[tuple[str, Value], ...]


@dataclass(frozen=True, slots=True)
class NewDevice:
    """A device to be added.

    ``network``: its card's network by id, whose backing the script must look up. ``ports``: addresses of
    the physical and the virtual function of an SR-IOV card, whose backings it must look up too.
    """

    ref: str
    device: Vim
    network: str | None = None
    ports: tuple[str | None, str | None] = (None, None)


@dataclass(frozen=True, slots=True)
class NewMember:
    """A member of a device group to be added: a copy of the host's template with this sequence id."""

    sequence: int
    numa_node: int | None
    network: str | None


@dataclass(frozen=True, slots=True)
class NewGroup:
    """A device group to be added whole; ``key`` is its temporary one, those of its members follow it."""

    name: str
    key: int
    members: tuple[NewMember, ...]


@dataclass(frozen=True, slots=True)
class DeviceWork:
    """What happens to the devices of a VM in one reconfigure.

    ``removed``: keys. ``edited``: key and vNUMA node (-1 = none).
    """

    removed: tuple[int, ...]
    edited: tuple[tuple[int, int], ...]
    added: tuple[NewDevice, ...]
    groups: tuple[NewGroup, ...]


def vim(type_: str, **members: Value | None) -> Vim:
    """Return a data object; members that are None stay unset."""
    return Vim(type_, tuple((name, value) for name, value in members.items() if value is not None))


def spec_members(change: Reconfigure, hardware_version: int | None) -> tuple[tuple[str, Value], ...]:
    """Return the members of the ConfigSpec for typed fields and extraConfig."""
    found: dict[str, Value] = {}
    vnuma: dict[str, Value] = {}
    for item in change.fields:
        _field(item, hardware_version, found, vnuma)
    if vnuma:
        found["virtualNuma"] = Vim("VirtualMachineVirtualNuma", tuple(vnuma.items()))
    if change.extra_config:
        found["extraConfig"] = tuple(_option(item) for item in change.extra_config)
    return tuple(found.items())


def _field(
    item: FieldChange, hardware_version: int | None, found: dict[str, Value], vnuma: dict[str, Value]
) -> None:
    after = item.after
    number = after if isinstance(after, int) else None
    match item.field:
        case Field.CPUS:
            found["numCPUs"] = number or 0
        case Field.CORES_PER_SOCKET:
            automatic = 0 if (hardware_version or 0) >= _AUTO_CORES_FROM else 1
            found["numCoresPerSocket"] = automatic if number is None else number
        case Field.CORES_PER_NUMA_NODE:
            vnuma["coresPerNumaNode"] = 0 if number is None else number
        case Field.VNUMA_ON_HOT_ADD:
            vnuma["exposeVnumaOnCpuHotadd"] = bool(after)
        case Field.MEMORY_MIB:
            found["memoryMB"] = number or 0
        case Field.MEMORY_LOCKED_TO_MAX:
            found["memoryReservationLockedToMax"] = bool(after)
        case Field.MEMORY_LIMIT_MIB:
            _allocate(found, "limit", -1 if number is None else number)
        case Field.MEMORY_RESERVED_MIB:
            _allocate(found, "reservation", number or 0)
        case Field.CPU_RESERVATION_MHZ:
            found["cpuAllocation"] = vim("ResourceAllocationInfo", reservation=number or 0)
        case Field.LATENCY_SENSITIVITY:
            found["latencySensitivity"] = vim("LatencySensitivity", level=str(after or "normal"))
        case Field.CPU_AFFINITY:
            cpus = after if isinstance(after, tuple) else ()
            found["cpuAffinity"] = vim("VirtualMachineAffinityInfo", affinitySet=tuple(cpus))


def _allocate(found: dict[str, Value], member: str, value: int) -> None:
    """Set a member of the memory allocation, beside one that is there."""
    earlier = found.get("memoryAllocation")
    members = dict(earlier.members) if isinstance(earlier, Vim) else {}
    found["memoryAllocation"] = Vim("ResourceAllocationInfo", tuple({**members, member: value}.items()))


def _option(item: ExtraConfigChange) -> Vim:
    return vim("OptionValue", key=item.key, value=item.after or "")


def device_work(change: Reconfigure) -> DeviceWork:
    """Return what happens to devices, with temporary keys for those that are added.

    Devices that only what they are tells apart (an undo of an addition) are not in it.
    """
    added = [item for item in change.devices if item.action is Action.ADD and item.after is not None]
    single = [item for item in added if item.after is not None and item.after.group is None]
    key = -1 - len(single)
    groups = []
    for item in change.groups:
        if item.action is Action.ADD:
            members = _members(added, item.group.ref)
            groups.append(NewGroup(item.group.name, key, members))
            key -= 1 + len(members)
    return DeviceWork(
        removed=tuple(i.key for i in change.devices if i.action is Action.REMOVE and i.key is not None),
        edited=tuple(_edited(change)),
        added=tuple(_new(item, -1 - position) for position, item in enumerate(single)),
        groups=tuple(groups),
    )


def _edited(change: Reconfigure) -> Iterator[tuple[int, int]]:
    for item in change.devices:
        if item.action is Action.EDIT and item.key is not None and item.after is not None:
            yield item.key, -1 if item.after.numa_node is None else item.after.numa_node


def _members(added: list[DeviceChange], ref: str) -> tuple[NewMember, ...]:
    values = [item.after for item in added if item.after is not None]
    inside = [value for value in values if value.group is not None and value.group.ref == ref]
    return tuple(
        NewMember(
            position if value.sequence is None else value.sequence,
            value.numa_node,
            value.backing.network if isinstance(value.backing, SriovBacking) else None,
        )
        for position, value in enumerate(inside)
    )


def _new(item: DeviceChange, key: int) -> NewDevice:
    assert item.after is not None
    backing, node = item.after.backing, item.after.numa_node
    if isinstance(backing, SriovBacking):
        connect = vim(
            "VirtualDeviceConnectInfo", startConnected=True, allowGuestControl=True, connected=False
        )
        ports = tuple(str(p) if p else None for p in (backing.physical_function, backing.virtual_function))
        return NewDevice(
            item.ref,
            vim("VirtualSriovEthernetCard", key=key, numaNode=node, connectable=connect),
            backing.network,
            (ports[0], ports[1]),
        )
    device = vim("VirtualPCIPassthrough", key=key, numaNode=node, backing=_backing(backing))
    return NewDevice(item.ref, device)


def _backing(backing: Backing) -> Vim:
    match backing:
        case StaticBacking():
            return vim(
                "VirtualPCIPassthroughDeviceBackingInfo",
                deviceName=backing.device_name,
                id=str(backing.address),
                deviceId=backing.device_id,
                systemId=backing.system_id,
                vendorId=signed16(backing.vendor_id),
            )
        case DynamicBacking():
            allowed = tuple(
                vim(
                    "VirtualPCIPassthroughAllowedDevice",
                    vendorId=one.vendor,
                    deviceId=one.device,
                    subVendorId=one.sub_vendor,
                    subDeviceId=one.sub_device,
                )
                for one in backing.allowed
            )
            return vim(
                "VirtualPCIPassthroughDynamicBackingInfo",
                deviceName="",
                allowedDevice=allowed,
                customLabel=backing.label,
            )
        case VgpuBacking():
            return vim("VirtualPCIPassthroughVmiopBackingInfo", vgpu=backing.profile)
        case DvxBacking():
            params = tuple(vim("OptionValue", key=key, value=value) for key, value in backing.params)
            return vim(
                "VirtualPCIPassthroughDvxBackingInfo", deviceClass=backing.device_class, configParams=params
            )
        case _:
            raise AssertionError(backing)
