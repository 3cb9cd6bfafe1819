"""NVSwitches by PCI id and by name: a view over the catalogue (``nvidia-nvswitch.toml``)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from vplacer.inventory.catalogue import catalogue_entries
from vplacer.inventory.catalogue_entry import Entry, read_ids
from vplacer.inventory.pci import PciIds


@dataclass(frozen=True, slots=True)
class NvSwitchModel:
    """A kind of NVSwitch, named after the GPUs it joins. ``ids``: the first is the usual one."""

    name: str
    ids: tuple[PciIds, ...]
    device_name: str


@cache
def nvswitch_models() -> tuple[NvSwitchModel, ...]:
    """Return the NVSwitches of the catalogue.

    Raises:
        CatalogueError: an entry is wrong.
    """
    return tuple(_read(entry) for entry in catalogue_entries("nvswitch"))


def is_nvswitch(vendor: int, device: int) -> bool:
    """Whether the ids are those of an NVSwitch."""
    return (vendor, device) in _known()


@cache
def _known() -> frozenset[tuple[int, int]]:
    return frozenset((ids.vendor, ids.device) for model in nvswitch_models() for ids in model.ids)


def _read(entry: Entry) -> NvSwitchModel:
    model = NvSwitchModel(entry.text("name"), read_ids(entry), entry.text("device_name"))
    entry.finish(("ids",))
    return model
