"""`vplacer lab list`."""

from __future__ import annotations

import json
import textwrap
from dataclasses import asdict
from typing import TYPE_CHECKING

import click

from vplacer.cli.common import Command, common_of, examples
from vplacer.cli.output import emit

if TYPE_CHECKING:
    from vplacer.jobs.lab import ExampleSite

_WIDTH = 100


@click.pass_context
def _run(ctx: click.Context, format: str) -> None:
    from vplacer.jobs.lab import list_sites

    sites = list_sites()
    if format == "json":
        emit(common_of(ctx), json.dumps([asdict(site) for site in sites], indent=2))
    else:
        emit(common_of(ctx), _text(sites))


def _text(sites: list[ExampleSite]) -> str:
    width = max((len(site.name) for site in sites), default=0) + 2
    lines = []
    for site in sites:
        about = textwrap.wrap(site.about, _WIDTH - width) or [""]
        lines.append(f"{site.name:<{width}}{about[0]}")
        lines += [f"{'':{width}}{more}" for more in about[1:]]
        if site.requests:
            lines.append(f"{'':{width}}requests: {', '.join(site.requests)}")
    shown = next((site for site in sites if site.requests), None)
    if shown:
        lines += ["", f"vplacer plan --dry-run --lab {shown.name} -r {shown.requests[0]}"]
    return "\n".join(lines)


command = Command(
    "list",
    callback=_run,
    help="List the example sites and the requests that go with them.",
    params=[
        click.Option(
            ["--format"],
            type=click.Choice(["text", "json"]),
            default="text",
            help="text for people, json for programs.",
        )
    ],
    epilog=examples("vplacer lab list", "vplacer lab list --format json"),
)
