"""Writes a commented request from the VMs of an inventory."""

from __future__ import annotations

from pathlib import Path

from vplacer.errors import OutputError
from vplacer.inventory.files import write_file
from vplacer.jobs.output_file import check_writable, refuse_inputs, refuse_one_file_twice
from vplacer.jobs.source import SourceOptions, read_source, source_files
from vplacer.jobs.world import World


def run_request_init(
    options: SourceOptions,
    world: World,
    *,
    cluster: str | None = None,
    folder: str | None = None,
    tag: str | None = None,
    output: Path | None = None,
) -> str:
    """Return a request that asks for what today's VMs have, and write it where asked to.

    Raises:
        UnknownObjectError: the cluster, folder or tag does not exist, or holds no VM.
        UsageError: the file is one that is read.
        OutputError: the file exists and may not be replaced, or cannot be written.
    """
    from vplacer.constraints.ownership import reason_left_alone
    from vplacer.request.init import Scope, request_text
    from vplacer.topology.build import build_topologies

    if output is not None:
        refuse_inputs(output, source_files(options))
        refuse_one_file_twice(output, options.record)
        if output.exists() and not options.force:
            raise OutputError("exists already", obj=str(output), hint="--force replaces it")
        check_writable(output)
    reading = read_source(options, world)
    topologies = build_topologies(reading.inventory, reading.overlays)
    text = request_text(
        reading.inventory,
        topologies,
        Scope(cluster, folder, tag),
        owner_reason=lambda vm: reason_left_alone(vm, reading.inventory),
    )
    if output is not None:
        write_file(output, text.encode())
    return text
