"""Network card models: a view over the catalogue (``topology/catalogue/nics-*.toml``)."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from typing import Final

from vplacer.inventory.catalogue import catalogue_entries
from vplacer.inventory.catalogue_entry import Entry, read_ids
from vplacer.inventory.pci import PciIds

MELLANOX: Final = 0x15B3
INTEL: Final = 0x8086
BROADCOM: Final = 0x14E4
PENSANDO: Final = 0x1DD8

_VENDOR_NAMES: Final = {
    MELLANOX: "Mellanox Technologies",
    INTEL: "Intel Corporation",
    BROADCOM: "Broadcom Inc. and subsidiaries",
    PENSANDO: "AMD Pensando Systems",
}
_CLASS_ETHERNET: Final = 0x0200


@dataclass(frozen=True, slots=True)
class NicModel:
    """One model of network card. None = no published fact.

    ``mbps``: the fastest speed of a port of the usual card. ``vf_device`` None = no virtual functions, or
    their id is not known. ``vf_max``: virtual functions that vSphere supports on it.
    """

    name: str
    vendor: int
    device: int
    device_name: str
    mbps: int | None
    rdma: bool | None
    vf_device: int | None = None
    vf_max: int | None = None
    aliases: tuple[str, ...] = ()
    other_devices: tuple[int, ...] = ()
    class_id: int = _CLASS_ETHERNET
    sources: tuple[tuple[str, str], ...] = ()

    @property
    def ids(self) -> PciIds:
        """Vendor and device id."""
        return PciIds(self.vendor, self.device)

    @property
    def vendor_name(self) -> str:
        """The vendor as pci.ids spells it."""
        return _VENDOR_NAMES.get(self.vendor, f"vendor {self.vendor:04x}")


@cache
def nic_models() -> tuple[NicModel, ...]:
    """Return the models of the catalogue.

    Raises:
        CatalogueError: an entry is wrong.
    """
    return tuple(read_nic(entry) for entry in catalogue_entries("nic"))


def nic_by_ids(ids: PciIds) -> NicModel | None:
    """Return the model of a device, or None where it is not known."""
    return _by_device().get((ids.vendor, ids.device))


def nic_by_name(name: str) -> NicModel | None:
    """Return the model a person calls ``name`` ("CX7", "ConnectX-7", "cx6dx"), or None."""
    wanted = _key(name)
    for model in nic_models():
        if wanted in {_key(word) for word in (model.name, *model.aliases)}:
            return model
    return None


def read_nic(entry: Entry) -> NicModel:
    """Read one entry.

    Raises:
        CatalogueError: a key is unknown, missing or of the wrong type, or a fact has no source.
    """
    first, *others = read_ids(entry)
    functions = entry.table("vf")
    model = NicModel(
        name=entry.text("name"),
        vendor=first.vendor,
        device=first.device,
        device_name=entry.text("device_name"),
        mbps=entry.integer("mbps", None),
        rdma=entry.flag("rdma", None),
        vf_device=None if functions is None else functions.integer("device"),
        vf_max=None if functions is None else functions.integer("max", None),
        aliases=entry.texts("aliases", ()),
        other_devices=tuple(ids.device for ids in others),
        class_id=entry.integer("class", _CLASS_ETHERNET),
        sources=entry.sources(),
    )
    if functions is not None:
        functions.finish(())
    groups = {"ids": "ids", "mbps": "speed", "rdma": "rdma", "vf": "vf"}
    entry.finish(tuple(group for key, group in groups.items() if entry.has(key)))
    return model


@cache
def _by_device() -> dict[tuple[int, int], NicModel]:
    return {
        (model.vendor, device): model
        for model in nic_models()
        for device in (model.device, *model.other_devices)
    }


def _key(name: str) -> str:
    return re.sub(r"[\s_\-]", "", name).casefold().replace("connectx", "cx")
