"""`vplacer hardware show`."""

from __future__ import annotations

import click

from vplacer.cli.common import Command, common_of, examples
from vplacer.cli.output import emit


@click.pass_context
def _run(ctx: click.Context, name: str, format: str) -> None:
    from vplacer.jobs.hardware import hardware_item
    from vplacer.report.hardware import render_item, render_item_json

    item = hardware_item(name)
    emit(common_of(ctx), render_item_json(item) if format == "json" else render_item(item))


command = Command(
    "show",
    callback=_run,
    help="Show what is known of one GPU or NIC, each fact with its source.\n\n"
    "NAME is a name of `vplacer hardware list`, or ids such as 10de:20b7.",
    params=[
        click.Argument(["name"], metavar="NAME"),
        click.Option(
            ["--format"],
            type=click.Choice(["text", "json"]),
            default="text",
            help="text for people, json for programs.",
        ),
    ],
    epilog=examples("vplacer hardware show A30", "vplacer hardware show 10de:2330 --format json"),
)
