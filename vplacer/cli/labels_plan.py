"""`vplacer labels plan`."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from vplacer.cli.common import Command, Common, common_of, examples
from vplacer.cli.moment import MOMENT
from vplacer.cli.output import emit, remark
from vplacer.cli.run import world_for
from vplacer.cli.source_options import source_of, source_params
from vplacer.errors import UsageError

if TYPE_CHECKING:
    from vplacer.plan.labels.model import LabelPlan

_PREFIX = re.compile(r"[A-Za-z][A-Za-z0-9_.-]{0,39}")


@click.pass_context
def _run(ctx: click.Context, /, **values: Any) -> None:
    from vplacer.jobs.labels import LabelOptions, run_labels
    from vplacer.plan.labels.model import LabelScheme, Scheme

    common = common_of(ctx)
    for option in ("prefix", "nic_prefix"):
        if not _PREFIX.fullmatch(values[option]):
            raise UsageError(
                f"'{values[option]}' cannot begin a label",
                hint="use letters, digits and . _ -, a letter first, at most 40 in all",
            )
    options = LabelOptions(
        source=source_of(ctx, common, values),
        scheme=LabelScheme(
            Scheme(values["scheme"]),
            values["prefix"],
            values["nic_prefix"],
            replace=values["replace"],
            in_use=values["in_use"],
        ),
        clusters=values["cluster"],
        now=values["now"],
        output=values["output"],
    )
    result = run_labels(options, world_for(common, now=options.now, machine=values["format"] != "text"))
    emit(common, _text(result.plan, common, values["format"]))
    if result.saved is not None:
        remark(common, f"saved to {result.saved}")


def _text(plan: LabelPlan, common: Common, format: str) -> str:
    if format == "json":
        from vplacer.report.labels_json import labels_json

        return labels_json(plan)
    from vplacer.report.labels_text import labels_text
    from vplacer.report.style import Style

    return labels_text(plan, verbosity=common.verbose, style=Style(common.color(common.stdout)))


command = Command(
    "plan",
    callback=_run,
    help="Plan hardware labels of GPUs and NICs, so that requests with affinity 'label' can bind VMs to a "
    "NUMA node on any host of a cluster. Changes nothing: shows what each card is called now and after, "
    "which hosts need a reboot, and which VMs would not start again.",
    params=[
        click.Option(
            ["--cluster"],
            metavar="NAME",
            multiple=True,
            help="Only hosts of this cluster (name or id; more than once). Default: all hosts.",
        ),
        click.Option(
            ["--scheme"],
            type=click.Choice(["node", "pair", "switch"]),
            default="node",
            help="What cards of one label share: node, the NUMA node (gpu-n0); pair, an NVLink pair in it "
            "(gpu-n0-p0); switch, a PCIe switch in it (gpu-n0-s0).",
        ),
        click.Option(["--prefix"], metavar="TEXT", default="gpu", help="What labels of GPUs begin with."),
        click.Option(["--nic-prefix"], metavar="TEXT", default="nic", help="What labels of NICs begin with."),
        click.Option(["--replace"], is_flag=True, help="Change labels too that somebody else gave."),
        click.Option(["--in-use"], is_flag=True, help="Change labels of cards too that a VM holds, or may."),
        click.Option(
            ["-o", "--output"],
            metavar="FILE",
            type=click.Path(path_type=Path),
            help="Save it, sealed with a hash.",
        ),
        click.Option(
            ["--format"],
            type=click.Choice(["text", "json"]),
            default="text",
            help="text for people; -v shows cards that stay, too. json is the saved file's own document.",
        ),
        click.Option(
            ["--now"],
            metavar="TIME",
            type=MOMENT,
            help="Date it at this time (ISO 8601) instead of the clock's, for equal bytes.",
        ),
        *source_params(),
    ],
    epilog=examples(
        "vplacer labels plan --lab a100pcie",
        "vplacer labels plan --from site.json.gz --cluster ml --scheme pair -o labels.json",
    ),
)
