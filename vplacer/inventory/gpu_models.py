"""Data-centre GPU models by PCI id and by name: a view over the catalogue (``topology/catalogue/*.toml``).

An id that is not listed is unknown: nothing is derived from a neighbour's.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Any, Final

from vplacer.inventory.catalogue import catalogue_entries
from vplacer.inventory.catalogue_entry import Entry, read_hex, read_ids
from vplacer.inventory.gpu_facts import (
    PRECISIONS,
    Bridge,
    GpuFigures,
    GpuModel,
    MigShape,
    NvLinkFacts,
    PcieLink,
)
from vplacer.inventory.pci import PciIds

NVIDIA: Final = 0x10DE
AMD: Final = 0x1002
INTEL: Final = 0x8086

_FORMS: Final = ("pcie", "module")
_CLASS_3D: Final = 0x0302
_MIB_PER_GIB: Final = 1024

# Facts that are one group with one source, and the keys that hold them.
_GROUP_KEYS: Final[dict[str, tuple[str, ...]]] = {
    "ids": ("ids",),
    "memory": ("memory",),
    "bar1": ("bar1_gib",),
    "mig": ("mig",),
    "vgpu": ("vgpu",),
    "nvlink": ("nvlink",),
    "pcie": ("pcie",),
    "sparsity_2_4": ("sparsity_2_4",),
    "types": ("types",),
    "figures": ("plain", "tensor", "tensor_2_4"),
}


@cache
def gpu_models() -> tuple[GpuModel, ...]:
    """Return the models of the catalogue.

    Raises:
        CatalogueError: an entry is wrong.
    """
    return tuple(read_gpu(entry) for entry in catalogue_entries("gpu"))


def gpu_by_ids(ids: PciIds) -> GpuModel | None:
    """Return the model of a device, or None where it is not known.

    Where one id serves several models (A2 and A16), the subsystem id must tell which.
    """
    for model in _by_device().get((ids.vendor, ids.device), ()):
        if not model.sub_devices or ids.sub_device in model.sub_devices:
            return model
    return None


def gpus_of_device(vendor: int, device: int) -> tuple[GpuModel, ...]:
    """Return all models that a vendor and device id may be; several where only the subsystem tells."""
    return tuple(_by_device().get((vendor, device), ()))


def gpu_by_name(name: str) -> GpuModel | None:
    """Return the model a person calls ``name``, or None. Case, spaces and hyphens do not count.

    A name that fits several models ("A100") is no name: `gpu_candidates` lists them.
    """
    return _by_name().get(_key(name))


def gpu_candidates(name: str) -> tuple[str, ...]:
    """Return the names of the models that a word could mean, for a hint."""
    key = _key(name)
    return tuple(model.name for model in gpu_models() if key and key in _key(model.name))


def read_gpu(entry: Entry) -> GpuModel:
    """Read one entry.

    Raises:
        CatalogueError: a key is unknown, missing or of the wrong type, or a fact has no source.
    """
    first, *others = read_ids(entry)
    memory_mib, memory_gb_s = _memory(entry)
    types = entry.texts("types", ()) if entry.has("types") else None
    for word in types or ():
        if word not in PRECISIONS:
            raise entry.error("types", f"{word} is none of {', '.join(PRECISIONS)}")
    model = GpuModel(
        name=entry.text("name"),
        vendor=first.vendor,
        device=first.device,
        device_name=entry.text("device_name"),
        memory_mib=memory_mib,
        bar_gib=entry.integer("bar1_gib", None),
        generation=entry.text("generation"),
        form=entry.word("form", _FORMS),
        mig_shape=_mig(entry),
        nvlink=_nvlink(entry),
        without_nvlink=entry.is_false("nvlink"),
        memory_gb_s=memory_gb_s,
        vgpu=entry.flag("vgpu", None),
        pcie=_pcie(entry),
        sparsity_2_4=entry.flag("sparsity_2_4", None),
        types=types,
        figures=_figures(entry, types),
        sources=entry.sources(),
        aliases=entry.texts("aliases", ()),
        sub_devices=tuple(read_hex(entry, "sub_devices", text) for text in entry.texts("sub_devices", ())),
        other_devices=tuple(ids.device for ids in others),
        class_id=entry.integer("class", _CLASS_3D),
    )
    entry.finish(tuple(group for group, keys in _GROUP_KEYS.items() if any(map(entry.has, keys))))
    return model


def _memory(entry: Entry) -> tuple[int, float | None]:
    table = entry.table("memory")
    if table is None:
        raise entry.error("memory", "is missing")
    found = table.integer("gib") * _MIB_PER_GIB, table.number("gb_s", None)
    table.finish(())
    return found


def _mig(entry: Entry) -> MigShape | None:
    table = entry.table("mig")
    if table is None:
        return None
    shape = MigShape(table.integer("instances"), table.integer("memory_slices"))
    table.finish(())
    return shape


def _nvlink(entry: Entry) -> NvLinkFacts | None:
    if entry.is_false("nvlink"):
        return None
    table = entry.table("nvlink")
    if table is None:
        return None
    facts = NvLinkFacts(
        table.integer("generation"),
        table.integer("links"),
        table.number("gb_s_each_way"),
        tuple(_bridge(item) for item in table.tables("bridges")),
    )
    table.finish(())
    return facts


def _bridge(table: Entry) -> Bridge:
    bridge = Bridge(table.integer("cards", least=2), table.integer("lanes", None))
    table.finish(())
    return bridge


def _pcie(entry: Entry) -> PcieLink | None:
    table = entry.table("pcie")
    if table is None:
        return None
    link = PcieLink(table.integer("generation"), table.integer("lanes"))
    table.finish(())
    return link


def _figures(entry: Entry, types: tuple[str, ...] | None) -> GpuFigures:
    found: dict[str, Any] = {key: entry.figures(key, PRECISIONS) for key in ("plain", "tensor", "tensor_2_4")}
    for key, figures in found.items():
        for word, _ in figures:
            if types is None or word not in types:
                raise entry.error(f"{key}: {word}", "is not among the types")
    return GpuFigures(**found)


def _key(name: str) -> str:
    word = re.sub(r"[\s_\-/]", "", name).casefold()
    word = word.removeprefix("nvidia").removeprefix("tesla").removeprefix("amd").removeprefix("intel")
    return word.removesuffix("gb") if re.search(r"\d+gb$", word) else word


@cache
def _by_name() -> dict[str, GpuModel]:
    return {_key(word): model for model in gpu_models() for word in (model.name, *model.aliases)}


@cache
def _by_device() -> dict[tuple[int, int], tuple[GpuModel, ...]]:
    table: dict[tuple[int, int], list[GpuModel]] = {}
    for model in gpu_models():
        for device in (model.device, *model.other_devices):
            table.setdefault((model.vendor, device), []).append(model)
    return {ids: tuple(models) for ids, models in table.items()}
