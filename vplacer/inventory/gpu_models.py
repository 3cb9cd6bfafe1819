"""Data-centre GPU models by PCI id and by name.

Ids and device names are those of the public PCI id database (pci.ids) and of AMD's and NVIDIA's manuals;
memory is the nominal size. An id that is not listed is unknown: nothing is derived from a neighbour's.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from typing import Final

from vplacer.inventory.pci import PciIds

NVIDIA: Final = 0x10DE
AMD: Final = 0x1002
INTEL: Final = 0x8086

_VENDOR_NAMES: Final = {
    NVIDIA: "NVIDIA Corporation",
    AMD: "Advanced Micro Devices, Inc. [AMD/ATI]",
    INTEL: "Intel Corporation",
}


@dataclass(frozen=True, slots=True)
class GpuModel:
    """One model of card.

    ``bar_gib``: the largest memory BAR as set up for passthrough, None = no published figure confirms it
    (a caller then rounds ``memory_mib`` up to a power of two). ``mig``: whether Multi-Instance GPU can cut
    it. ``form``: "pcie" or "module" (SXM, OAM: NVLink or xGMI is part of the board). ``bridge_lanes``: the
    NVLinks between two cards joined by the vendor's bridges, None where the model takes no bridge.
    ``sub_devices``: where one id serves several models, the subsystem device ids of this one.
    """

    name: str
    vendor: int
    device: int
    device_name: str
    memory_mib: int
    bar_gib: int | None
    mig: bool
    generation: str
    form: str = "pcie"
    bridge_lanes: int | None = None
    aliases: tuple[str, ...] = ()
    sub_devices: tuple[int, ...] = ()
    class_id: int = 0x0302

    @property
    def ids(self) -> PciIds:
        """The ids of the model, subsystem included where it is what tells the model."""
        if self.sub_devices:
            return PciIds(self.vendor, self.device, self.vendor, self.sub_devices[0])
        return PciIds(self.vendor, self.device)

    @property
    def vendor_name(self) -> str:
        """The vendor as pci.ids and vSphere spell it."""
        return _VENDOR_NAMES[self.vendor]


def _nv(
    name: str,
    device: int,
    device_name: str,
    gib: int,
    bar_gib: int | None,
    generation: str,
    *aliases: str,
    mig: bool = False,
    form: str = "pcie",
    bridge: int | None = None,
    subs: tuple[int, ...] = (),
) -> GpuModel:
    return GpuModel(
        name,
        NVIDIA,
        device,
        device_name,
        gib * 1024,
        bar_gib,
        mig,
        generation,
        form,
        bridge,
        aliases,
        subs,
    )


def _module(
    name: str, device: int, device_name: str, gib: int, bar_gib: int | None, generation: str, *aliases: str
) -> GpuModel:
    mig = generation != "volta"
    return _nv(name, device, device_name, gib, bar_gib, generation, *aliases, mig=mig, form="module")


def _amd(name: str, device: int, device_name: str, gib: int, form: str) -> GpuModel:
    generation = "cdna2" if "MI2" in name else "cdna3"
    return GpuModel(
        name, AMD, device, device_name, gib * 1024, None, False, generation, form, class_id=0x1200
    )


def _intel(name: str, device: int, device_name: str, gib: int, *aliases: str) -> GpuModel:
    return GpuModel(
        name, INTEL, device, device_name, gib * 1024, None, False, "xe", aliases=aliases, class_id=0x0380
    )


GPU_MODELS: Final[tuple[GpuModel, ...]] = (
    _nv("P100-16", 0x15F8, "GP100GL [Tesla P100 PCIe 16GB]", 16, None, "pascal"),
    _nv("P40", 0x1B38, "GP102GL [Tesla P40]", 24, None, "pascal"),
    _nv("V100-16", 0x1DB4, "GV100GL [Tesla V100 PCIe 16GB]", 16, None, "volta"),
    _nv("V100-32", 0x1DB6, "GV100GL [Tesla V100 PCIe 32GB]", 32, None, "volta", "V100"),
    _nv("V100S-32", 0x1DF6, "GV100GL [Tesla V100S PCIe 32GB]", 32, None, "volta", "V100S"),
    _module("V100-SXM-16", 0x1DB1, "GV100GL [Tesla V100 SXM2 16GB]", 16, None, "volta"),
    _module("V100-SXM-32", 0x1DB5, "GV100GL [Tesla V100 SXM2 32GB]", 32, None, "volta", "V100-SXM"),
    _module("V100-SXM3-32", 0x1DB8, "GV100GL [Tesla V100 SXM3 32GB]", 32, None, "volta"),
    _nv("T4", 0x1EB8, "TU104GL [Tesla T4]", 16, None, "turing"),
    _nv("A2", 0x25B6, "GA107GL [A2 / A16]", 16, None, "ampere", subs=(0x157E,)),
    _nv("A16", 0x25B6, "GA107GL [A2 / A16]", 16, None, "ampere", subs=(0x14A9,)),
    _nv("A10", 0x2236, "GA102GL [A10]", 24, None, "ampere"),
    _nv("A30", 0x20B7, "GA100GL [A30 PCIe]", 24, 32, "ampere", mig=True, bridge=4),
    _nv("A40", 0x2235, "GA102GL [A40]", 48, None, "ampere", bridge=4),
    _nv("RTX-A6000", 0x2230, "GA102GL [RTX A6000]", 48, None, "ampere", "A6000", bridge=4),
    _nv("A100-40", 0x20F1, "GA100 [A100 PCIe 40GB]", 40, 64, "ampere", mig=True, bridge=12),
    _nv("A100-80", 0x20B5, "GA100 [A100 PCIe 80GB]", 80, 128, "ampere", mig=True, bridge=12),
    _nv("A800-80", 0x20F5, "GA100 [A800 80GB PCIe]", 80, 128, "ampere", mig=True),
    _module("A100-SXM-40", 0x20B0, "GA100 [A100 SXM4 40GB]", 40, 64, "ampere"),
    _module("A100-SXM-80", 0x20B2, "GA100 [A100 SXM4 80GB]", 80, 128, "ampere", "A100-SXM"),
    _module("A800-SXM-80", 0x20F3, "GA100 [A800-SXM4-80GB]", 80, 128, "ampere", "A800-SXM"),
    _nv("L4", 0x27B8, "AD104GL [L4]", 24, None, "ada"),
    _nv("L40", 0x26B5, "AD102GL [L40]", 48, None, "ada"),
    _nv("L40S", 0x26B9, "AD102GL [L40S]", 48, None, "ada"),
    _nv("RTX-6000-ADA", 0x26B1, "AD102GL [RTX 6000 Ada Generation]", 48, None, "ada"),
    _nv("H100-80", 0x2331, "GH100 [H100 PCIe]", 80, 128, "hopper", "H100-PCIE", mig=True, bridge=12),
    _nv("H100-NVL-94", 0x2321, "GH100 [H100L 94GB]", 94, None, "hopper", "H100-NVL", mig=True, bridge=12),
    _nv("H800-80", 0x2322, "GH100 [H800 PCIe]", 80, None, "hopper", "H800-PCIE", mig=True),
    _module("H100-SXM-80", 0x2330, "GH100 [H100 SXM5 80GB]", 80, 128, "hopper", "H100-SXM"),
    _module("H800-SXM-80", 0x2324, "GH100 [H800]", 80, None, "hopper", "H800-SXM"),
    _module("H20-96", 0x2329, "GH100 [H20]", 96, None, "hopper", "H20"),
    _module("H200-SXM-141", 0x2335, "GH100 [H200 SXM 141GB]", 141, None, "hopper", "H200-SXM"),
    _nv("H200-NVL-141", 0x233B, "GH100 [H200 NVL]", 141, None, "hopper", "H200-NVL", mig=True),
    _module("B200-SXM-180", 0x2901, "GB100 [B200]", 180, None, "blackwell", "B200"),
    _amd("MI210", 0x740F, "Aldebaran/MI200 [Instinct MI210]", 64, "pcie"),
    _amd("MI250X", 0x740C, "Aldebaran/MI200 [Instinct MI250X/MI250]", 64, "module"),
    _amd("MI300X", 0x74A1, "Aqua Vanjaram [Instinct MI300X]", 192, "module"),
    _amd("MI325X", 0x74A5, "Aqua Vanjaram [Instinct MI325X]", 256, "module"),
    _intel("FLEX-170", 0x56C0, "Data Center GPU Flex 170", 16, "Flex170"),
    _intel("FLEX-140", 0x56C1, "Data Center GPU Flex 140", 6, "Flex140"),
    _intel("MAX-1550", 0x0BD5, "Ponte Vecchio XT (2 Tile) [Data Center GPU Max 1550]", 128, "Max1550"),
    _intel("MAX-1100", 0x0BDA, "Ponte Vecchio XT (1 Tile) [Data Center GPU Max 1100]", 48, "Max1100"),
)

# Ids that are the same product as a listed one.
_SAME_MODEL: Final[dict[tuple[int, int], str]] = {
    (NVIDIA, 0x20B1): "A100-40",
    (NVIDIA, 0x1DF5): "V100-SXM-16",
    (INTEL, 0x0BD6): "MAX-1550",
    (INTEL, 0x0BD9): "MAX-1100",
    (INTEL, 0x0BDB): "MAX-1100",
}


def gpu_by_ids(ids: PciIds) -> GpuModel | None:
    """Return the model of a device, or None where it is not known.

    Where one id serves several models (A2 and A16), the subsystem id must tell which.
    """
    for model in _by_device().get((ids.vendor, ids.device), ()):
        if not model.sub_devices or ids.sub_device in model.sub_devices:
            return model
    return None


def gpu_by_name(name: str) -> GpuModel | None:
    """Return the model a person calls ``name``, or None. Case, spaces and hyphens do not count.

    A name that fits several models ("A100") is no name: `gpu_candidates` lists them.
    """
    return _by_name().get(_key(name))


def gpu_candidates(name: str) -> tuple[str, ...]:
    """Return the names of the models that a word could mean, for a hint."""
    key = _key(name)
    return tuple(model.name for model in GPU_MODELS if key and key in _key(model.name))


def _key(name: str) -> str:
    word = re.sub(r"[\s_\-/]", "", name).casefold()
    word = word.removeprefix("nvidia").removeprefix("tesla").removeprefix("amd").removeprefix("intel")
    return word.removesuffix("gb") if re.search(r"\d+gb$", word) else word


@cache
def _by_name() -> dict[str, GpuModel]:
    return {_key(word): model for model in GPU_MODELS for word in (model.name, *model.aliases)}


@cache
def _by_device() -> dict[tuple[int, int], tuple[GpuModel, ...]]:
    table: dict[tuple[int, int], list[GpuModel]] = {}
    for model in GPU_MODELS:
        table.setdefault((model.vendor, model.device), []).append(model)
    for ids, name in _SAME_MODEL.items():
        table[ids] = [_by_name()[_key(name)]]
    return {ids: tuple(models) for ids, models in table.items()}
