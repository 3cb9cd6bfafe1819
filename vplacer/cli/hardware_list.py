"""`vplacer hardware list`."""

from __future__ import annotations

import click

from vplacer.cli.common import Command, common_of, examples
from vplacer.cli.output import emit


@click.pass_context
def _run(ctx: click.Context, format: str) -> None:
    from vplacer.jobs.hardware import hardware
    from vplacer.report.hardware import render_json, render_markdown, render_text, tables

    found = hardware()
    parts = (found.gpus, found.nics, found.boards, found.cpu_features, found.cpus)
    if format == "json":
        emit(common_of(ctx), render_json(*parts))
    elif format == "markdown":
        emit(common_of(ctx), render_markdown(tables(*parts)))
    else:
        emit(common_of(ctx), render_text(tables(*parts)))


command = Command(
    "list",
    callback=_run,
    help="List the GPUs, NICs, boards and CPUs that are known.",
    params=[
        click.Option(
            ["--format"],
            type=click.Choice(["text", "json", "markdown"]),
            default="text",
            help="text and markdown for people, json for programs.",
        )
    ],
    epilog=examples("vplacer hardware list", "vplacer hardware list --format json"),
)
