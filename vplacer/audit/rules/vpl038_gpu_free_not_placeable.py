"""Framebuffer of a vGPU card is free, and no profile can surely fill it."""

from __future__ import annotations

from collections.abc import Iterator

from vplacer.audit.model import Hit, NotEvaluated, Outcome, Rule, Severity
from vplacer.audit.subject import Subject
from vplacer.audit.words import listed
from vplacer.inventory.finding import Certainty
from vplacer.inventory.host import GpuMode, Host
from vplacer.topology.device_use import HostUse
from vplacer.topology.vgpu_capacity import CardCapacity, vgpu_capacity

_MIB_PER_GIB = 1024
_DEAD_PART = 4
_MODES = {
    GpuMode.NONE: "an unknown mode",
    GpuMode.SAME_SIZE: "same-size mode",
    GpuMode.MIXED_SIZE: "mixed-size mode",
    GpuMode.MIG: "MIG mode",
}
_FIXES = {
    GpuMode.SAME_SIZE: "Put vGPUs of the same size together on one card (policy consolidation), or switch "
    "the card to mixed-size mode (ESXi 8.0 U3, Ampere and later) while it is empty.",
    GpuMode.MIXED_SIZE: "Power-cycle the VMs on the card, the largest profile first, so that each starts "
    "at a place that leaves the others whole; keep sizes that do not divide each other on different cards.",
    GpuMode.MIG: "Take MIG off the card while it is empty, or give out profiles that fill its slices.",
}


def find(subject: Subject) -> Iterator[Outcome]:
    """Yield cards set up for vGPU with free framebuffer that no profile can surely fill."""
    for host in subject.inventory.hosts:
        use = subject.use(host).use
        if any(device.vgpu for device in use.devices.values()):
            yield from _host(host, use)


def _host(host: Host, use: HostUse) -> Iterator[Outcome]:
    untold = []
    for capacity in vgpu_capacity(host, use):
        free, lost = capacity.free_mib, capacity.unplaceable_mib
        if free is None or lost is None:
            untold.append(str(capacity.address))
        elif lost > 0 and not _inherent(capacity, lost):
            yield _hit(host, use, capacity, free, lost)
    if untold:
        why = f"how much of {listed(untold)} is free is not known: of what size its vGPUs are is not told"
        yield NotEvaluated(why, host=host.moid)


def _hit(host: Host, use: HostUse, capacity: CardCapacity, free: int, lost: int) -> Hit:
    card = use.devices[capacity.address]
    memory = capacity.memory_mib or 0
    placeable = [room for room in capacity.rooms if room.more > 0]
    if not capacity.rooms:
        rest = "the host offers no profile for this card"
    elif placeable:
        fits = listed(f"{room.more} x {room.profile}" for room in placeable)
        rest = f"no single profile surely fills more than {_gib(free - lost)} of it (fits: {fits})"
    else:
        reasons = (f"{room.profile}: {room.why}" for room in capacity.rooms)
        rest = f"no profile surely fits ({listed(reasons, 3)})"
    dead = not placeable and free * _DEAD_PART >= memory > 0 and capacity.mode is not GpuMode.MIG
    return Hit(
        f"{card.model} in {_MODES[capacity.mode]}: {_gib(free)} of {_gib(memory)} are free, and {rest}",
        Certainty.PROVED,
        host=host.moid,
        device=str(capacity.address),
        severity=Severity.WARNING if dead else None,
        fix=_FIXES.get(capacity.mode),
        numbers=(("free_mib", free), ("unplaceable_mib", lost)),
    )


def _inherent(capacity: CardCapacity, lost: int) -> bool:
    """Whether MIG leaves as much anyway: of 8 memory slices, 7 have a compute slice."""
    return capacity.mode is GpuMode.MIG and lost * 8 <= (capacity.memory_mib or 0)


def _gib(mib: int) -> str:
    return f"{mib / _MIB_PER_GIB:g} GiB"


RULE = Rule(
    id="VPL038",
    name="gpu-free-not-placeable",
    title="GPU memory free and not placeable",
    severity=Severity.NOTE,
    cause="A card in same-size mode is fixed to the size of its first vGPU until it is empty; in "
    "mixed-size mode each size starts at published places only; MIG has its own. What lies between is "
    "free, shows as free, and no VM can have it.",
    evidence="The card's mode of now, the profiles the host offers, the vGPUs it holds (where which card "
    "is not told, counted on every card they may be on), and the placements published in the NVIDIA AI "
    "Enterprise User Guide (appendix B). A warning where a quarter of the card or more is free and no "
    "profile surely fits.",
    fix="Empty the card at a quiet time, and fill it with profiles of one size.",
    sample="A100-80 in mixed-size mode: 60 GiB of 80 GiB are free, and no single profile surely fills more "
    "than 40 GiB of it (fits: 2 x grid_a100d-20c, 3 x grid_a100d-10c)",
    find=find,
)
