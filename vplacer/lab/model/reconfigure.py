"""ReconfigVM: what vSphere refuses of a change, and the VM after it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final

from vplacer.constraints.filters.hardware_version import limits_of
from vplacer.inventory.host import Host
from vplacer.inventory.limits_table import FIRST_WITH_VNUMA
from vplacer.inventory.vm import NetworkBacking, SriovBacking, Vm, VmPower, VnumaConfig
from vplacer.lab.model.device_edit import EditedDevices, device_faults, edited_devices
from vplacer.lab.model.edit import DeviceEdit, VmEdit
from vplacer.lab.model.faults import LabFault, concurrent_access, invalid_argument, invalid_power_state
from vplacer.plan.changes import Action

_OFF_ONLY: Final = {
    "cores_per_socket": "numCoresPerSocket",
    "cores_per_numa_node": "virtualNuma",
    "vnuma_on_hot_add": "virtualNuma",
    "simultaneous_threads": "simultaneousThreads",
    "cpu_hot_add": "cpuHotAddEnabled",
    "memory_hot_add": "memoryHotAddEnabled",
    "fixed_hot_plug": "fixedPassthruHotPlugEnabled",
    "firmware": "firmware",
    "guest_id": "guestId",
}
"""Fields of a VM that is off (vSphere API: VirtualMachineConfigSpec; vmware-tanzu/vm-operator)."""

_FREE_WHILE_SUSPENDED: Final = frozenset({"name", "extra_config"})

_TYPED_KEYS: Final = frozenset(
    key.lower()
    for key in (
        *("displayName", "annotation", "guestOS", "firmware", "virtualHW.version", "numvcpus", "memSize"),
        *("cpuid.coresPerSocket", "numa.vcpu.coresPerNode", "vcpu.hotadd", "mem.hotadd"),
        *("sched.cpu.min", "sched.cpu.max", "sched.cpu.shares", "sched.cpu.affinity"),
        *("sched.cpu.latencySensitivity", "sched.mem.min", "sched.mem.max", "sched.mem.shares"),
        *("sched.mem.pin", "uuid.bios", "vc.uuid"),
    )
)
"""VMX keys behind typed fields: in extraConfig they are ignored without a word (vSphere API:
VirtualMachineConfigSpec.extraConfig)."""

LATENCIES: Final = frozenset({"low", "normal", "medium", "high"})
_MEMORY_STEP_MIB: Final = 4


@dataclass(frozen=True, slots=True)
class Edited:
    """A VM after a change, its change version apart, and the devices that came and went.

    ``addressed``: NICs that stay and were given a MAC address, by key.
    """

    vm: Vm
    added: tuple[tuple[int, DeviceEdit], ...] = ()
    removed: tuple[int, ...] = ()
    addressed: tuple[tuple[int, str], ...] = ()


def edit_faults(vm: Vm, host: Host | None, edit: VmEdit, *, hot_plug: bool = False) -> Iterator[LabFault]:
    """Yield all that a vCenter says against a change, in the order in which it looks.

    ``host``: the VM's. ``hot_plug``: static devices may be plugged while the VM runs. Whether what a VM
    that runs newly reserves is there, `admission` tells.
    """
    if edit.change_version is not None and edit.change_version != vm.change_version:
        yield concurrent_access()
    yield from _state_faults(vm, edit)
    yield from _version_faults(vm, edit)
    yield from _value_faults(vm, edit)
    faults = list(device_faults(vm, host, edit, hot_plug=hot_plug))
    yield from faults
    if not faults:
        yield from _limit_faults(edited(vm, edit).vm, host, edit)


def edited(vm: Vm, edit: VmEdit) -> Edited:
    """Return the VM after a change that has no faults."""
    cpus = edit.cpus if edit.cpus is not None else vm.cpus
    memory = edit.memory_mib if edit.memory_mib is not None else vm.memory_mib
    locked = edit.memory_locked_to_max if edit.memory_locked_to_max is not None else vm.memory_locked_to_max
    reserved = (
        edit.memory_reservation_mib if edit.memory_reservation_mib is not None else vm.memory_reservation_mib
    )
    limit = vm.memory_limit_mib
    if edit.memory_limit_mib is not None:
        limit = None if edit.memory_limit_mib < 0 else edit.memory_limit_mib
    sockets, sockets_auto = vm.cores_per_socket, vm.cores_per_socket_auto
    if edit.cores_per_socket is not None:
        sockets = edit.cores_per_socket or None
        sockets_auto = sockets is None if _has_vnuma(vm) else vm.cores_per_socket_auto
    found = edited_devices(vm, edit)
    after = replace(
        vm,
        name=edit.name if edit.name is not None else vm.name,
        cpus=cpus,
        cores_per_socket=sockets,
        cores_per_socket_auto=sockets_auto,
        vnuma=_vnuma(vm, edit),
        simultaneous_threads=(
            vm.simultaneous_threads
            if edit.simultaneous_threads is None
            else edit.simultaneous_threads or None
        ),
        memory_mib=memory,
        memory_locked_to_max=locked,
        memory_reservation_mib=memory if locked else reserved,
        memory_limit_mib=limit,
        cpu_reservation_mhz=_or(edit.cpu_reservation_mhz, vm.cpu_reservation_mhz),
        latency_sensitivity=edit.latency_sensitivity or vm.latency_sensitivity,
        cpu_affinity=edit.cpu_affinity if edit.cpu_affinity is not None else vm.cpu_affinity,
        cpu_hot_add=vm.cpu_hot_add if edit.cpu_hot_add is None else edit.cpu_hot_add,
        memory_hot_add=vm.memory_hot_add if edit.memory_hot_add is None else edit.memory_hot_add,
        firmware=edit.firmware or vm.firmware,
        guest_id=edit.guest_id or vm.guest_id,
        extra_config=merged_extra(vm.extra_config, edit.extra_config),
        devices=found.devices,
        device_groups=found.groups,
        networks=_networks(vm, found),
    )
    edits = (item for item in edit.devices if item.action is Action.EDIT)
    addressed = tuple((item.key, item.mac) for item in edits if item.mac is not None)
    return Edited(after, found.added, tuple(device.key for device in found.removed), addressed)


def merged_extra(
    have: tuple[tuple[str, str], ...], changes: tuple[tuple[str, str], ...]
) -> tuple[tuple[str, str], ...]:
    """Return extraConfig after a change: "" deletes, keys of typed fields are ignored, case is none."""
    names = {key.lower(): key for key, _ in have}
    found = dict(have)
    for key, value in changes:
        if key.lower() in _TYPED_KEYS:
            continue
        name = names.setdefault(key.lower(), key)
        if value == "":
            found.pop(name, None)
        else:
            found[name] = value
    return tuple(sorted(found.items()))


def _has_vnuma(vm: Vm) -> bool:
    return vm.hardware_version is not None and vm.hardware_version >= FIRST_WITH_VNUMA


def _or(value: int | None, other: int | None) -> int | None:
    return other if value is None else value


def _vnuma(vm: Vm, edit: VmEdit) -> VnumaConfig:
    shape = vm.vnuma
    if edit.cores_per_numa_node is not None:
        cores = edit.cores_per_numa_node or None
        shape = replace(shape, cores_per_node=cores, auto=cores is None)
    if edit.vnuma_on_hot_add is not None:
        shape = replace(shape, exposed_on_hot_add=edit.vnuma_on_hot_add)
    return shape


def _networks(vm: Vm, found: EditedDevices) -> tuple[str, ...]:
    """The networks of the NICs; one that no device explains stays."""
    before = _network_moids(vm)
    if not found.added and not found.removed and found.devices == vm.devices:
        return vm.networks
    now = [
        device.backing.network
        for device in found.devices
        if isinstance(device.backing, NetworkBacking | SriovBacking) and device.backing.network is not None
    ]
    kept = [moid for moid in vm.networks if moid in now or moid not in before]
    return tuple(dict.fromkeys([*kept, *now]))


def _network_moids(vm: Vm) -> set[str]:
    backings = (device.backing for device in vm.devices)
    return {
        backing.network
        for backing in backings
        if isinstance(backing, NetworkBacking | SriovBacking) and backing.network is not None
    }


def _state_faults(vm: Vm, edit: VmEdit) -> Iterator[LabFault]:
    """What the power state forbids; a field set to what it is already is no change."""
    if vm.power is VmPower.OFF:
        return
    changed = _changed(vm, edit)
    if vm.power is VmPower.SUSPENDED:
        for name in sorted(changed - _FREE_WHILE_SUSPENDED - {"devices", "groups"}):
            yield invalid_power_state(vm.power, VmPower.OFF, name)
        return
    for name in sorted(changed & _OFF_ONLY.keys()):
        yield invalid_power_state(vm.power, VmPower.OFF, _OFF_ONLY[name])
    if "cpus" in changed and not (vm.cpu_hot_add and (edit.cpus or 0) > vm.cpus):
        text = "CPU hot plug is not supported for this virtual machine."
        yield LabFault("CpuHotPlugNotSupported", text)
    if "memory_mib" in changed and not (vm.memory_hot_add and (edit.memory_mib or 0) > vm.memory_mib):
        text = "Memory hot plug is not supported for this virtual machine."
        yield LabFault("MemoryHotPlugNotSupported", text)


def _changed(vm: Vm, edit: VmEdit) -> frozenset[str]:
    """Names of the fields that a call sets to something new."""
    now = {
        "cores_per_socket": 0 if vm.cores_per_socket_auto else vm.cores_per_socket,
        "cores_per_numa_node": 0 if vm.vnuma.auto else vm.vnuma.cores_per_node,
        "vnuma_on_hot_add": vm.vnuma.exposed_on_hot_add,
        "fixed_hot_plug": None,
    }
    plain = ("name", "cpus", "memory_mib", "simultaneous_threads", "cpu_hot_add", "memory_hot_add")
    for name in (*plain, "firmware", "guest_id"):
        now[name] = getattr(vm, name)
    return frozenset(name for name in edit.sets() if name not in now or getattr(edit, name) != now[name])


def _version_faults(vm: Vm, edit: VmEdit) -> Iterator[LabFault]:
    if vm.hardware_version is None or _has_vnuma(vm):
        return
    version = f"vmx-{vm.hardware_version}"
    if edit.cores_per_numa_node or edit.vnuma_on_hot_add:
        text = f"virtualNuma needs hardware version vmx-{FIRST_WITH_VNUMA}; the VM has {version}."
        yield LabFault("InvalidVmConfig", text, property="virtualNuma")
    if edit.cores_per_socket == 0:
        yield invalid_argument("configSpec.numCoresPerSocket", f"{version} has no automatic value")


def _value_faults(vm: Vm, edit: VmEdit) -> Iterator[LabFault]:
    if edit.name == "":
        yield LabFault("InvalidName", "The name '' is invalid.", name="")
    if edit.cpus is not None and edit.cpus < 1:
        yield invalid_argument("configSpec.numCPUs", str(edit.cpus))
    if edit.memory_mib is not None and (edit.memory_mib < 1 or edit.memory_mib % _MEMORY_STEP_MIB):
        yield invalid_argument("configSpec.memoryMB", f"{edit.memory_mib} is no multiple of 4")
    if edit.latency_sensitivity is not None and edit.latency_sensitivity not in LATENCIES:
        yield invalid_argument("configSpec.latencySensitivity", edit.latency_sensitivity)
    for name, value in (
        ("numCoresPerSocket", edit.cores_per_socket),
        ("virtualNuma.coresPerNumaNode", edit.cores_per_numa_node),
        ("cpuAllocation.reservation", edit.cpu_reservation_mhz),
        ("memoryAllocation.reservation", edit.memory_reservation_mib),
    ):
        if value is not None and value < 0:
            yield invalid_argument(f"configSpec.{name}", str(value))
    cpus = edit.cpus if edit.cpus is not None else vm.cpus
    sockets = edit.cores_per_socket
    if sockets is None and edit.cpus is not None and not vm.cores_per_socket_auto:
        sockets = vm.cores_per_socket
    if sockets is not None and sockets > 0 and cpus > 0 and cpus % sockets:
        text = f"{cpus} vCPUs do not divide by {sockets} cores per socket"
        yield invalid_argument("configSpec.numCoresPerSocket", text)
    memory = edit.memory_mib if edit.memory_mib is not None else vm.memory_mib
    reserved = edit.memory_reservation_mib
    if reserved is not None and reserved > memory:
        yield invalid_argument("configSpec.memoryAllocation.reservation", f"{reserved} exceeds {memory} MB")


def _limit_faults(after: Vm, host: Host | None, edit: VmEdit) -> Iterator[LabFault]:
    """Limits of the hardware version; only what the call itself changes is looked at."""
    limits = limits_of(host, after.hardware_version) if host and after.hardware_version else None
    if limits is None:
        return
    if edit.cpus is not None and limits.max_cpus is not None and after.cpus > limits.max_cpus:
        text = f"{after.cpus} virtual CPUs are not supported: at most {limits.max_cpus}."
        yield LabFault(
            "NumVirtualCpusNotSupported", text, maxSupportedVcpusDest=limits.max_cpus, numCpuVm=after.cpus
        )
    most = limits.max_memory_mib
    if edit.memory_mib is not None and most is not None and after.memory_mib > most:
        text = f"{after.memory_mib} MB of memory are not supported: at most {most}."
        yield LabFault(
            "MemorySizeNotSupported",
            text,
            memorySizeMB=after.memory_mib,
            minMemorySizeMB=4,
            maxMemorySizeMB=most,
        )
    most = limits.max_cores_per_socket
    cores = after.cores_per_socket
    if edit.cores_per_socket and most is not None and cores is not None and cores > most:
        yield invalid_argument("configSpec.numCoresPerSocket", f"{cores} exceeds {most}")
    if edit.devices or edit.groups:
        yield from too_many_devices(after, host)


def too_many_devices(vm: Vm, host: Host | None) -> Iterator[LabFault]:
    """Yield a fault for each kind of device of which a VM has more than its version has room for."""
    from vplacer.lab.model.device_counts import counts_of

    limits = limits_of(host, vm.hardware_version) if host and vm.hardware_version else None
    if limits is None:
        return
    counts = counts_of(vm)
    for what, count, most in (
        ("passthrough devices", counts.passthrough, limits.max_passthrough),
        ("vGPUs", counts.vgpus, limits.max_vgpus),
        ("device groups", len(vm.device_groups), limits.max_device_groups),
    ):
        if most is not None and count > most:
            text = f"Too many devices: {count} {what}, at most {most} at vmx-{vm.hardware_version}."
            yield LabFault("TooManyDevices", text, property="deviceChange")
