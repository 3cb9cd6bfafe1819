"""The catalogue of known hardware, whole or one item."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from vplacer.errors import AmbiguousObjectError, UnknownObjectError

if TYPE_CHECKING:
    from vplacer.inventory.cpu_models import CpuFeature, CpuGeneration
    from vplacer.inventory.gpu_facts import GpuModel
    from vplacer.inventory.nic_models import NicModel
    from vplacer.inventory.pci import PciIds
    from vplacer.topology.boards import Board


@dataclass(frozen=True, slots=True)
class Hardware:
    """All that the catalogue knows."""

    gpus: tuple[GpuModel, ...]
    nics: tuple[NicModel, ...]
    boards: tuple[Board, ...]
    cpu_features: tuple[CpuFeature, ...]
    cpus: tuple[CpuGeneration, ...]


def hardware() -> Hardware:
    """Return the catalogue.

    Raises:
        CatalogueError: one of its files is damaged.
    """
    from vplacer.inventory.cpu_models import cpu_features, cpu_generations
    from vplacer.inventory.gpu_models import gpu_models
    from vplacer.inventory.nic_models import nic_models
    from vplacer.topology.boards import boards

    return Hardware(gpu_models(), nic_models(), boards(), cpu_features(), cpu_generations())


def hardware_item(name: str) -> GpuModel | NicModel:
    """Return a GPU or NIC by its name or by its ids ("10de:20b7", "10de:25b6:10de:157e").

    Raises:
        AmbiguousObjectError: the ids are those of several models.
        UnknownObjectError: there is none; the message names what could be meant.
    """
    from vplacer.inventory.gpu_models import gpu_by_ids, gpu_by_name, gpu_candidates, gpus_of_device
    from vplacer.inventory.nic_models import nic_by_ids, nic_by_name

    found: GpuModel | NicModel | None = gpu_by_name(name) or nic_by_name(name)
    ids = _ids(name) if found is None else None
    if ids is not None:
        found = gpu_by_ids(ids) or nic_by_ids(ids)
        several = gpus_of_device(ids.vendor, ids.device)
        if found is None and several:
            told = [
                f"{model.name} (subsystem {', '.join(f'{sub:04x}' for sub in model.sub_devices)})"
                for model in several
            ]
            raise AmbiguousObjectError(
                "only the subsystem device id tells which model this is",
                obj=name,
                why=", ".join(told),
                hint="give the name, or all four ids: vendor:device:subvendor:subdevice",
            )
    if found is None:
        close = ", ".join(gpu_candidates(name))
        raise UnknownObjectError(
            "the catalogue has no GPU or NIC of this name",
            obj=name,
            hint=f"did you mean {close}?" if close else "`vplacer hardware list` names all",
        )
    return found


def _ids(text: str) -> PciIds | None:
    """Read two or four hexadecimal ids between colons; None where the text is something else."""
    from vplacer.inventory.pci import PciIds

    try:
        numbers = [int(part, 16) for part in text.split(":")]
        return PciIds(*numbers) if len(numbers) in (2, 4) else None
    except ValueError:
        return None
