"""Where time-sliced vGPUs may start on a card in mixed-size mode, and how many fit, as published.

Sources: NVIDIA AI Enterprise User Guide 5.0 (October 2024), appendix B "vGPU Placements for GPUs in
Mixed-Size Mode": the placements depend on the card's total memory; the same tables in the vGPU catalogue
of frankdenneman.nl, which adds the RTX PRO 6000 (96 GB, Blackwell). Counts of H20 and H200: NVIDIA AI
Enterprise documentation, "Virtual GPU Types for Supported GPUs".

All numbers are GiB as the profile names round them. Sizes that a table leaves out follow its pattern: see
`vplacer.topology.vgpu_room`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from vplacer.inventory.pci import PciIds

_PUBLISHED: Final[Mapping[int, Mapping[int, tuple[int, ...]]]] = {
    94: {
        94: (0,),
        47: (0, 47),
        23: (0, 24, 47, 71),
        15: (0, 32, 47, 79),
        11: (0, 12, 23, 36, 47, 59, 70, 83),
        6: (0, 17, 23, 41, 47, 64, 70, 88),
        4: (0, 7, 11, 19, 23, 31, 35, 43, 47, 54, 58, 66, 70, 78, 82, 90),
    },
    80: {
        80: (0,),
        40: (0, 40),
        20: (0, 20, 40, 60),
        16: (0, 24, 40, 64),
        10: (0, 10, 20, 30, 40, 50, 60, 70),
        8: (0, 12, 20, 32, 40, 52, 60, 72),
        5: tuple(range(0, 80, 5)),
        4: (0, 6, 10, 16, 20, 26, 30, 36, 40, 46, 50, 56, 60, 66, 70, 76),
    },
    64: {
        64: (0,),
        32: (0, 32),
        16: (0, 16, 32, 48),
        8: tuple(range(0, 64, 8)),
        4: tuple(range(0, 64, 4)),
    },
    48: {
        48: (0,),
        24: (0, 24),
        16: (0, 32),
        12: (0, 12, 24, 36),
        8: (0, 16, 24, 40),
        6: (0, 6, 12, 18, 24, 30, 36, 42),
        4: (0, 8, 12, 20, 24, 32, 36, 44),
    },
    40: {
        40: (0,),
        20: (0, 20),
        10: (0, 10, 20, 30),
        8: (0, 12, 20, 32),
        5: tuple(range(0, 40, 5)),
        4: (0, 6, 10, 16, 20, 26, 30, 36),
    },
    32: {
        32: (0,),
        16: (0, 16),
        8: (0, 8, 16, 24),
        4: tuple(range(0, 32, 4)),
        2: tuple(range(0, 32, 2)),
        1: tuple(range(32)),
    },
    24: {
        24: (0,),
        12: (0, 12),
        8: (0, 16),
        6: (0, 6, 12, 18),
        4: (0, 8, 12, 20),
        3: tuple(range(0, 24, 3)),
        2: (0, 4, 6, 10, 12, 16, 18, 22),
        1: (0, 2, 3, 5, 6, 8, 9, 11, 12, 14, 15, 17, 18, 20, 21, 23),
    },
    20: {
        20: (0,),
        10: (0, 10),
        5: (0, 5, 10, 15),
        4: (0, 6, 10, 16),
        2: (0, 3, 5, 8, 10, 13, 15, 18),
        1: (0, 1, 2, 4, 5, 6, 7, 9, 10, 11, 12, 14, 15, 16, 17, 19),
    },
    16: {
        16: (0,),
        8: (0, 8),
        4: (0, 4, 8, 12),
        2: tuple(range(0, 16, 2)),
        1: tuple(range(16)),
    },
}

_RTX_PRO_6000: Final = {size: tuple(range(0, 96, size)) for size in (8, 12, 16, 24, 32, 48, 96)}

# Device ids (pci.ids): GB202GL [RTX PRO 6000 Blackwell Server Edition].
_BY_DEVICE: Final[Mapping[tuple[int, int], Mapping[int, tuple[int, ...]]]] = {
    (0x10DE, 0x2BB5): _RTX_PRO_6000,
}

MOST_MIXED: Final[Mapping[int, Mapping[int, int]]] = {
    96: {96: 1, 48: 2, 24: 2, 16: 4, 12: 4, 6: 8, 4: 8},
    141: {141: 1, 70: 2, 35: 4, 28: 5, 17: 8, 14: 10, 8: 16, 7: 20, 4: 32},
}
"""Cards of which the most vGPUs of a size are published, and not where they lie."""

MOST_SAME_SIZE: Final[Mapping[tuple[int, int], int]] = {(141, 8): 16}
"""By memory and size: fewer than the memory would hold."""

ADA_MOST_1_GIB: Final = 16
"""Ada cards of 48 GB take fewer than 32 vGPUs of 1 GB in mixed-size mode (the same appendix, B.4). Its
table is a picture in the copies seen: half is assumed."""


def placements(ids: PciIds, memory_gib: int) -> Mapping[int, tuple[int, ...]] | None:
    """Return the published places of each size on a card, None where none are published."""
    found = _BY_DEVICE.get((ids.vendor, ids.device))
    return found if found is not None else _PUBLISHED.get(memory_gib)


def is_halved(ids: PciIds) -> bool:
    """Whether sizes the table leaves out follow the halving pattern of the others."""
    return (ids.vendor, ids.device) not in _BY_DEVICE
