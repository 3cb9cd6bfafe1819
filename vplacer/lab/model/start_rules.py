"""What a VM's own configuration must be for a host to start it."""

from __future__ import annotations

from collections.abc import Iterator

from vplacer.inventory.host import Host
from vplacer.inventory.limits_table import FIRST_WITH_DYNAMIC, FIRST_WITH_VNUMA
from vplacer.inventory.vm import DynamicBacking, StaticBacking, Vm
from vplacer.lab.model.device_edit import is_passthrough
from vplacer.lab.model.faults import LabFault, vm_config
from vplacer.lab.model.reconfigure import too_many_devices


def config_faults(vm: Vm, host: Host) -> Iterator[LabFault]:
    """Yield what a host says against a VM's configuration when it is to start it."""
    yield from vnuma_faults(vm)
    yield from _memory_faults(vm)
    yield from _latency_faults(vm, host)
    yield from too_many_devices(vm, host)
    yield from _device_faults(vm)


def vnuma_faults(vm: Vm) -> Iterator[LabFault]:
    """vNUMA set by hand: vCPUs divide, and its nodes and the sockets are multiples of one another.

    vmware-tanzu/vm-operator checks the same before it writes; otherwise power-on fails.
    """
    cores = vm.cores_per_socket if not vm.cores_per_socket_auto else None
    if cores and vm.cpus % cores:
        yield vm_config(
            f"The number of virtual CPUs ({vm.cpus}) is no multiple of cores per socket ({cores})."
        )
    per_node = None if vm.vnuma.auto else vm.vnuma.cores_per_node
    if not per_node or vm.hardware_version is None or vm.hardware_version < FIRST_WITH_VNUMA:
        return
    if vm.cpus % per_node:
        yield vm_config(f"Invalid virtual NUMA topology: {vm.cpus} vCPUs do not divide by {per_node} a node.")
    if not cores:
        yield vm_config("Invalid virtual NUMA topology: cores per socket are automatic.")
    elif cores % per_node and per_node % cores:
        text = f"{per_node} cores a node and {cores} a socket are no multiples of each other."
        yield vm_config(f"Invalid virtual NUMA topology: {text}")


def _memory_faults(vm: Vm) -> Iterator[LabFault]:
    """Passthrough and vGPU: all memory reserved, and no limit below it (Broadcom KB 309986)."""
    limit = vm.memory_limit_mib
    reserved = vm.memory_mib if vm.memory_locked_to_max else (vm.memory_reservation_mib or 0)
    if not any(is_passthrough(device.backing) for device in vm.devices):
        if vm.latency_sensitivity == "high" and reserved < vm.memory_mib:
            yield _reservation(vm)
        return
    if reserved < vm.memory_mib:
        yield _reservation(vm)
    if limit is not None and 0 <= limit < vm.memory_mib:
        text = f"memory limit (sched.mem.max) should not be below memsize({vm.memory_mib})."
        yield vm_config(f"Invalid memory setting: {text}")


def _reservation(vm: Vm) -> LabFault:
    text = f"memory reservation (sched.mem.min) should be equal to memsize({vm.memory_mib})."
    return vm_config(f"Invalid memory setting: {text}")


def _latency_faults(vm: Vm, host: Host) -> Iterator[LabFault]:
    """Latency sensitivity "high" takes all CPU of the VM reserved (vmware-tanzu/vm-operator)."""
    if vm.latency_sensitivity != "high" or not host.cpu_hz:
        return
    full = vm.cpus * host.cpu_hz // 1_000_000
    if (vm.cpu_reservation_mhz or 0) < full:
        text = f"(sched.cpu.min) should be at least {full} MHz."
        yield vm_config(f"Invalid CPU reservation for the latency-sensitive VM, {text}")


def _device_faults(vm: Vm) -> Iterator[LabFault]:
    version = vm.hardware_version
    for device in vm.devices:
        if isinstance(device.backing, StaticBacking) and vm.snapshot_count > 0:
            text = f"{device.label} cannot be used by a virtual machine with snapshots."
            yield LabFault("DeviceNotSupported", text, device=device.label)
        if (
            isinstance(device.backing, DynamicBacking)
            and version is not None
            and version < FIRST_WITH_DYNAMIC
        ):
            yield vm_config(f"{device.label} needs hardware version vmx-{FIRST_WITH_DYNAMIC}.")
