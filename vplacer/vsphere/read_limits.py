"""VirtualHardwareOption to `HardwareLimits`: what a hardware version allows on a kind of host."""

from __future__ import annotations

import re

from vplacer.inventory.host import HardwareLimits
from vplacer.inventory.limits_table import table_limit
from vplacer.vsphere.raw import Data

_VERSION_RE = re.compile(r"^vmx-([0-9]{1,4})$")


def read_version(key: str | None) -> int | None:
    """Return the number of a hardware version key ("vmx-20"), or None."""
    match = _VERSION_RE.match(key or "")
    return int(match[1]) if match else None


def read_limits(option: Data, version: int, release: str | None) -> HardwareLimits | None:
    """Read the answer of QueryConfigOptionEx; None where it holds no hardware options of this version.

    A simulator may answer with the options of one version whichever is asked for (govmomi's does).

    An older host leaves out what its API does not know: those figures come from the table for the ESXi
    release, and so does a greatest size of 0.

    Args:
        option: the VirtualMachineConfigOption.
        version: the hardware version asked for.
        release: the host's ESXi release ("8.0.3").
    """
    if read_version(option.text("version")) not in (None, version):
        return None
    hardware = option.data("hardwareOptions")
    if hardware is None or not hardware.numbers("numCPU"):
        return None
    table = table_limit(release, version)
    memory = _maximum(hardware, "memoryMB") or None
    cores = _maximum(hardware, "numCoresPerSocket") or None
    return HardwareLimits(
        version=version,
        source="descriptor",
        max_cpus=max(hardware.numbers("numCPU")),
        max_memory_mib=memory if memory is not None or table is None else table.max_memory_mib,
        max_cores_per_socket=cores if cores is not None or table is None else table.max_cores_per_socket,
        max_passthrough=_max_passthrough(hardware, table),
        max_vgpus=_max_vgpus(hardware, table),
        max_numa_nodes=_maximum(hardware, "numNumaNodes"),
        max_device_groups=_max_groups(hardware, table),
    )


def _maximum(hardware: Data, name: str) -> int | None:
    option = hardware.data(name)
    return option.number("max") if option else None


def _max_passthrough(hardware: Data, table: HardwareLimits | None) -> int | None:
    """DirectPath devices a VM may have (vSphere API: VirtualPCIControllerOption.numPCIPassthroughDevices)."""
    for device in hardware.items("virtualDeviceOption"):
        if device.is_a("VirtualPCIControllerOption"):
            told = _maximum(device, "numPCIPassthroughDevices")
            if told:
                return told
    return table.max_passthrough if table else None


def _max_vgpus(hardware: Data, table: HardwareLimits | None) -> int | None:
    for device in hardware.items("virtualDeviceOption"):
        for backing in device.items("backingOption"):
            if backing.is_a("VirtualPCIPassthroughVmiopBackingOption"):
                told = backing.number("maxInstances")
                if told is not None:
                    return told
    return table.max_vgpus if table else None


def _max_groups(hardware: Data, table: HardwareLimits | None) -> int | None:
    told = _maximum(hardware, "numDeviceGroups")
    return told if told is not None or table is None else table.max_device_groups
