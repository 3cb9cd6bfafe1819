"""Where on a card a vGPU lies. The simulated vCenter knows it of every vGPU; a real one does not tell."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from vplacer.inventory.host import GpuMode, Host
from vplacer.lab.model.seats import Seat
from vplacer.topology.assignable import AssignableDevice
from vplacer.topology.vgpu_room import (
    MIG,
    ProfileShape,
    card_memory,
    mig_slots,
    mixed_slots,
    most_same_size,
    profile_shape,
    why_mode_refuses,
)

Offset: TypeAlias = tuple[int, int]
_MIB_PER_GIB = 1024


def place_on(
    host: Host, card: AssignableDevice, shape: ProfileShape, held: Sequence[Seat], *, from_end: bool = False
) -> Offset | None:
    """Return where a vGPU would lie on a card beside those that it holds; None = it has no room there.

    Same-size mode: any place is as good, all must be of one size. Mixed-size and MIG: the first free one
    of the published places, or the last (``from_end``).
    """
    beside = [found for seat in held if (found := profile_shape(host, seat.profile or "")) is not None]
    if len(beside) < len(held):
        return None  # something unknown is on the card
    if why_mode_refuses(card, shape) is not None or any(o.sharing != shape.sharing for o in beside):
        return None
    memory = card_memory(card, shape)
    if memory is None:
        return None if held else (0, 1)
    if shape.sharing == MIG:
        if shape.media and any(other.media for other in beside):
            return None
        slots = mig_slots(shape, memory, card.ids)
        others = [mig_slots(other, memory, card.ids) for other in beside]
    elif card.mode is GpuMode.MIXED_SIZE:
        size = memory // _MIB_PER_GIB
        slots = mixed_slots(card.ids, shape.gib, size)[0]
        others = [mixed_slots(card.ids, other.gib, size)[0] for other in beside]
    else:
        return _same_size(shape, beside, memory)
    taken = _lie(held, others)
    order = reversed(slots) if from_end else iter(slots)
    return next((slot for slot in order if not any(_overlap(slot, other) for other in taken)), None)


def _same_size(shape: ProfileShape, beside: Sequence[ProfileShape], memory: int) -> Offset | None:
    if any(other.framebuffer_mib != shape.framebuffer_mib for other in beside):
        return None
    if not shape.types_mix and any(other.name != shape.name for other in beside):
        return None
    count = len(beside)
    return (count, count + 1) if count < most_same_size(memory, shape) else None


def _lie(held: Sequence[Seat], places: Sequence[Sequence[Offset]]) -> list[Offset]:
    """Where the vGPUs of a card lie; those of which it was never said, first fit beside the others."""
    taken = [seat.offset for seat in held if seat.offset is not None]
    for seat, slots in zip(held, places, strict=True):
        if seat.offset is None:
            free = (slot for slot in slots if not any(_overlap(slot, other) for other in taken))
            found = next(free, None)
            if found is not None:
                taken.append(found)
    return taken


def _overlap(a: Offset, b: Offset) -> bool:
    return a[0] < b[1] and b[0] < a[1]
