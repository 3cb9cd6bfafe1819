"""What each thing that a plan writes needs: API and hardware version, power state, privileges.

One table for code, documentation and plan output. Names are those of the vSphere Web Services API. API
versions and the privileges of methods are those of its type tables; privileges of the members of
VirtualMachineConfigSpec are the comments "Reconfigure privilege" of the API reference.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from vplacer.inventory.vm import (
    Backing,
    DvxBacking,
    DynamicBacking,
    SriovBacking,
    StaticBacking,
    VgpuBacking,
    VmPower,
)
from vplacer.plan.changes import (
    Action,
    Change,
    Clone,
    Delete,
    DeviceChange,
    Field,
    OverrideDrs,
    Power,
    Reconfigure,
    Relocate,
    UpgradeHardware,
)


class PowerNeed(StrEnum):
    """In which power state a thing can be written.

    CYCLE: in any state, and it counts after the next power cycle of a running VM. GROW: off, and while
    it runs upwards only, where hot-add is switched on.
    """

    ANY = "any"
    CYCLE = "cycle"
    GROW = "grow"
    OFF = "off"
    ON = "on"


@dataclass(frozen=True, slots=True)
class Feature:
    """One thing that is written.

    ``members``: methods, types and fields it is written with. ``api``: the first API version that has
    them. ``hardware``: lowest virtual hardware version, None = any. ``privileges``: kind of object and
    privilege; "Folder" means the root folder.
    """

    id: str
    title: str
    members: tuple[str, ...]
    api: str
    hardware: int | None
    power: PowerNeed
    privileges: tuple[tuple[str, str], ...]
    source: str


_VM, _POOL, _HOST, _CLUSTER = "VirtualMachine", "ResourcePool", "HostSystem", "ClusterComputeResource"
_FOLDER, _NETWORK, _DATASTORE = "Folder", "Network", "Datastore"
_SPEC = "VirtualMachineConfigSpec"
_CPU = (_VM, "VirtualMachine.Config.CPUCount")
_MEMORY = (_VM, "VirtualMachine.Config.Memory")
_RESOURCE = (_VM, "VirtualMachine.Config.Resource")
_ADVANCED = (_VM, "VirtualMachine.Config.AdvancedConfig")
_ADD_REMOVE = (_VM, "VirtualMachine.Config.AddRemoveDevice")
_EDIT_DEVICE = (_VM, "VirtualMachine.Config.EditDevice")
_ASSIGN_POOL = (_POOL, "Resource.AssignVMToPool")
_ASSIGN_NETWORK = (_NETWORK, "Network.Assign")
_POWER_OFF = (_VM, "VirtualMachine.Interact.PowerOff")
_EDIT_CLUSTER = (_CLUSTER, "Host.Inventory.EditCluster")
_API = "vSphere API"
_OPERATOR = "vSphere API; vmware-tanzu/vm-operator"


def _setting(
    id_: str,
    title: str,
    member: str,
    api: str,
    power: PowerNeed,
    privilege: tuple[str, str],
    source: str = _OPERATOR,
    *,
    hardware: int | None = None,
) -> Feature:
    return Feature(id_, title, (f"{_SPEC}.{member}",), api, hardware, power, (privilege,), source)


def _device(
    id_: str, title: str, type_name: str, api: str, hardware: int | None, source: str, *more: tuple[str, str]
) -> Feature:
    return Feature(id_, title, (type_name,), api, hardware, PowerNeed.OFF, (_ADD_REMOVE, *more), source)


def _method(
    id_: str, title: str, method: str, power: PowerNeed, *privileges: tuple[str, str], api: str = "2.0"
) -> Feature:
    return Feature(id_, title, (method,), api, None, power, privileges, _API)


FEATURES: Final[tuple[Feature, ...]] = (
    _setting("cpus", "vCPUs", "numCPUs", "2.0", PowerNeed.GROW, _CPU),
    _setting("cores_per_socket", "cores per socket", "numCoresPerSocket", "5.0", PowerNeed.OFF, _CPU),
    _setting("vnuma", "vNUMA topology", "virtualNuma", "8.0.0.1", PowerNeed.OFF, _CPU, hardware=20),
    _setting("memory", "memory size", "memoryMB", "2.0", PowerNeed.GROW, _MEMORY),
    _setting(
        "memory_locked",
        "all memory reserved",
        "memoryReservationLockedToMax",
        "5.0",
        PowerNeed.ANY,
        _RESOURCE,
    ),
    _setting(
        "memory_limit", "memory limit, reservation", "memoryAllocation", "2.0", PowerNeed.ANY, _RESOURCE
    ),
    _setting("cpu_reservation", "CPU reservation", "cpuAllocation", "2.0", PowerNeed.ANY, _RESOURCE),
    _setting("latency", "latency sensitivity", "latencySensitivity", "5.1", PowerNeed.ANY, _RESOURCE),
    _setting("cpu_affinity", "CPU affinity", "cpuAffinity", "2.0", PowerNeed.ANY, _RESOURCE, _API),
    _setting("extra_config", "advanced settings", "extraConfig", "2.0", PowerNeed.CYCLE, _ADVANCED),
    Feature(
        "device_numa_node",
        "vNUMA node of a device",
        ("VirtualDevice.numaNode",),
        "8.0.0.1",
        20,
        PowerNeed.OFF,
        (_EDIT_DEVICE,),
        _OPERATOR,
    ),
    _device("static", "static DirectPath I/O", "VirtualPCIPassthroughDeviceBackingInfo", "4.0", None, _API),
    _device(
        "dynamic",
        "Dynamic DirectPath I/O",
        "VirtualPCIPassthroughDynamicBackingInfo",
        "7.0.0.0",
        17,
        _OPERATOR,
    ),
    _device("vgpu", "vGPU", "VirtualPCIPassthroughVmiopBackingInfo", "6.0", None, _API),
    _device("dvx", "Enhanced DirectPath I/O", "VirtualPCIPassthroughDvxBackingInfo", "8.0.0.1", None, _API),
    _device("sriov", "SR-IOV network card", "VirtualSriovEthernetCard", "5.5", None, _API, _ASSIGN_NETWORK),
    Feature(
        "device_group",
        "vendor device group",
        (f"{_SPEC}.deviceGroups", "VirtualDevice.deviceGroupInfo"),
        "8.0.0.1",
        20,
        PowerNeed.OFF,
        (_ADD_REMOVE,),
        "vSphere API; hardware version inferred from it (BOSH vSphere CPI upgrades before it adds one)",
    ),
    Feature(
        "remove_device",
        "removal of a device",
        (f"{_SPEC}.deviceChange",),
        "2.0",
        None,
        PowerNeed.OFF,
        (_ADD_REMOVE,),
        _API,
    ),
    _method(
        "upgrade",
        "upgrade of the virtual hardware",
        "UpgradeVM_Task",
        PowerNeed.OFF,
        (_VM, "VirtualMachine.Config.UpgradeVirtualHardware"),
    ),
    _method(
        "clone",
        "clone from a template",
        "CloneVM_Task",
        PowerNeed.ANY,
        (_VM, "VirtualMachine.Provisioning.DeployTemplate"),
        (_FOLDER, "VirtualMachine.Inventory.CreateFromExisting"),
        _ASSIGN_POOL,
        (_DATASTORE, "Datastore.AllocateSpace"),
        _ASSIGN_NETWORK,
    ),
    _method(
        "delete",
        "removal of a VM that the plan made",
        "Destroy_Task",
        PowerNeed.OFF,
        (_VM, "VirtualMachine.Inventory.Delete"),
    ),
    _method(
        "relocate",
        "move of a VM that is off",
        "RelocateVM_Task",
        PowerNeed.OFF,
        (_VM, "Resource.ColdMigrate"),
        _ASSIGN_POOL,
    ),
    _method(
        "migrate",
        "move of a running VM (vMotion)",
        "RelocateVM_Task",
        PowerNeed.ON,
        (_VM, "Resource.HotMigrate"),
        _ASSIGN_POOL,
    ),
    _method(
        "power_on", "power on", "PowerOnVM_Task", PowerNeed.OFF, (_VM, "VirtualMachine.Interact.PowerOn")
    ),
    _method("power_off", "power off", "PowerOffVM_Task", PowerNeed.ANY, _POWER_OFF),
    _method("shut_down", "shutdown by the guest", "ShutdownGuest", PowerNeed.ON, _POWER_OFF),
    Feature(
        "drs_override",
        "DRS level of a VM",
        ("ReconfigureComputeResource_Task", "ClusterConfigSpecEx.drsVmConfigSpec"),
        "2.5",
        None,
        PowerNeed.ANY,
        (_EDIT_CLUSTER,),
        _API,
    ),
    Feature(
        "drs_rule",
        "DRS rule",
        (
            "ReconfigureComputeResource_Task",
            "ClusterConfigSpecEx.rulesSpec",
            "ClusterConfigSpecEx.groupSpec",
        ),
        "4.1",
        None,
        PowerNeed.ANY,
        (_EDIT_CLUSTER,),
        _API,
    ),
    Feature(
        "label",
        "hardware label of a card",
        ("UpdatePassthruConfig", "HostPciPassthruConfig.hardwareLabel"),
        "7.0.2.0",
        None,
        PowerNeed.ANY,
        ((_HOST, "Host.Config.PciPassthru"),),
        _API,
    ),
    _method("event", "event at a VM", "LogUserEvent", PowerNeed.ANY, (_FOLDER, "Global.LogEvent")),
)
"""Everything that is written to a vCenter."""

FEATURE: Final = {feature.id: feature for feature in FEATURES}
"""Features by id."""

_BY_MEMBER: Final = {member: feature for feature in reversed(FEATURES) for member in feature.members}

_OF_FIELD: Final = {
    Field.CPUS: "cpus",
    Field.CORES_PER_SOCKET: "cores_per_socket",
    Field.CORES_PER_NUMA_NODE: "vnuma",
    Field.VNUMA_ON_HOT_ADD: "vnuma",
    Field.MEMORY_MIB: "memory",
    Field.MEMORY_LOCKED_TO_MAX: "memory_locked",
    Field.MEMORY_RESERVED_MIB: "memory_limit",
    Field.MEMORY_LIMIT_MIB: "memory_limit",
    Field.CPU_RESERVATION_MHZ: "cpu_reservation",
    Field.LATENCY_SENSITIVITY: "latency",
    Field.CPU_AFFINITY: "cpu_affinity",
}


@dataclass(frozen=True, slots=True)
class Needs:
    """What a step needs in all: the highest versions, every power state, every privilege; each once."""

    api: str
    hardware: int | None
    power: tuple[PowerNeed, ...]
    privileges: tuple[tuple[str, str], ...]


def feature_of_member(member: str) -> Feature | None:
    """Return the feature that a method, a type or a ``Type.field`` belongs to."""
    return _BY_MEMBER.get(member)


def features_of(change: Change) -> tuple[Feature, ...]:
    """Return what a change writes, in the order of the table."""
    used = set(_feature_ids(change))
    return tuple(feature for feature in FEATURES if feature.id in used)


def needs_of(features: Iterable[Feature]) -> Needs:
    """Add up what several features need."""
    used = list(features)
    hardware = [feature.hardware for feature in used if feature.hardware is not None]
    return Needs(
        api=max((feature.api for feature in used), key=version_number, default="2.0"),
        hardware=max(hardware, default=None),
        power=tuple(need for need in PowerNeed if any(feature.power is need for feature in used)),
        privileges=tuple(dict.fromkeys(pair for feature in used for pair in feature.privileges)),
    )


def version_number(text: str) -> tuple[int, ...]:
    """Return an API version as comparable numbers."""
    return tuple(int(part) for part in text.split("."))


def _feature_ids(change: Change) -> Iterable[str]:
    match change:
        case Clone():
            yield "clone"
        case Delete():
            yield "delete"
        case UpgradeHardware():
            yield "upgrade"
        case Relocate(live=live):
            yield "migrate" if live else "relocate"
        case OverrideDrs():
            yield "drs_override"
        case Power(after=VmPower.ON):
            yield "power_on"
        case Power():
            yield "power_off"
        case Reconfigure():
            yield from (_OF_FIELD[item.field] for item in change.fields)
            yield from ("extra_config" for _ in change.extra_config)
            yield from ("device_group" for item in change.groups if item.action is Action.ADD)
            for device in change.devices:
                yield from _of_device(device)


def _of_device(change: DeviceChange) -> Iterable[str]:
    if change.action is Action.REMOVE:
        yield "remove_device"
        return
    if change.after is None:
        return
    if change.after.numa_node is not None:
        yield "device_numa_node"
    if change.action is Action.ADD:
        if change.after.group is not None:
            yield "device_group"
        kind = backing_feature(change.after.backing)
        if kind is not None:
            yield kind


def backing_feature(backing: Backing) -> str | None:
    """Return the id of the feature that a device is attached with; None = its type alone does not tell."""
    match backing:
        case StaticBacking():
            return "static"
        case DynamicBacking():
            return "dynamic"
        case VgpuBacking():
            return "vgpu"
        case DvxBacking():
            return "dvx"
        case SriovBacking():
            return "sriov"
        case _:
            return None


def features_markdown() -> str:
    """Return the table as the documentation prints it."""
    lines = [
        "| what | written with | API | hardware | power | privileges |",
        "|---|---|---|---|---|---|",
    ]
    words = {
        PowerNeed.ANY: "any",
        PowerNeed.CYCLE: "any; counts after a power cycle",
        PowerNeed.GROW: "off; upwards while it runs where hot-add is on",
        PowerNeed.OFF: "off",
        PowerNeed.ON: "on",
    }
    for feature in FEATURES:
        members = ", ".join(f"`{member}`" for member in feature.members)
        hardware = "any" if feature.hardware is None else str(feature.hardware)
        privileges = ", ".join(f"`{privilege}`" for _, privilege in feature.privileges)
        lines.append(
            f"| {feature.title} | {members} | {feature.api} | {hardware} | {words[feature.power]} "
            f"| {privileges} |"
        )
    return "\n".join(lines)
