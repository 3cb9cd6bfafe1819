"""`vplacer show`."""

from __future__ import annotations

from pathlib import Path

import click

from vplacer.cli.common import Command, common_of, examples
from vplacer.cli.output import emit, warn
from vplacer.cli.plan_output import render
from vplacer.errors import UsageError
from vplacer.report.scripts.formats import script_format_names

_SHOWN = 5


@click.pass_context
def _run(ctx: click.Context, plan: Path, format: str, summary: bool) -> None:
    common = common_of(ctx)
    if format in script_format_names():
        from vplacer.jobs.script import plan_script

        if summary:
            raise UsageError("--summary goes with --format text or json only")
        written = plan_script(plan, format)
        for item in written.unsaid[:_SHOWN]:
            warn(common, f"{format} cannot do step {item.number} ({item.effect}): {item.why}")
        if len(written.unsaid) > _SHOWN:
            warn(common, f"and {len(written.unsaid) - _SHOWN} more steps; the script's head names them all")
        if written.unsaid:
            warn(common, "the script stops there; `vplacer apply` or --format powercli can do these steps")
        emit(common, written.text)
        return
    from vplacer.jobs.plan import show_plan

    if format == "html":
        from vplacer.report.plan_html import plan_html

        if summary:
            raise UsageError("--summary goes with --format text or json only")
        emit(common, plan_html(show_plan(plan)))
        return
    emit(common, render(show_plan(plan), common, format=format, summary=summary))


command = Command(
    "show",
    callback=_run,
    help="Show a saved plan as `vplacer plan` printed it; -v adds the changed fields, -vv the steps. As a "
    "script it has the same steps and guards, for those who change a vCenter with other tools.",
    params=[
        click.Argument(["plan"], type=click.Path(path_type=Path)),
        click.Option(
            ["--format"],
            type=click.Choice(["text", "json", "html", *script_format_names()]),
            default="text",
            help="text for people, json for programs, html for a page with each host before and after; else "
            "a script for that tool. What it cannot do, the script stops at, with a warning.",
        ),
        click.Option(["--summary"], is_flag=True, help="Print only the counts and the verdict."),
    ],
    epilog=examples(
        "vplacer show plan.json",
        "vplacer show plan.json -v",
        "vplacer show plan.json --format html > plan.html",
        "vplacer show plan.json --format govc > plan.sh",
    ),
)
