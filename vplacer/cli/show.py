"""`vplacer show`."""

from __future__ import annotations

from pathlib import Path

import click

from vplacer.cli.common import Command, common_of, examples
from vplacer.cli.output import emit
from vplacer.cli.plan_output import render


@click.pass_context
def _run(ctx: click.Context, plan: Path, format: str, summary: bool) -> None:
    from vplacer.jobs.plan import show_plan

    common = common_of(ctx)
    emit(common, render(show_plan(plan), common, format=format, summary=summary))


command = Command(
    "show",
    callback=_run,
    help="Show a saved plan as `vplacer plan` printed it; -v adds the changed fields, -vv the steps.",
    params=[
        click.Argument(["plan"], type=click.Path(path_type=Path)),
        click.Option(
            ["--format"],
            type=click.Choice(["text", "json"]),
            default="text",
            help="text for people, json for programs.",
        ),
        click.Option(["--summary"], is_flag=True, help="Print only the counts and the verdict."),
    ],
    epilog=examples("vplacer show plan.json", "vplacer show plan.json -v"),
)
