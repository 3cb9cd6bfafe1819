"""Reads a vCenter into a snapshot file."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from vplacer.inventory.vcenter import Inventory
from vplacer.jobs.file_kind import FileKind
from vplacer.jobs.output_file import check_output, refuse_one_file_twice
from vplacer.jobs.overlays import folder_beside, save_overlays
from vplacer.jobs.source import SourceOptions, read_source, source_files
from vplacer.jobs.world import World


@dataclass(frozen=True, slots=True)
class CollectResult:
    """What was written; ``overlay_folder`` None = there were no overlays to write."""

    inventory: Inventory
    overlay_folder: Path | None
    overlay_hosts: int


def run_collect(options: SourceOptions, output: Path, world: World) -> CollectResult:
    """Read an inventory and write it as a snapshot, with the overlays in use beside it.

    Args:
        options: the source.
        output: the snapshot; its name tells whether it is compressed.
        world: the outside.

    Raises:
        InventoryIncomplete: nothing is written then, unless it was allowed.
        UsageError: the snapshot would replace a file that is read.
        OutputError: the snapshot cannot be written, or would replace a file of another kind.
    """
    from vplacer.inventory.snapshot import save_snapshot

    refuse_one_file_twice(output, options.record)
    check_output(output, FileKind.SNAPSHOT, inputs=source_files(options), force=options.force)
    reading = read_source(options, world)
    save_snapshot(reading.inventory, output)
    folder = None
    if reading.overlays:
        folder = folder_beside(output)
        save_overlays(folder, reading.overlays)
    hosts = len({overlay.host for overlay in reading.overlays})
    return CollectResult(reading.inventory, folder, hosts)
