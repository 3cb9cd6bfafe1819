"""`vplacer schema`."""

from __future__ import annotations

import json

import click

from vplacer.cli.common import Command, common_of, examples
from vplacer.cli.output import emit

FORMATS = ("inventory", "request", "overlay")


@click.pass_context
def _run(ctx: click.Context, format_name: str) -> None:
    from vplacer.jobs.schema import schema

    emit(common_of(ctx), json.dumps(schema(format_name), indent=2, ensure_ascii=False))


command = Command(
    "schema",
    callback=_run,
    help="Print the JSON Schema of a file format, for editors and checks.",
    params=[
        click.Argument(
            ["format_name"], metavar="FORMAT", type=click.Choice(["inventory", "request", "overlay"])
        )
    ],
    epilog=examples(
        "vplacer schema request > request.schema.json",
        "vplacer schema inventory > inventory.schema.json",
    ),
)
