"""VirtualMachineConfigSpec: what it changes, and which privileges that takes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from vplacer.inventory.vm import Vm
from vplacer.lab.model.edit import GroupEdit, VmEdit
from vplacer.lab.soap.decode.devices import NetworkNamed, device_edits
from vplacer.lab.soap.decode.members import invalid_argument, not_supported, refuse_others, set_members
from vplacer.lab.soap.wire import typetable

_CPU, _MEMORY, _RESOURCE = "CPUCount", "Memory", "Resource"
_SETTINGS, _ADVANCED, _DEVICES = "Settings", "AdvancedConfig", "AddRemoveDevice"

PRIVILEGES: Final[dict[str, str | None]] = {
    "changeVersion": None,
    "name": "Rename",
    "guestId": _SETTINGS,
    "firmware": _SETTINGS,
    "numCPUs": _CPU,
    "numCoresPerSocket": _CPU,
    "simultaneousThreads": _CPU,
    "virtualNuma": _CPU,
    "cpuHotAddEnabled": _CPU,
    "memoryMB": _MEMORY,
    "memoryHotAddEnabled": _MEMORY,
    "memoryReservationLockedToMax": _RESOURCE,
    "cpuAllocation": _RESOURCE,
    "memoryAllocation": _RESOURCE,
    "latencySensitivity": _RESOURCE,
    "cpuAffinity": _RESOURCE,
    "extraConfig": _ADVANCED,
    "fixedPassthruHotPlugEnabled": _SETTINGS,
    "deviceGroups": _DEVICES,
    "deviceChange": None,
}
"""Members that the lab understands, and the VirtualMachine.Config privilege each takes (vSphere API:
VirtualMachineConfigSpec). Of a device change it depends on the operation."""


def vm_edit(spec: Any, vm: Vm, network_named: NetworkNamed) -> VmEdit:
    """Return what a ConfigSpec changes.

    Raises:
        vmodl.fault.NotSupported: a member that the lab does not understand is set.
        vmodl.fault.InvalidArgument: a value makes no sense.
    """
    refuse_others(spec, PRIVILEGES, "spec")
    vnuma, latency, affinity = spec.virtualNuma, spec.latencySensitivity, spec.cpuAffinity
    if vnuma is not None:
        refuse_others(vnuma, ("coresPerNumaNode", "exposeVnumaOnCpuHotadd"), "spec.virtualNuma")
    cpu = _allocation(spec.cpuAllocation, "spec.cpuAllocation", ("reservation",))
    memory = _allocation(spec.memoryAllocation, "spec.memoryAllocation", ("reservation", "limit"))
    return VmEdit(
        change_version=spec.changeVersion,
        name=spec.name or None,
        cpus=spec.numCPUs,
        cores_per_socket=spec.numCoresPerSocket,
        cores_per_numa_node=vnuma.coresPerNumaNode if vnuma else None,
        vnuma_on_hot_add=vnuma.exposeVnumaOnCpuHotadd if vnuma else None,
        simultaneous_threads=spec.simultaneousThreads,
        memory_mib=None if spec.memoryMB is None else int(spec.memoryMB),
        memory_locked_to_max=spec.memoryReservationLockedToMax,
        memory_reservation_mib=memory.get("reservation"),
        memory_limit_mib=memory.get("limit"),
        cpu_reservation_mhz=cpu.get("reservation"),
        latency_sensitivity=None if latency is None else str(latency.level),
        cpu_affinity=None if affinity is None else tuple(int(cpu) for cpu in affinity.affinitySet),
        cpu_hot_add=spec.cpuHotAddEnabled,
        memory_hot_add=spec.memoryHotAddEnabled,
        fixed_hot_plug=spec.fixedPassthruHotPlugEnabled,
        firmware=spec.firmware or None,
        guest_id=spec.guestId or None,
        extra_config=tuple(_options(spec.extraConfig)),
        devices=device_edits(spec.deviceChange, vm, network_named),
        groups=tuple(_groups(spec.deviceGroups)),
    )


def privileges(spec: Any) -> tuple[str, ...]:
    """List the privileges that a ConfigSpec takes, each once."""
    wanted = [PRIVILEGES.get(name) for name in set_members(spec)]
    for change in spec.deviceChange:
        wanted.append("EditDevice" if change.operation == "edit" else _DEVICES)
    return tuple(dict.fromkeys(f"VirtualMachine.Config.{name}" for name in wanted if name is not None))


def _allocation(allocation: Any, where: str, understood: tuple[str, ...]) -> dict[str, int]:
    """Return the understood members that are set. Usual shares and no limit are what the lab has anyway."""
    if allocation is None:
        return {}
    known = {*understood, "expandableReservation"}
    if allocation.shares is not None and allocation.shares.level == "normal":
        known.add("shares")
    if allocation.limit == -1:
        known.add("limit")
    refuse_others(allocation, known, where)
    values = {name: getattr(allocation, name) for name in understood}
    return {name: int(value) for name, value in values.items() if value is not None}


def _options(options: Any) -> Iterator[tuple[str, str]]:
    for option in options:
        if not option.key:
            raise invalid_argument("spec.extraConfig.key", "empty")
        yield option.key, "" if option.value is None else _text(option.value)


def _text(value: Any) -> str:
    # Values read back as text, whatever was written; a truth as vSphere spells it.
    return str(value).upper() if isinstance(value, bool) else str(value)


def _groups(groups: Any) -> Iterator[GroupEdit]:
    for group in groups.deviceGroup if groups is not None else ():
        name = getattr(group, "deviceGroupName", None)
        if not name:
            raise not_supported(f"device groups of type {typetable.wire_name(type(group))}")
        yield GroupEdit(group.groupInstanceKey, name)
