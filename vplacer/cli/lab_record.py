"""`vplacer lab record`."""

from __future__ import annotations

from pathlib import Path

import click

from vplacer.cli.common import Command, common_of, examples
from vplacer.cli.examples_type import FileOrExample
from vplacer.cli.output import count, remark
from vplacer.cli.run import world_for


@click.pass_context
def _run(ctx: click.Context, site: str, output: Path, force: bool) -> None:
    from vplacer.jobs.lab import record_site

    common = common_of(ctx)
    inventory = record_site(site, output, world_for(common), force=force).inventory
    remark(common, f"{output}: {count(inventory.hosts, 'host')}, {count(inventory.vms, 'VM')}")


command = Command(
    "record",
    callback=_run,
    help="Read the simulated vCenter of SITE and record the session, to be read again with --replay. "
    "SITE is an example of `vplacer lab list`, or an inventory YAML or snapshot; a file of that name goes "
    "first. The site's overlays are written into the folder NAME.overlays beside the recording.",
    params=[
        click.Argument(["site"], type=FileOrExample("sites")),
        click.Option(
            ["-o", "--output"],
            metavar="CASSETTE",
            type=click.Path(path_type=Path),
            required=True,
            help="The recording to write: .json, or .json.gz for a compressed one.",
        ),
        click.Option(["--force"], is_flag=True, help="Replace a file that is no recording, too."),
    ],
    epilog=examples(
        "vplacer lab record nvswitch -o nvswitch.json.gz",
        "vplacer plan --dry-run --replay nvswitch.json.gz -r nvswitch",
    ),
)
