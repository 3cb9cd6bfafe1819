"""`vplacer lab export`."""

from __future__ import annotations

from pathlib import Path

import click

from vplacer.cli.common import Command, common_of, examples
from vplacer.cli.examples_type import FileOrExample
from vplacer.cli.output import count, emit, remark
from vplacer.cli.run import world_for
from vplacer.jobs.lab_export import FORMATS


@click.pass_context
def _run(ctx: click.Context, site: str, format: str, output: Path, force: bool) -> None:
    from vplacer.jobs.lab_export import export_site

    del format  # one format so far; the option keeps room for more
    common = common_of(ctx)
    done = export_site(site, output, world_for(common), force=force)
    remark(
        common, f"{output}: {count(done.hosts, 'host')}, {count(done.vms, 'VM')}, {count(done.files, 'file')}"
    )
    if done.overlays is not None:
        remark(common, f"{done.overlays}: what no vCenter tells of its hosts")
    lines = [f"  {line}\n" for line in done.limits]
    emit(common, f"Not expressed in this format:\n{''.join(lines)}")


command = Command(
    "export",
    callback=_run,
    help="Write SITE as a folder that another simulated vCenter loads: govmomi's vcsim (vcsim -load DIR), "
    "and with it every tool built on govmomi. Says at the end what that simulator cannot express. SITE is an "
    "example of `vplacer lab list`, or an inventory YAML or snapshot; a file of that name goes first. The "
    "site's overlays are written into DIR.overlays.",
    params=[
        click.Argument(["site"], type=FileOrExample("sites")),
        click.Option(
            ["--format"],
            type=click.Choice(FORMATS),
            required=True,
            help="vcsim: one ObjectContent in XML a managed object, as govc object.save writes.",
        ),
        click.Option(
            ["-o", "--output"],
            metavar="DIR",
            type=click.Path(path_type=Path),
            required=True,
            help="The folder to write. It must be empty or not exist.",
        ),
        click.Option(["--force"], is_flag=True, help="Replace an inventory of this kind in the folder."),
    ],
    epilog=examples(
        "vplacer lab export nvswitch --format vcsim -o nvswitch-vcsim",
        "vplacer collect --from nvswitch-vcsim -o nvswitch.json.gz",
    ),
)
