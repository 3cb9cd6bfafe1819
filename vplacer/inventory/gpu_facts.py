"""What the catalogue knows of a GPU model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from vplacer.inventory.pci import PciIds

PRECISIONS: Final = ("FP64", "FP32", "TF32", "FP16", "BF16", "FP8", "FP4", "INT8", "INT4")

_VENDOR_NAMES: Final = {
    0x10DE: "NVIDIA Corporation",
    0x1002: "Advanced Micro Devices, Inc. [AMD/ATI]",
    0x8086: "Intel Corporation",
}


@dataclass(frozen=True, slots=True)
class Bridge:
    """A bridge of the vendor's: how many cards it joins, by how many links any two; None = not published."""

    cards: int
    lanes: int | None


@dataclass(frozen=True, slots=True)
class NvLinkFacts:
    """NVLink of a model. ``gb_s_each_way`` of one link in one direction; vendors print both together.

    ``bridges``: those that join PCIe cards. Which slots of a host are bridged no catalogue can know.
    """

    generation: int
    links: int
    gb_s_each_way: float
    bridges: tuple[Bridge, ...] = ()

    @property
    def gb_s_total(self) -> float:
        """All links of a GPU, both directions: the figure of the datasheets."""
        return self.links * self.gb_s_each_way * 2


@dataclass(frozen=True, slots=True)
class MigShape:
    """How Multi-Instance GPU cuts a card: instances at most (compute slices), and slices of its memory."""

    instances: int
    memory_slices: int


@dataclass(frozen=True, slots=True)
class PcieLink:
    """The slot a card is made for."""

    generation: int
    lanes: int


@dataclass(frozen=True, slots=True)
class GpuFigures:
    """Published peaks by precision, TFLOPS (INT8, INT4: TOPS). Not published = not there.

    ``tensor``: on tensor or matrix cores, dense; ``tensor_2_4``: with 2:4 sparsity; ``plain``: without them.
    """

    plain: tuple[tuple[str, float], ...] = ()
    tensor: tuple[tuple[str, float], ...] = ()
    tensor_2_4: tuple[tuple[str, float], ...] = ()


@dataclass(frozen=True, slots=True)
class GpuModel:
    """One model of card. None = no published fact.

    ``bar_gib``: the largest memory BAR as set up for passthrough, None = no published figure confirms it
    (a caller then rounds ``memory_mib`` up to a power of two). ``memory_mib`` is the nominal size.
    ``mig_shape`` None = Multi-Instance GPU cannot cut it. ``form``: "pcie" or "module" (SXM, OAM: NVLink or
    xGMI is part of the board). ``nvlink`` None = not known, or, with ``without_nvlink``, known to have none.
    ``sub_devices``: where one id serves several models, the subsystem device ids of this one.
    ``other_devices``: further device ids of the same product. ``vgpu``: the vendor's vGPU software supports
    it on vSphere. ``types``: every precision it computes in. ``sources``: group of facts and source.
    """

    name: str
    vendor: int
    device: int
    device_name: str
    memory_mib: int
    bar_gib: int | None
    generation: str
    form: str
    mig_shape: MigShape | None
    nvlink: NvLinkFacts | None
    without_nvlink: bool
    memory_gb_s: float | None
    vgpu: bool | None
    pcie: PcieLink | None
    sparsity_2_4: bool | None
    types: tuple[str, ...] | None
    figures: GpuFigures
    sources: tuple[tuple[str, str], ...]
    aliases: tuple[str, ...] = ()
    sub_devices: tuple[int, ...] = ()
    other_devices: tuple[int, ...] = ()
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
        return _VENDOR_NAMES.get(self.vendor, f"vendor {self.vendor:04x}")

    @property
    def mig(self) -> bool:
        """Whether Multi-Instance GPU can cut it."""
        return self.mig_shape is not None

    @property
    def bridge_lanes(self) -> int | None:
        """The NVLinks between two bridged cards; None where it takes no bridge or several kinds differ."""
        lanes = {bridge.lanes for bridge in self.nvlink.bridges} if self.nvlink is not None else set()
        return lanes.pop() if len(lanes) == 1 else None
