"""`vplacer topology show`."""

from __future__ import annotations

from typing import Any

import click

from vplacer.cli.common import Command, common_of, examples
from vplacer.cli.host_names import complete_host
from vplacer.cli.output import emit
from vplacer.cli.run import world_for
from vplacer.cli.source_options import source_of, source_params
from vplacer.report.host_formats import format_names


@click.pass_context
def _run(ctx: click.Context, /, host: str, format: str, **values: Any) -> None:
    from vplacer.jobs.topology import host_topology
    from vplacer.report.host_formats import load_format

    common = common_of(ctx)
    view = host_topology(host, source_of(ctx, common, values), world_for(common))
    emit(common, load_format(format).render(view))


command = Command(
    "show",
    callback=_run,
    help="Show what hangs on which NUMA node, PCIe switch and NVLink of HOST, and which VM holds what. "
    "HOST is its name, its name up to the first dot, or its managed object id.",
    params=[
        click.Argument(["host"], shell_complete=complete_host),
        click.Option(
            ["--format"],
            type=click.Choice(format_names()),
            default="tree",
            help="tree, for reading; svg, a picture; the matrix of `nvidia-smi topo -m`; the topology XML of "
            "NCCL; JSON; DOT or GraphML for graph tools.",
        ),
        *source_params(),
    ],
    epilog=examples(
        "vplacer topology show esx01 --lab nvswitch",
        "vplacer topology show esx01 --from site.json.gz --format svg > esx01.svg",
    ),
)
