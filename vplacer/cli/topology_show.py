"""`vplacer topology show`."""

from __future__ import annotations

from typing import Any

import click
from click.shell_completion import CompletionItem

from vplacer.cli.common import Command, common_of, examples
from vplacer.cli.output import emit
from vplacer.cli.run import world_for
from vplacer.cli.source_options import source_of, source_params

FORMATS = ("tree", "matrix", "json", "dot", "graphml")


@click.pass_context
def _run(ctx: click.Context, /, host: str, format: str, **values: Any) -> None:
    from vplacer.jobs.topology import host_topology

    common = common_of(ctx)
    result = host_topology(host, source_of(ctx, common, values), world_for(common))
    emit(common, _render(format, result))


def _complete_host(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Offer the hosts of the file or example given before; never those of a live vCenter."""
    del param
    text = ctx.params.get("from") or ctx.params.get("lab")
    if not text:
        return []
    from vplacer.errors import VplacerError
    from vplacer.jobs.topology import hosts_in_file

    try:
        names = hosts_in_file(text)
    except VplacerError:
        return []
    return [CompletionItem(name) for name in names if name.startswith(incomplete)]


def _render(format_: str, result: Any) -> str:
    if format_ == "tree":
        from vplacer.report.topology_tree import render_tree

        return render_tree(result.description)
    if format_ == "matrix":
        from vplacer.report.topology_matrix import render_matrix

        return render_matrix(result.description)
    if format_ == "json":
        from vplacer.report.topology_json import render_json

        return render_json(result.description)
    if format_ == "dot":
        from vplacer.report.topology_dot import render_dot

        return render_dot(result.graph)
    from vplacer.report.topology_graphml import render_graphml

    return render_graphml(result.graph)


command = Command(
    "show",
    callback=_run,
    help="Show what hangs on which NUMA node, PCIe switch and NVLink of HOST, and which VM holds what. "
    "HOST is its name, its name up to the first dot, or its managed object id.",
    params=[
        click.Argument(["host"], shell_complete=_complete_host),
        click.Option(
            ["--format"],
            type=click.Choice(FORMATS),
            default="tree",
            help="tree; the matrix of `nvidia-smi topo -m`; JSON; DOT or GraphML for graph tools.",
        ),
        *source_params(),
    ],
    epilog=examples(
        "vplacer topology show esx01 --lab nvswitch",
        "vplacer topology show esx01 --from site.json.gz --format matrix",
    ),
)
