"""Figures a request need not state: memory overhead, hardware version, weight, and the MMIO a VM needs."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from fractions import Fraction

from vplacer.inventory.gpu_models import gpu_by_ids, gpu_by_name
from vplacer.inventory.limits_table import table_limits
from vplacer.inventory.pci import PciIds
from vplacer.inventory.vcenter import Inventory
from vplacer.request.demand import GpuAsk, NicAsk

NEWEST_RELEASE = "9.0.0"
"""The release whose table of hardware versions is asked for what a version allows at best."""

LEAST_WEIGHT_MILLI = 100
DEFAULT_MMIO_GIB = 32
"""MMIO above 4 GiB that a VM has without pciPassthru.64bitMMIOSizeGB."""


def estimated_overhead_mib(cpus: int, memory_mib: int) -> int:
    """Return the memory ESXi keeps for a VM beside its own, where vCenter does not tell.

    An upper line through VMware's table "Sample Overhead Memory on Virtual Machines" (vSphere Resource
    Management): 20 MiB, 4.2 MiB a vCPU and 7.6 MiB a GiB of memory. The table ends at 16 GiB and 8 vCPUs.
    """
    return math.ceil(20 + Fraction(42 * cpus, 10) + Fraction(76 * memory_mib, 10 * 1024))


def needed_hardware_version(
    gpus: tuple[GpuAsk, ...], nics: tuple[NicAsk, ...], least: int, cpus: int, memory_mib: int
) -> int:
    """Return the lowest hardware version, from ``least`` on, that can have all this; 0 where any can.

    More vCPUs, memory or devices than a version allows need a later one.
    """
    passthrough = sum(ask.count for ask in gpus if ask.profile is None) + sum(ask.count for ask in nics)
    limits = table_limits(NEWEST_RELEASE)
    for limit in limits:
        if (
            limit.version >= least
            and _within(cpus, limit.max_cpus)
            and _within(memory_mib, limit.max_memory_mib)
            and _within(passthrough, limit.max_passthrough)
        ):
            return limit.version if least or limit.version > limits[0].version else 0
    return limits[-1].version


def _within(amount: int, most: int | None) -> bool:
    return most is None or amount <= most


class GpuFigures:
    """Figures of cards and vGPU profiles as the hosts of one inventory tell them."""

    def __init__(self, inventory: Inventory, sizes: Mapping[str, int]) -> None:
        self.group_sizes = sizes
        self.memory: dict[str, int] = {}  # by model name or ids, MiB
        for host in inventory.hosts:
            for device in host.pci_devices:
                told = device.graphics.memory_kib if device.graphics is not None else None
                if told:
                    model = gpu_by_ids(device.ids)
                    name = model.name if model else str(device.ids)
                    self.memory[name] = max(self.memory.get(name, 0), told // 1024)
        self.shares = self._profile_shares(inventory)
        self.models = {
            model.name
            for host in inventory.hosts
            for device in host.pci_devices
            if (model := gpu_by_ids(device.ids)) is not None
        }

    def weight_milli(self, gpus: Iterable[GpuAsk]) -> int:
        """Return the default weight: GPUs held, a vGPU its share of the framebuffer, at least 0.1."""
        total = Fraction(0)
        for ask in gpus:
            if ask.profile is not None:
                total += ask.count * self.shares.get(ask.profile, Fraction(1, 10))
            elif ask.group is not None:
                total += ask.count * max(1, self.group_sizes.get(ask.group, 1))
            else:
                total += ask.count
        return max(LEAST_WEIGHT_MILLI, int(total * 1000))

    def mmio_gib(self, gpus: Iterable[GpuAsk]) -> int:
        """Return the 64-bit MMIO that whole cards need: 0 for none, or where no size is known.

        The sum of the cards' memory BARs (memory rounded up to a power of two where the BAR is not
        known), then the next power of two strictly above (Broadcom KB 323402; VMware's sizing examples).
        """
        total = sum(ask.count * self._bar_gib(ask.model) for ask in gpus if not (ask.profile or ask.group))
        return 1 << total.bit_length() if total else 0

    def _bar_gib(self, name: str | None) -> int:
        if name is None:  # any card: the largest there is
            return max((self._bar_gib(model) for model in self.models), default=0)
        model = gpu_by_name(name)
        if model is not None and model.bar_gib is not None:
            return model.bar_gib
        memory = model.memory_mib if model is not None else self.memory.get(name, 0)
        gib = -(-memory // 1024)
        return 1 << (gib - 1).bit_length() if gib else 0

    def _profile_shares(self, inventory: Inventory) -> dict[str, Fraction]:
        """Return the largest share of its card's framebuffer that each profile takes."""
        shares: dict[str, Fraction] = {}
        for host in inventory.hosts:
            for profile in host.vgpu_profiles:
                model = gpu_by_ids(PciIds(profile.vendor, profile.device))
                name = model.name if model else f"{profile.vendor:04x}:{profile.device:04x}"
                card = model.memory_mib if model else self.memory.get(name, 0)
                if card:
                    share = min(Fraction(1), Fraction(profile.framebuffer_gib * 1024, card))
                    shares[profile.name] = max(shares.get(profile.name, Fraction(0)), share)
        return shares
