"""How many vGPUs of a profile still fit a card, by the mode the card is in now.

What the API does not tell (free framebuffer, placement ids) is derived, always to the safe side.

Same-size: the first vGPU fixes the framebuffer size of the card until it is empty; from ESXi 8.0 U1 on
types of one size may mix (F. Denneman, "How same size vGPU mode and right-sizing shape GPU placement
efficiency", 2026-02-19). At most 32 vGPUs a card (NVIDIA Virtual GPU Software User Guide).

Mixed-size (8.0 U3 on): every profile starts at published offsets (`vplacer.topology.vgpu_placements`), so
free memory may be unusable, and fewer of some types fit than in same-size mode. The published tables have
one pattern, which serves for the sizes they leave out: the card's memory is halved as often as the size
still fits, and a profile starts at the beginning of every other part and ends at the end of the rest. A
card of a memory size for which no table is published may follow it or not: there a vGPU is taken to lie
anywhere, and half as many to fit.

MIG: instances of g compute slices start at the memory slices that `nvidia-smi mig -lgipp` lists for A30,
A100, H100 and H200 (NVIDIA Multi-Instance GPU User Guide): 8 memory slices and 7 compute slices, 4 of
each on A30. One instance a card has the media extensions (profiles "...me").

Where the vGPUs that already run lie is not told. They are taken to lie where they are most in the way.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

from vplacer.inventory.gpu_models import gpu_by_ids
from vplacer.inventory.host import GpuMode, Host, VgpuProfile
from vplacer.inventory.limits_table import parse_release
from vplacer.inventory.pci import PciIds
from vplacer.topology.assignable import MIG_SHARING, AssignableDevice, is_mig_profile
from vplacer.topology.vgpu_placements import (
    ADA_MOST_1_GIB,
    MOST_MIXED,
    MOST_SAME_SIZE,
    is_halved,
    placements,
)

TIME_SLICED = "timeSliced"
MIG = MIG_SHARING

MAX_PER_CARD = 32

_MIB_PER_GIB = 1024

_MIG_NAME = re.compile(r"-(?P<slices>[0-9]{1,4})-(?P<gib>[0-9]{1,4})[a-z]+$")
_NAME = re.compile(r"-(?P<gib>[0-9]{1,4})[a-z][0-9]*$")
_MEDIA = re.compile(r"(?<!no)me(all)?$")

Interval = tuple[int, int]


@dataclass(frozen=True, slots=True)
class ProfileShape:
    """What a vGPU profile takes of a card.

    ``sharing``: "timeSliced" | "mig". ``per_card_max``: how many an empty card takes in same-size or
    MIG mode, None = the card's memory is not known. ``slices``: compute slices of a MIG profile.
    ``types_mix``: whether the host lets types of one size share a card. ``media``: a MIG profile with the
    media extensions, of which a card has one.
    """

    name: str
    framebuffer_mib: int
    sharing: str
    per_card_max: int | None
    slices: int | None = None
    types_mix: bool = True
    media: bool = False

    @property
    def gib(self) -> int:
        """The framebuffer in whole GiB, at least 1."""
        return max(1, math.ceil(self.framebuffer_mib / _MIB_PER_GIB))


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
        sharing = MIG if is_mig_profile(name, None) else TIME_SLICED
        mix = _types_mix(host.version)
        return ProfileShape(name, _mib(gib), sharing, None, _slices(name), mix, _media(name))
    unknown = gpu_by_ids(PciIds(described.vendor, described.device)) is None
    largest = _largest_profile(host, described) if unknown else None
    return _shape(described, largest, _types_mix(host.version))


@lru_cache(maxsize=1024)
def _shape(profile: VgpuProfile, largest_mib: int | None, types_mix: bool) -> ProfileShape:
    """The shape of a described profile.

    ``largest_mib``: the largest profile of its card, where the card's model is not known. ``types_mix``:
    whether types of one size may mix.
    """
    name = profile.name
    sharing = profile.sharing or (MIG if is_mig_profile(name, profile) else TIME_SLICED)
    most = _per_card(profile, sharing, largest_mib)
    framebuffer = _mib(profile.framebuffer_gib)
    return ProfileShape(name, framebuffer, sharing, most, _slices(name), types_mix, _media(name))


def _media(name: str) -> bool:
    return _MIG_NAME.search(name.lower()) is not None and _MEDIA.search(name.lower()) is not None


@lru_cache(maxsize=64)
def _types_mix(version: str | None) -> bool:
    release = parse_release(version)
    return release is not None and release >= (8, 0, 1)


def _gib_of_name(name: str) -> int | None:
    match = _MIG_NAME.search(name.lower()) or _NAME.search(name.lower())
    return int(match["gib"]) if match else None


def _slices(name: str) -> int | None:
    match = _MIG_NAME.search(name.lower())
    return int(match["slices"]) if match else None


def _mib(gib: int) -> int:
    return gib * 1024 if gib > 0 else 512


def _per_card(profile: VgpuProfile, sharing: str, largest_mib: int | None) -> int | None:
    """How many of a profile an empty card takes.

    The memory of a card is its model's nominal size: what the host reports is a little less, and
    the largest profile would no longer fit. For an unknown model the largest profile is the size.
    """
    model = gpu_by_ids(PciIds(profile.vendor, profile.device))
    memory = model.memory_mib if model is not None else largest_mib
    if memory is None or memory <= 0:
        return None
    ids = PciIds(profile.vendor, profile.device)
    if sharing == MIG:
        shape = ProfileShape(profile.name, _mib(profile.framebuffer_gib), MIG, None, _slices(profile.name))
        return 1 if _media(profile.name) else _room(mig_slots(shape, memory, ids), ())
    return _most_same_size(memory, _mib(profile.framebuffer_gib))


def _most_same_size(memory_mib: int, framebuffer_mib: int) -> int:
    most = min(MAX_PER_CARD, memory_mib // framebuffer_mib)
    sizes = (memory_mib // _MIB_PER_GIB, framebuffer_mib // _MIB_PER_GIB)
    return min(most, MOST_SAME_SIZE.get(sizes, most))


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
    if card.may_be_mig:
        return "whether the card is in MIG mode is not told, and the host offers profiles of both kinds"
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
    memory = card_memory(card, shape)
    if memory is None:
        return 0 if held else 1
    if shape.sharing == MIG:
        slots = mig_slots(shape, memory, card.ids)
        room = _room(slots, tuple(mig_slots(other, memory, card.ids) for other in held))
        if not shape.media:
            return room
        return 0 if any(other.media for other in held) else min(1, room)
    if card.mode is GpuMode.MIXED_SIZE:
        return _mixed_room(card.ids, memory, shape, held)
    if any(other.framebuffer_mib != shape.framebuffer_mib for other in held):
        return 0
    if not shape.types_mix and any(other.name != shape.name for other in held):
        return 0
    return max(0, most_same_size(memory, shape) - len(held))


def most_same_size(memory_mib: int, shape: ProfileShape) -> int:
    """Return how many of a profile an empty card in same-size mode takes."""
    most = shape.per_card_max
    return _most_same_size(memory_mib, shape.framebuffer_mib) if most is None else most


def all_fit(card: AssignableDevice, held: tuple[ProfileShape, ...], more: Iterable[ProfileShape]) -> bool:
    """Whether further vGPUs certainly fit a card, if the largest are powered on first."""
    placed = held
    for shape in sorted(more, key=lambda s: (-s.framebuffer_mib, s.name)):
        if room_for(card, shape, placed) < 1:
            return False
        placed = (*placed, shape)
    return True


def card_memory(card: AssignableDevice, shape: ProfileShape) -> int | None:
    """Return the framebuffer of a card in MiB: as told, else what a profile says of it; None = unknown."""
    if card.framebuffer_mib is not None:
        return card.framebuffer_mib
    if shape.per_card_max is not None:
        return shape.per_card_max * shape.framebuffer_mib
    return None


def _mixed_room(ids: PciIds, memory_mib: int, shape: ProfileShape, held: tuple[ProfileShape, ...]) -> int:
    memory = memory_mib // _MIB_PER_GIB
    slots, known = mixed_slots(ids, shape.gib, memory)
    if known:
        return _room(slots, tuple(_mixed_places(ids, other.gib, memory) for other in held))
    # Where a vGPU lies is not published: one of another size may reach into one place more than it fills.
    blocked = sum(1 if o.gib == shape.gib else math.ceil(o.gib / shape.gib) + 1 for o in held)
    return max(0, len(slots) - blocked)


@lru_cache(maxsize=4096)
def mixed_slots(ids: PciIds, size: int, memory: int) -> tuple[tuple[Interval, ...], bool]:
    """The places of a size on a mixed-size card, all in GiB, and whether they are published."""
    if size > memory:
        return (), True
    table = placements(ids, memory)
    if table is not None and size in table:
        return tuple((start, start + size) for start in table[size]), True
    count = min(1 << int(math.log2(memory // size)), MAX_PER_CARD)
    if table is not None and is_halved(ids):
        model = gpu_by_ids(ids)
        if size == 1 and memory == 48 and (model is None or model.generation == "ada"):
            count = min(count, ADA_MOST_1_GIB)
        return _halved(size, memory, count), True
    most = MOST_MIXED.get(memory, {}).get(size)
    count = max(1, count // 2) if most is None else min(count, most)
    return _halved(size, memory, count), False


def _halved(size: int, memory: int, count: int) -> tuple[Interval, ...]:
    starts = [
        index * memory // count if index % 2 == 0 else (index + 1) * memory // count - size
        for index in range(count)
    ]
    return tuple((start, start + size) for start in starts)


def _mixed_places(ids: PciIds, size: int, memory: int) -> tuple[Interval, ...]:
    """Where a vGPU that runs may lie: its places, or anywhere where they are not published."""
    slots, known = mixed_slots(ids, size, memory)
    return slots if known else tuple((start, start + size) for start in range(memory - size + 1))


def mig_slots(shape: ProfileShape, memory_mib: int, ids: PciIds) -> tuple[Interval, ...]:
    """Return the places of a MIG profile in memory slices."""
    slices = shape.slices
    if slices is None:
        return ()
    # A card that no catalogue knows certainly takes one instance and no more.
    model = gpu_by_ids(ids)
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
