"""Words about one device of a host, the same in the tree and in the picture."""

from __future__ import annotations

from typing import Final

from vplacer.inventory.device_kind import DeviceKind
from vplacer.inventory.host import GpuMode
from vplacer.report.use_text import holder_text
from vplacer.topology.claims import When
from vplacer.topology.describe import DeviceLine, ranges
from vplacer.topology.values import LocalitySource

_STATES: Final = {
    "enabled": "passthrough after a reboot",
    "capable": "passthrough off",
    "none": "no passthrough",
    "unknown": "passthrough not told",
}


_VGPU: Final = {
    GpuMode.NONE: "vGPU",
    GpuMode.SAME_SIZE: "vGPU, same size",
    GpuMode.MIXED_SIZE: "vGPU, mixed size",
    GpuMode.MIG: "vGPU, MIG",
}


def state_words(line: DeviceLine) -> str:
    """Say whether the device can go to a VM as a whole now, or how else.

    Empty where it can, and for NVSwitches, which do not go to VMs.
    """
    if line.place.kind is DeviceKind.NVSWITCH:
        return ""
    if line.capacity is not None:
        return _VGPU[line.capacity.mode]
    return _STATES.get(line.state, "")


def free_words(line: DeviceLine) -> str:
    """Say how much of a vGPU card is free; empty where it is none, or that is not known."""
    if line.capacity is None or line.capacity.free_mib is None:
        return ""
    return f"{line.capacity.free_mib / 1024:g} GiB free" if line.capacity.free_mib else "full"


def where_words(line: DeviceLine) -> tuple[str, ...]:
    """Say where its NUMA node is known from, if not from vCenter, and what is next to it if it is not."""
    place = line.place
    if place.source is LocalitySource.OVERLAY:
        return ("node from an overlay",)
    if place.node_hint is not None:
        return (f"its root port is on pNUMA {place.node_hint}",)
    return ()


def tied_words(line: DeviceLine) -> tuple[str, ...]:
    """Say who keeps the device from other VMs by holding what is reset together with it."""
    return tuple(
        f"{'not free: ' if tied.holder.when is When.NOW else ''}"
        f"reset with {tied.address.short}, held by {holder_text(tied.holder)}"
        for tied in line.tied
    )


def link_words(line: DeviceLine) -> str:
    """Write the GPUs joined by NVLink, by number of links: ``NV4 GPU2``."""
    by_lanes: dict[int, list[int]] = {}
    for link in line.links:
        by_lanes.setdefault(link.lanes, []).append(int(link.label.removeprefix("GPU")))
    return " ".join(f"NV{lanes} GPU{ranges(numbers)}" for lanes, numbers in sorted(by_lanes.items()))
