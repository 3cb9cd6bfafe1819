"""Network card models for inventory YAML: PCI ids (pci.ids), speed and what their virtual functions are."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from vplacer.inventory.pci import PciIds

MELLANOX: Final = 0x15B3
INTEL: Final = 0x8086
BROADCOM: Final = 0x14E4

_VENDOR_NAMES: Final = {
    MELLANOX: "Mellanox Technologies",
    INTEL: "Intel Corporation",
    BROADCOM: "Broadcom Inc. and subsidiaries",
}


@dataclass(frozen=True, slots=True)
class NicModel:
    """One model of network card. ``vf_device`` None = no virtual functions; ``mbps`` its usual speed."""

    name: str
    vendor: int
    device: int
    device_name: str
    mbps: int
    rdma: bool
    vf_device: int | None = None
    vf_max: int = 0
    aliases: tuple[str, ...] = ()
    class_id: int = 0x0200

    @property
    def ids(self) -> PciIds:
        """Vendor and device id."""
        return PciIds(self.vendor, self.device)

    @property
    def vendor_name(self) -> str:
        """The vendor as pci.ids spells it."""
        return _VENDOR_NAMES[self.vendor]


NIC_MODELS: Final[tuple[NicModel, ...]] = (
    NicModel("CX4-LX", MELLANOX, 0x1015, "MT27710 Family [ConnectX-4 Lx]", 25_000, True, 0x1016, 64),
    NicModel("CX5", MELLANOX, 0x1017, "MT27800 Family [ConnectX-5]", 100_000, True, 0x1018, 64),
    NicModel("CX6", MELLANOX, 0x101B, "MT28908 Family [ConnectX-6]", 200_000, True, 0x101C, 64),
    NicModel("CX6-DX", MELLANOX, 0x101D, "MT2892 Family [ConnectX-6 Dx]", 100_000, True, 0x101E, 64),
    NicModel("CX7", MELLANOX, 0x1021, "MT2910 Family [ConnectX-7]", 400_000, True, 0x101E, 64),
    NicModel(
        "BF2",
        MELLANOX,
        0xA2D6,
        "MT42822 BlueField-2 integrated ConnectX-6 Dx network controller",
        100_000,
        True,
        0x101E,
        64,
        ("BlueField-2",),
    ),
    NicModel(
        "BF3",
        MELLANOX,
        0xA2DC,
        "MT43244 BlueField-3 integrated ConnectX-7 network controller",
        400_000,
        True,
        0x101E,
        64,
        ("BlueField-3",),
    ),
    NicModel(
        "82599", INTEL, 0x10FB, "82599ES 10-Gigabit SFI/SFP+ Network Connection", 10_000, False, 0x10ED, 63
    ),
    NicModel("X710", INTEL, 0x1572, "Ethernet Controller X710 for 10GbE SFP+", 10_000, False, 0x154C, 64),
    NicModel("XL710", INTEL, 0x1583, "Ethernet Controller XL710 for 40GbE QSFP+", 40_000, False, 0x154C, 64),
    NicModel("E810", INTEL, 0x1592, "Ethernet Controller E810-C for QSFP", 100_000, True, 0x1889, 64),
    NicModel(
        "BCM57414",
        BROADCOM,
        0x16D7,
        "BCM57414 NetXtreme-E 10Gb/25Gb RDMA Ethernet Controller",
        25_000,
        True,
    ),
)


def nic_by_name(name: str) -> NicModel | None:
    """Return the model a person calls ``name`` ("CX7", "ConnectX-7", "cx6dx"), or None."""
    wanted = _key(name)
    for model in NIC_MODELS:
        if wanted in {_key(word) for word in (model.name, *model.aliases)}:
            return model
    return None


def _key(name: str) -> str:
    return re.sub(r"[\s_\-]", "", name).casefold().replace("connectx", "cx")
