"""`vplacer schema`."""

from __future__ import annotations

import json

import click

from vplacer.cli.common import Command, common_of, examples
from vplacer.cli.output import emit

FORMATS = ("inventory", "request", "what-if", "overlay", "waivers", "capacity")
"""Formats that people write, and the last one, which programs read."""


@click.pass_context
def _run(ctx: click.Context, format: str) -> None:
    from vplacer.jobs.schema import schema

    emit(common_of(ctx), json.dumps(schema(format), indent=2, ensure_ascii=False))


command = Command(
    "schema",
    callback=_run,
    help="Print the JSON Schema of a file format, for editors and checks: inventory (YAML for "
    "--from and --lab), request (for `vplacer plan -r`), what-if (for --what-if), overlay (for --overlays), "
    "waivers (for `vplacer audit --waivers`), or capacity (what `vplacer capacity --format json` prints).",
    params=[
        click.Argument(["format"], type=click.Choice(FORMATS)),
    ],
    epilog=examples(
        "vplacer schema request > request.schema.json",
        "vplacer schema inventory > inventory.schema.json",
    ),
)
