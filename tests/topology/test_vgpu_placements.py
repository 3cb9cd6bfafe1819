"""Offsets and counts of vGPUs on mixed-size cards, against what NVIDIA publishes."""

from __future__ import annotations

import math
from itertools import pairwise

import pytest

from vplacer.inventory.pci import PciIds
from vplacer.topology.vgpu_placements import placements
from vplacer.topology.vgpu_room import mixed_slots

ANY = PciIds(0x10DE, 0xFFFF)
RTX_PRO_6000 = PciIds(0x10DE, 0x2BB5)
MEMORIES = (94, 80, 64, 48, 40, 32, 24, 20, 16)


@pytest.mark.parametrize("memory", MEMORIES)
def test_the_pattern_gives_every_published_place(memory: int) -> None:
    """What serves for sizes that a table leaves out gives the published places of those it has."""
    table = placements(ANY, memory)
    assert table is not None
    for size, starts in table.items():
        count = 1 << int(math.log2(memory // size))
        pattern = tuple(
            index * memory // count if index % 2 == 0 else (index + 1) * memory // count - size
            for index in range(count)
        )
        assert pattern == starts, (memory, size)


@pytest.mark.parametrize("memory", MEMORIES)
def test_places_are_apart_and_inside(memory: int) -> None:
    for size in range(1, memory + 1):
        slots, known = mixed_slots(ANY, size, memory)
        assert known
        assert slots
        assert slots[0][0] == 0
        assert slots[-1][1] <= memory
        assert all(a[1] <= b[0] for a, b in pairwise(slots)), (memory, size)


@pytest.mark.parametrize(
    ("memory", "size", "most"),
    [
        # NVIDIA AI Enterprise, "Virtual GPU Types for Supported GPUs": H20 96 GB, H200 141 GB, mixed-size.
        (96, 24, 2),
        (96, 16, 4),
        (96, 12, 4),
        (96, 4, 8),
        (141, 35, 4),
        (141, 4, 32),
        # Not more than the pattern where more is published, because the offsets are not.
        (141, 28, 4),
        (141, 14, 8),
        # Nothing is published for 180 GB: half of the pattern.
        (180, 45, 2),
        (180, 180, 1),
    ],
)
def test_where_offsets_are_not_published_less_is_promised(memory: int, size: int, most: int) -> None:
    slots, known = mixed_slots(ANY, size, memory)
    assert (len(slots), known) == (most, False)


def test_blackwell_96_gb_is_divided_in_threes_too() -> None:
    assert len(mixed_slots(RTX_PRO_6000, 8, 96)[0]) == 12
    assert mixed_slots(RTX_PRO_6000, 32, 96) == (((0, 32), (32, 64), (64, 96)), True)
    assert not mixed_slots(RTX_PRO_6000, 4, 96)[1]
