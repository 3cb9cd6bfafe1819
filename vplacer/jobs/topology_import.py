"""Makes an overlay from what another tool says of a host, held against what vCenter says of it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from vplacer.errors import AmbiguousObjectError, UnknownObjectError, UsageError
from vplacer.inventory.host import Host
from vplacer.inventory.pci import PciAddress
from vplacer.inventory.vcenter import Inventory
from vplacer.inventory.vm import Vm
from vplacer.jobs.overlays import save_overlays
from vplacer.jobs.source import SourceOptions, read_source
from vplacer.jobs.topology import find_host
from vplacer.jobs.world import World, timestamp

if TYPE_CHECKING:
    from vplacer.topology.importers.facts import ReadOptions
    from vplacer.topology.importers.fit import ImportResult

STANDARD_INPUT = "-"
AUTO = "auto"


@dataclass(frozen=True, slots=True)
class ImportOptions:
    """What is imported.

    Args:
        source: the inventory that has the host.
        file: the output of a tool; "-" = standard input.
        host: as for `topology.find_host`.
        format: a name of `importers.registry`, or "auto" = told from the content.
        folder: the overlay folder to write into; None = the user's, of the vCenter.
        gpus: addresses of GPU0, GPU1, ...
        query_gpu: output of ``nvidia-smi --query-gpu=index,pci.bus_id --format=csv``.
        order_pci: GPUs are numbered in the order of PCI addresses.
        taken_in: name or managed object id of the VM in whose guest the file was made.
        nics: address by label ("NIC0") or device name ("mlx5_0").
        links_only: NUMA nodes are not taken over.
    """

    source: SourceOptions
    file: str
    host: str
    format: str = AUTO
    folder: Path | None = None
    gpus: tuple[str, ...] = ()
    query_gpu: Path | None = None
    order_pci: bool = False
    taken_in: str | None = None
    nics: Mapping[str, str] | None = None
    links_only: bool = False


@dataclass(frozen=True, slots=True)
class Imported:
    """An import: the format's name and title, and the folder that the overlay was written into."""

    result: ImportResult
    format: str
    title: str
    folder: Path


def import_topology(options: ImportOptions, world: World) -> Imported:
    """Write the overlay of a host from a tool's output. Other sources' sections of the file stay.

    Raises:
        UnknownObjectError, AmbiguousObjectError: a file cannot be read; a name fits nothing, or several.
        FileFormatError: the format cannot be told, or the text contradicts itself.
        UsageError: an address is none, the file does not fit the host, or no folder is known.
        OutputError: the overlay cannot be written.
    """
    from vplacer.inventory.overlay_file import default_folder
    from vplacer.topology.importers.fit import overlay_from_facts
    from vplacer.topology.importers.registry import detect, format_of, read_facts

    text = _text(options.file, world)
    chosen = detect(text, options.file) if options.format == AUTO else format_of(options.format)
    own = _read_options(options)
    # What is imported stands beside other overlays; it is not derived from them.
    inventory = read_source(replace(options.source, overlays=None), world).inventory
    host = find_host(inventory, options.host)
    uuid = inventory.about.instance_uuid
    folder = options.folder
    if folder is None:
        if not uuid:
            raise UsageError(
                "the inventory has no vCenter UUID to file the overlay under", hint="give --overlays DIR"
            )
        folder = default_folder(world.environ, uuid)
    if options.taken_in is not None:
        vms = tuple(inventory.vms_by_host.get(host.moid, ()))
        own = replace(own, taken_in=_find_vm(inventory, options.taken_in, host), vms=vms)
    facts = read_facts(chosen, text, options.file, host, own)
    result = overlay_from_facts(
        facts,
        host,
        created=timestamp(world.clock()),
        vcenter_uuid=uuid or None,
        file="standard input" if options.file == STANDARD_INPUT else Path(options.file).name,
        links_only=options.links_only,
    )
    save_overlays(folder, (result.overlay,))
    return Imported(result, chosen.name, chosen.title, folder)


def _read_options(options: ImportOptions) -> ReadOptions:
    from vplacer.topology.importers.facts import QueryFile, ReadOptions

    query = None
    if options.query_gpu is not None:
        path = str(options.query_gpu)
        query = QueryFile(_file_text(path), path)
    nics = options.nics or {}
    return ReadOptions(
        gpus=tuple(_addresses(options.gpus)),
        nics=dict(zip(nics, _addresses(nics.values()), strict=True)),
        query=query,
        order_pci=options.order_pci,
    )


def _text(file: str, world: World) -> str:
    if file == STANDARD_INPUT:
        return world.stdin.read() if world.stdin is not None else ""
    return _file_text(file)


def _file_text(file: str) -> str:
    from vplacer.inventory.yaml_marks import decode_text, read_bytes

    return decode_text(read_bytes(Path(file)), file)


def _addresses(texts: Iterable[str]) -> list[PciAddress]:
    found = []
    for text in texts:
        try:
            found.append(PciAddress.parse(text))
        except ValueError as error:
            raise UsageError("is no PCI address", obj=text, why=str(error)) from None
    return found


def _find_vm(inventory: Inventory, name: str, host: Host) -> Vm:
    wanted = name.lower()
    found = [vm for vm in inventory.vms if wanted in (vm.name.lower(), vm.moid.lower())]
    on_host = [vm for vm in found if vm.host == host.moid]
    found = on_host or found
    if len(found) == 1:
        return found[0]
    if found:
        listed = ", ".join(f"{vm.name} ({vm.moid})" for vm in found)
        raise AmbiguousObjectError(
            "several VMs have this name", obj=name, why=listed, hint="give the id in brackets"
        )
    names = sorted(vm.name for vm in inventory.vms if vm.host == host.moid)
    raise UnknownObjectError(
        "no VM has this name",
        obj=name,
        hint=f"on {host.name} are: {', '.join(names[:10])}" if names else f"{host.name} has no VM",
    )
