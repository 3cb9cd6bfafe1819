"""Makes an overlay from what another tool says of a host, held against what vCenter says of it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from vplacer.errors import UsageError
from vplacer.inventory.pci import PciAddress
from vplacer.jobs.overlays import save_overlays
from vplacer.jobs.source import SourceOptions, read_source
from vplacer.jobs.topology import find_host
from vplacer.jobs.world import World, timestamp

if TYPE_CHECKING:
    from vplacer.topology.importers.nvidia_smi import ImportResult

STANDARD_INPUT = "-"


@dataclass(frozen=True, slots=True)
class ImportOptions:
    """What is imported.

    Args:
        source: the inventory that has the host.
        file: output of ``nvidia-smi topo -m``; "-" = standard input.
        host: as for `topology.find_host`.
        folder: the overlay folder to write into; None = the user's, of the vCenter.
        gpus: addresses of GPU0, GPU1, ...; empty = in the order of the host's PCI addresses.
        nics: address by label ("NIC0") or device name ("mlx5_0").
    """

    source: SourceOptions
    file: str
    host: str
    folder: Path | None = None
    gpus: tuple[str, ...] = ()
    nics: Mapping[str, str] | None = None


@dataclass(frozen=True, slots=True)
class Imported:
    """An import, and the folder that its overlay was written into."""

    result: ImportResult
    folder: Path


def import_matrix(options: ImportOptions, world: World) -> Imported:
    """Write the overlay of a host's ``nvidia-smi topo -m``. Other sources' sections of the file stay.

    Raises:
        UnknownObjectError, AmbiguousObjectError: the file cannot be read; the name fits no host, or several.
        FileFormatError: the text holds no matrix, or one that contradicts itself.
        UsageError: an address is none, the matrix does not fit the host, or no folder is known.
        OutputError: the overlay cannot be written.
    """
    from vplacer.inventory.overlay_file import default_folder
    from vplacer.topology.importers.nvidia_smi import overlay_from_matrix
    from vplacer.topology.importers.smi_matrix import parse_matrix

    matrix = parse_matrix(_text(options.file, world), options.file)
    gpus = _addresses(options.gpus)
    nics = dict(zip(options.nics, _addresses(options.nics.values()), strict=True)) if options.nics else {}
    _refuse_unknown_nics(nics, {*matrix.labels, *(name for _, name in matrix.nic_names)})
    # What is imported stands beside other overlays; it is not derived from them.
    inventory = read_source(replace(options.source, overlays=None), world).inventory
    uuid = inventory.about.instance_uuid
    folder = options.folder
    if folder is None:
        if not uuid:
            raise UsageError(
                "the inventory has no vCenter UUID to file the overlay under", hint="give -o DIR"
            )
        folder = default_folder(world.environ, uuid)
    result = overlay_from_matrix(
        matrix,
        find_host(inventory, options.host),
        created=timestamp(world.clock()),
        vcenter_uuid=uuid or None,
        gpu_addresses=gpus or None,
        nic_addresses=nics,
    )
    save_overlays(folder, (result.overlay,))
    return Imported(result, folder)


def _text(file: str, world: World) -> str:
    from vplacer.inventory.yaml_marks import decode_text, read_bytes

    if file == STANDARD_INPUT:
        return world.stdin.read() if world.stdin is not None else ""
    return decode_text(read_bytes(Path(file)), file)


def _addresses(texts: Iterable[str]) -> list[PciAddress]:
    found = []
    for text in texts:
        try:
            found.append(PciAddress.parse(text))
        except ValueError as error:
            raise UsageError("is no PCI address", obj=text, why=str(error)) from None
    return found


def _refuse_unknown_nics(nics: Mapping[str, PciAddress], known: set[str]) -> None:
    for name in nics:
        if name not in known:
            raise UsageError(
                "the matrix has no device of this name",
                obj=name,
                hint="give a label, such as NIC0, or a name of its legend",
            )
