"""`vplacer topology export`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from vplacer.cli.common import Command, common_of, examples
from vplacer.cli.host_names import complete_host
from vplacer.cli.output import count, emit, remark
from vplacer.cli.run import world_for
from vplacer.cli.source_options import source_of, source_params
from vplacer.errors import UsageError
from vplacer.report.host_formats import format_names


@click.pass_context
def _run(
    ctx: click.Context, /, host: str | None, every: bool, format: str, output: Path | None, **values: Any
) -> None:
    from vplacer.jobs.topology_export import ExportOptions, export_topology

    if every == (host is not None):
        why = "both HOST and --all are given" if every else "neither HOST nor --all is given"
        raise UsageError("which host?", why=why, hint="give one of the two")
    common = common_of(ctx)
    options = ExportOptions(
        source=source_of(ctx, common, values),
        host=host,
        format=format,
        output=output,
    )
    done = export_topology(options, world_for(common))
    if done.text is not None:
        emit(common, done.text)
    elif every:
        remark(common, f"{output}: {count(done.files, 'host')}")
    else:
        remark(common, f"{output}: {host} as {format}")


command = Command(
    "export",
    callback=_run,
    help="Write the topology of HOST, or of --all hosts, for other programs. Without -o one host goes to "
    "standard output. What a format cannot say is refused with the reason, what is not known is left out.",
    params=[
        click.Argument(["host"], required=False, shell_complete=complete_host),
        click.Option(
            ["--all", "every"],
            envvar="VPLACER_TOPOLOGY_EXPORT_ALL",
            is_flag=True,
            help="All hosts, a file each, into the folder of -o.",
        ),
        click.Option(
            ["--format"],
            type=click.Choice(format_names()),
            required=True,
            help="matrix: text of `nvidia-smi topo -m`; nccl: XML for NCCL_TOPO_FILE; graphml, dot: for "
            "graph tools; svg: a picture; json; tree: text for people.",
        ),
        click.Option(
            ["-o", "--output"],
            metavar="FILE|DIR",
            type=click.Path(path_type=Path),
            help="The file; with --all a folder that exists. An export of the same format is replaced, "
            "anything else only with --force.",
        ),
        *source_params(),
    ],
    epilog=examples(
        "vplacer topology export esx01 --lab nvswitch --format nccl -o esx01.xml",
        "vplacer topology export --all --from site.json.gz --format svg -o pictures",
    ),
)
