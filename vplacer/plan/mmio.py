"""The 64-bit MMIO region of a VM with GPUs (extraConfig pciPassthru.64bitMMIOSizeGB).

One rule reproduces every published figure: the sum of the cards' BARs, then the next power of two
strictly above (Broadcom KB 323402; Frank Denneman, "ESXi host BIOS, VM, and vCenter settings"):
one card of 80 GB -> 256, two of 24 GB -> 128, eight of 80 GB -> 2048. It applies to passthrough and to
vGPU alike. Without the key a VM has 32 GB.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from vplacer.inventory.gpu_models import gpu_by_ids
from vplacer.inventory.host import PciDevice

USE_64BIT: Final = "pciPassthru.use64bitMMIO"
SIZE_GB: Final = "pciPassthru.64bitMMIOSizeGB"
DEFAULT_GB: Final = 32

_MIB_PER_GIB: Final = 1024
_KIB_PER_MIB: Final = 1024


def bar_gib(device: PciDevice) -> int | None:
    """Return the size of a card's largest BAR; None where neither it nor the memory is known."""
    model = gpu_by_ids(device.ids)
    if model is not None and model.bar_gib is not None:
        return model.bar_gib
    memory_mib = model.memory_mib if model is not None else None
    if memory_mib is None and device.graphics is not None and device.graphics.memory_kib is not None:
        memory_mib = device.graphics.memory_kib // _KIB_PER_MIB
    if memory_mib is None:
        return None
    return _power_of_two_from(-(-memory_mib // _MIB_PER_GIB))


def mmio_size_gb(bars: Iterable[int | None]) -> int | None:
    """Return the size of the region; None where a card's BAR is unknown or there is no card."""
    sizes = list(bars)
    known = [size for size in sizes if size is not None]
    if not sizes or len(known) < len(sizes):
        return None
    return _power_of_two_from(sum(known) + 1)


def _power_of_two_from(value: int) -> int:
    """Return the smallest power of two that is not below the value."""
    return 1 << max(0, value - 1).bit_length()
