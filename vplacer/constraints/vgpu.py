"""How many vGPUs of a profile still fit a card, by the mode the card is in now.

What the API does not tell (free framebuffer, placement ids) is derived, always to the safe side.

Same-size: the first vGPU fixes the framebuffer size of the card until it is empty; from ESXi 8.0 U1 on
types of one size may mix (F. Denneman, "How same size vGPU mode and right-sizing shape GPU placement
efficiency", 2026-02-19). At most 32 vGPUs a card (NVIDIA Virtual GPU Software User Guide).

Mixed-size (8.0 U3 on): every profile starts at fixed offsets, so free memory may be unusable, and fewer
of some types fit than in same-size mode (the same guide; F. Denneman, "Mixed size vGPU mode in
practice", 2026-02-24). The rule taken here: a profile occupies a block of the card's memory halved as
often as it still fits, aligned to its own size. 16 GB on a 48 GB card thus takes 24 GB.

MIG: instances of g compute slices start at the memory slices that `nvidia-smi mig -lgipp` lists
(NVIDIA Multi-Instance GPU User Guide): 8 memory slices, 4 on A30.

Where the vGPUs that already run lie is not told. They are taken to lie where they are most in the way.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

from vplacer.constraints.cards import AssignableDevice
from vplacer.inventory.gpu_facts import GpuModel
from vplacer.inventory.gpu_models import gpu_by_ids
from vplacer.inventory.host import GpuMode, Host, VgpuProfile
from vplacer.inventory.limits_table import parse_release
from vplacer.inventory.pci import PciIds

TIME_SLICED = "timeSliced"
MIG = "mig"

MAX_PER_CARD = 32

_MIG_NAME = re.compile(r"-(?P<slices>\d+)-(?P<gib>\d+)[a-z]+$")
_NAME = re.compile(r"-(?P<gib>\d+)[a-z]\d*$")

Interval = tuple[int, int]


@dataclass(frozen=True, slots=True)
class ProfileShape:
    """What a vGPU profile takes of a card.

    ``sharing``: "timeSliced" | "mig". ``per_card_max``: how many an empty card takes in same-size or
    MIG mode, None = the card's memory is not known. ``slices``: compute slices of a MIG profile.
    ``types_mix``: whether the host lets types of one size share a card.
    """

    name: str
    framebuffer_mib: int
    sharing: str
    per_card_max: int | None
    slices: int | None = None
    types_mix: bool = True


def profile_shape(host: Host, name: str) -> ProfileShape | None:
    """Return the shape of a profile on a host; None where the host does not offer it.

    The API rounds the framebuffer to GiB and gives 0 for less; the name's number is the same figure
    ("-0b" is 512 MiB). A host that lists the profile without describing it is read by the name.
    """
    described = next((p for p in host.vgpu_profiles if p.name == name), None)
    if described is None:
        if name not in host.vgpu_types:
            return None
        gib = _gib_of_name(name)
        if gib is None:
            return None
        sharing = MIG if _MIG_NAME.search(name) else TIME_SLICED
        return ProfileShape(name, _mib(gib), sharing, None, _slices(name), _types_mix(host))
    sharing = described.sharing or (MIG if _MIG_NAME.search(name) else TIME_SLICED)
    framebuffer = _mib(described.framebuffer_gib)
    most = _per_card(host, described, sharing)
    return ProfileShape(name, framebuffer, sharing, most, _slices(name), _types_mix(host))


def _types_mix(host: Host) -> bool:
    release = parse_release(host.version)
    return release is not None and release >= (8, 0, 1)


def _gib_of_name(name: str) -> int | None:
    match = _MIG_NAME.search(name.lower()) or _NAME.search(name.lower())
    return int(match["gib"]) if match else None


def _slices(name: str) -> int | None:
    match = _MIG_NAME.search(name.lower())
    return int(match["slices"]) if match else None


def _mib(gib: int) -> int:
    return gib * 1024 if gib > 0 else 512


def _per_card(host: Host, profile: VgpuProfile, sharing: str) -> int | None:
    """How many of a profile an empty card takes.

    The memory of a card is its model's nominal size: what the host reports is a little less, and
    the largest profile would no longer fit. For an unknown model the largest profile is the size.
    """
    model = gpu_by_ids(PciIds(profile.vendor, profile.device))
    memory = model.memory_mib if model is not None else _largest_profile(host, profile)
    if memory <= 0:
        return None
    if sharing == MIG:
        shape = ProfileShape(profile.name, _mib(profile.framebuffer_gib), MIG, None, _slices(profile.name))
        return _room(_mig_slots(shape, memory, model), ())
    return min(MAX_PER_CARD, memory // _mib(profile.framebuffer_gib))


def _largest_profile(host: Host, profile: VgpuProfile) -> int:
    return max(
        _mib(other.framebuffer_gib)
        for other in host.vgpu_profiles
        if (other.vendor, other.device) == (profile.vendor, profile.device)
    )


def why_mode_refuses(card: AssignableDevice, shape: ProfileShape) -> str | None:
    """Return why the card's current mode takes no vGPU of this kind at all, None where it does.

    The mode decides, not what the card could be switched to.
    """
    if not card.vgpu:
        return "the card is not set up for vGPU (graphics type is not sharedDirect)"
    if shape.sharing == MIG and card.mode is not GpuMode.MIG:
        return f"{shape.name} needs a card in MIG mode; this one is in mode {card.mode.value}"
    if shape.sharing != MIG and card.mode is GpuMode.MIG:
        return f"{shape.name} is time-sliced; this card is in MIG mode"
    return None


def room_for(card: AssignableDevice, shape: ProfileShape, held: tuple[ProfileShape, ...]) -> int:
    """Return how many vGPUs of a shape certainly fit a card beside those it holds.

    ``held`` may be in any order. 0 where the mode refuses it.
    """
    if why_mode_refuses(card, shape) is not None:
        return 0
    if any(other.sharing != shape.sharing for other in held):
        return 0
    memory = _card_memory(card, shape)
    if memory is None:
        return 0 if held else 1
    if shape.sharing == MIG:
        model = gpu_by_ids(card.ids)
        slots = _mig_slots(shape, memory, model)
        return _room(slots, tuple(_mig_slots(other, memory, model) for other in held))
    if card.mode is GpuMode.MIXED_SIZE:
        return _room(
            _mixed_slots(shape.framebuffer_mib, memory),
            tuple(_mixed_slots(other.framebuffer_mib, memory) for other in held),
        )
    if any(other.framebuffer_mib != shape.framebuffer_mib for other in held):
        return 0
    if not shape.types_mix and any(other.name != shape.name for other in held):
        return 0
    most = shape.per_card_max
    if most is None:
        most = min(MAX_PER_CARD, memory // shape.framebuffer_mib)
    return max(0, most - len(held))


def all_fit(card: AssignableDevice, held: tuple[ProfileShape, ...], more: Iterable[ProfileShape]) -> bool:
    """Whether further vGPUs certainly fit a card, if the largest are powered on first."""
    placed = held
    for shape in sorted(more, key=lambda s: (-s.framebuffer_mib, s.name)):
        if room_for(card, shape, placed) < 1:
            return False
        placed = (*placed, shape)
    return True


def _card_memory(card: AssignableDevice, shape: ProfileShape) -> int | None:
    if card.framebuffer_mib is not None:
        return card.framebuffer_mib
    if shape.per_card_max is not None:
        return shape.per_card_max * shape.framebuffer_mib
    return None


@lru_cache(maxsize=4096)
def _mixed_slots(framebuffer_mib: int, memory_mib: int) -> tuple[Interval, ...]:
    """The places of a profile on a mixed-size card: the memory halved as often as it still fits."""
    if framebuffer_mib > memory_mib:
        return ()
    count = 1 << int(math.log2(memory_mib // framebuffer_mib))
    count = min(count, MAX_PER_CARD)
    return tuple((index * memory_mib // count, (index + 1) * memory_mib // count) for index in range(count))


def _mig_slots(shape: ProfileShape, memory_mib: int, model: GpuModel | None) -> tuple[Interval, ...]:
    """The places of a MIG profile in memory slices."""
    slices = shape.slices
    if slices is None:
        return ()
    # A card that no catalogue knows certainly takes one instance and no more.
    if model is None or model.mig_shape is None:
        return ((0, 1),)
    total, compute = model.mig_shape.memory_slices, model.mig_shape.instances
    size = max(1, round(shape.framebuffer_mib * total / memory_mib))
    if slices >= compute or size >= total:
        return ((0, total),)
    # An instance takes whole memory slices and starts at multiples of its size; its compute slices
    # must exist from there on (7 of 8): 1 slice of memory: 0-6, 2 slices: 0, 2, 4 (and 6 for 1g).
    starts = range(0, total - size + 1, size)
    fitting = [start for start in starts if start + slices <= compute]
    return tuple((start, start + size) for start in fitting)


def _room(slots: tuple[Interval, ...], held: tuple[tuple[Interval, ...], ...]) -> int:
    """Slots left if each held one lies where it blocks the most."""
    blocked = 0
    for places in held:
        if not places:
            return 0
        blocked += max(sum(1 for slot in slots if _overlap(slot, place)) for place in places)
    return max(0, len(slots) - blocked)


def _overlap(a: Interval, b: Interval) -> bool:
    return a[0] < b[1] and b[0] < a[1]
