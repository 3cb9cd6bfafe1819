"""`vplacer request init`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from vplacer.cli.common import Command, common_of, examples
from vplacer.cli.output import emit, remark
from vplacer.cli.run import world_for
from vplacer.cli.source_options import source_of, source_params


@click.pass_context
def _run(ctx: click.Context, /, output: Path | None, **values: Any) -> None:
    from vplacer.jobs.request_init import run_request_init

    common = common_of(ctx)
    text = run_request_init(
        source_of(ctx, common, values),
        world_for(common),
        cluster=values["cluster"],
        folder=values["folder"],
        tag=values["tag"],
        output=output,
    )
    if output is None:
        emit(common, text)
    else:
        remark(common, f"{output}: edit it, then: vplacer plan --dry-run -r {output} ...")


command = Command(
    "init",
    callback=_run,
    help="Write a commented request from the VMs there are today, to be edited. "
    "Without --cluster, --folder or --tag it covers all VMs. As written it changes nothing.",
    params=[
        click.Option(["--cluster"], metavar="NAME", help="VMs of this cluster."),
        click.Option(["--folder"], metavar="PATH", help="VMs in this folder and those below."),
        click.Option(["--tag"], metavar="CATEGORY:TAG", help="VMs with this tag."),
        click.Option(
            ["-o", "--output"],
            metavar="FILE",
            type=click.Path(path_type=Path),
            help="Write to this file instead of standard output.",
        ),
        *source_params(),
    ],
    epilog=examples(
        "vplacer request init --lab a30pairs",
        "vplacer request init --from site.json.gz --cluster gpu -o request.yaml",
    ),
)
