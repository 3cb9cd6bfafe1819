"""`vplacer collect`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from vplacer.cli.common import Command, common_of, examples
from vplacer.cli.output import count, remark
from vplacer.cli.run import world_for
from vplacer.cli.source_options import source_of, source_params


@click.pass_context
def _run(ctx: click.Context, /, output: Path, **values: Any) -> None:
    from vplacer.jobs.collect import run_collect

    common = common_of(ctx)
    result = run_collect(source_of(ctx, common, values), output, world_for(common))
    inventory = result.inventory
    gaps = (
        "complete"
        if not inventory.gaps
        else f"INCOMPLETE, {count(inventory.gaps, 'place')} could not be read"
    )
    remark(common, f"{output}: {count(inventory.hosts, 'host')}, {count(inventory.vms, 'VM')}, {gaps}")
    if result.overlay_folder is not None:
        remark(common, f"{result.overlay_folder}: overlays of {count(result.overlay_hosts, 'host')}")


command = Command(
    "collect",
    callback=_run,
    help="Read a vCenter into a snapshot, a file that every command takes in its stead (--from). "
    "Overlays in use are written into the folder NAME.overlays beside it. An incomplete inventory is "
    "saved only with --allow-incomplete; what is missing is recorded in it.",
    params=[
        click.Option(
            ["-o", "--output"],
            metavar="FILE",
            type=click.Path(path_type=Path),
            required=True,
            help="The snapshot to write: .json, or .json.gz for a compressed one.",
        ),
        *source_params(),
    ],
    epilog=examples(
        "vplacer collect --vcenter vc.example.com --username ro@vsphere.local -o site.json.gz",
        "vplacer collect --lab a30pairs -o a30pairs.json.gz",
    ),
)
