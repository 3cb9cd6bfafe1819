"""`vplacer labels apply`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from vplacer.cli import failure
from vplacer.cli.apply_options import vcenter_of, vcenter_params
from vplacer.cli.common import Command, common_of, examples
from vplacer.cli.output import emit
from vplacer.cli.run import world_for


@click.pass_context
def _run(ctx: click.Context, /, labels: Path, check: bool, **values: Any) -> int:
    from vplacer.jobs.labels_apply import run_labels_apply
    from vplacer.report.labels_text import outcome_text

    common = common_of(ctx)
    source = vcenter_of(ctx, common, {**values, "yes": False})
    done = run_labels_apply(labels, source, world_for(common), check_only=check)
    emit(common, outcome_text(done.plan, done.outcome, done.missing))
    return failure.OK


command = Command(
    "apply",
    callback=_run,
    help="Set the labels of a saved plan, host by host, and read them back. What has its label already is "
    "passed over, so that the same plan can be carried out again after it stopped. Nothing is changed where "
    "a card, its label, its node or the VMs that hold it are not as the plan saw them (exit code 6).",
    params=[
        click.Argument(["labels"], type=click.Path(path_type=Path)),
        click.Option(["--check"], is_flag=True, help="Only compare the plan with the vCenter."),
        *vcenter_params(),
    ],
    epilog=examples(
        "vplacer labels apply labels.json --vcenter vc.example.com --check",
        "vplacer labels apply labels.json --vcenter vc.example.com",
    ),
)
