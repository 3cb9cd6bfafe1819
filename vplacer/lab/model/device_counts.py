"""How many devices of each kind a VM has, as limits of hardware versions count them."""

from __future__ import annotations

from dataclasses import dataclass

from vplacer.inventory.vm import DynamicBacking, StaticBacking, VgpuBacking, Vm


@dataclass(frozen=True, slots=True)
class DeviceCounts:
    """Passthrough devices (static and dynamic), and vGPUs; members of device groups count too."""

    passthrough: int
    vgpus: int


def counts_of(vm: Vm) -> DeviceCounts:
    """Count the devices of a VM."""
    backings = [device.backing for device in vm.devices]
    return DeviceCounts(
        sum(isinstance(backing, StaticBacking | DynamicBacking) for backing in backings),
        sum(isinstance(backing, VgpuBacking) for backing in backings),
    )
