"""CPU features and processor generations: a view over the catalogue (``topology/catalogue/cpu*.toml``)."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from typing import Final

from vplacer.inventory.catalogue import catalogue_entries
from vplacer.inventory.catalogue_entry import Entry

CPU_PRECISIONS: Final = ("INT8", "BF16", "AMX")
"""What a host's processors may offer beyond FP64 and FP32, which all have. None has INT4."""

_PREFIX: Final = "cpuid."


@dataclass(frozen=True, slots=True)
class CpuFeature:
    """A feature that vSphere knows by ``key`` (lower case). ``gives``: words of `CPU_PRECISIONS`.

    ``needs``: features without which it is of no use. ``hardware_version``: the first virtual hardware
    version whose VMs can see it.
    """

    key: str
    label: str
    gives: tuple[str, ...]
    needs: tuple[str, ...]
    hardware_version: int

    @property
    def name(self) -> str:
        """The key without what all keys begin with: "avx512vnni"."""
        return self.key.removeprefix(_PREFIX)


@dataclass(frozen=True, slots=True)
class CpuGeneration:
    """A generation of server processors. ``evc``: the EVC mode named after it, None = none or not known."""

    name: str
    vendor: str
    patterns: tuple[re.Pattern[str], ...]
    evc: str | None
    features: tuple[str, ...]


@cache
def cpu_features() -> tuple[CpuFeature, ...]:
    """Return the features of the catalogue.

    Raises:
        CatalogueError: an entry is wrong.
    """
    found = tuple(_feature(entry) for entry in catalogue_entries("cpu_feature"))
    keys = {feature.key for feature in found}
    for entry, feature in zip(catalogue_entries("cpu_feature"), found, strict=True):
        if lost := sorted(set(feature.needs) - keys):
            raise entry.error("needs", f"no such feature: {lost[0]}")
    return found


@cache
def cpu_generations() -> tuple[CpuGeneration, ...]:
    """Return the generations of the catalogue, the one to be tried first in front.

    Raises:
        CatalogueError: an entry is wrong.
    """
    keys = {feature.key for feature in cpu_features()}
    return tuple(_generation(entry, keys) for entry in catalogue_entries("cpu"))


def generation_of(model: str) -> CpuGeneration | None:
    """Return the generation of a processor as a host calls it, None where it is not known."""
    for generation in cpu_generations():
        if any(pattern.search(model) for pattern in generation.patterns):
            return generation
    return None


def generation_of_evc(mode: str) -> CpuGeneration | None:
    """Return the generation an EVC mode is named after, None where it is not known."""
    return next((item for item in cpu_generations() if item.evc == mode), None)


def _feature(entry: Entry) -> CpuFeature:
    key = entry.text("key")
    if key != key.lower() or not key.startswith(_PREFIX):
        raise entry.error("key", f"lower case, beginning with {_PREFIX}, is needed")
    gives = entry.texts("gives")
    if lost := sorted(set(gives) - set(CPU_PRECISIONS)):
        raise entry.error("gives", f"{lost[0]} is none of {', '.join(CPU_PRECISIONS)}")
    feature = CpuFeature(
        key, entry.text("label"), gives, entry.texts("needs", ()), entry.integer("hardware_version")
    )
    entry.finish(("key", "hardware_version", "gives"))
    return feature


def _generation(entry: Entry, keys: set[str]) -> CpuGeneration:
    features = entry.texts("features")
    if lost := sorted(set(features) - keys):
        raise entry.error("features", f"no such feature: {lost[0]}")
    try:
        patterns = tuple(re.compile(text, re.IGNORECASE) for text in entry.texts("models"))
    except re.error as error:
        raise entry.error("models", f"no pattern: {error}") from None
    generation = CpuGeneration(
        entry.text("name"),
        entry.word("vendor", ("intel", "amd")),
        patterns,
        entry.text("evc", None),
        features,
    )
    entry.finish(("models", "features", "evc") if generation.evc else ("models", "features"))
    return generation
