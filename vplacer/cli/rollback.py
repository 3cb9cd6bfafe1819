"""`vplacer rollback`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from vplacer.cli import failure
from vplacer.cli.apply_options import (
    apply_options_of,
    consent_params,
    format_param,
    pace_params,
    vcenter_of,
    vcenter_params,
)
from vplacer.cli.common import Command, Common, common_of, examples
from vplacer.cli.confirm import confirmed, demand_person
from vplacer.cli.output import emit, remark
from vplacer.cli.run import world_for

if TYPE_CHECKING:
    from vplacer.apply.rollback_plan import RollbackPlan
    from vplacer.plan.model import Plan


@click.pass_context
def _run(ctx: click.Context, /, plan: Path, **values: Any) -> int:
    from vplacer.cli.apply_run import carry_out
    from vplacer.jobs.apply import ApplyJob, demand_rollback_consents, plan_files, preview, run_rollback
    from vplacer.jobs.source import SourceOptions

    common = common_of(ctx)
    options, files = apply_options_of(values), plan_files(plan)
    format = values["format"]
    if values["dry_run"]:
        emit(common, _shown(common, *preview(ApplyJob(files, SourceOptions(), options)), format))
        return failure.OK
    job = ApplyJob(files, vcenter_of(ctx, common, values), options)
    hint = "give --yes; --dry-run shows what would be done"
    demand_person(common, yes=values["yes"], hint=hint)
    world = world_for(common, machine=True)
    read, what = preview(job)
    demand_rollback_consents(read, what, options, world)
    if format == "text":
        emit(common, _shown(common, read, what, format))
    if not confirmed(common, read.source.vcenter, yes=values["yes"]):
        remark(common, "that is not the vCenter's name; nothing was changed")
        return failure.BAD_USAGE
    return carry_out(common, job, read, format, lambda watch: run_rollback(job, world, watch))


def _shown(common: Common, plan: Plan, what: RollbackPlan, format: str) -> str:
    if format == "text":
        from vplacer.report.apply_text import rollback_text
        from vplacer.report.style import Style

        return rollback_text(plan, what, style=Style(common.color(common.stdout)))
    from vplacer.report.apply_json import rollback_json

    return rollback_json(plan, what)


command = Command(
    "rollback",
    callback=_run,
    help="Take back what `vplacer apply` carried out of a plan, in reverse order: every field that it wrote, "
    "as far as it still is as it was written. PLAN is the plan, or its journal. What would be done is shown "
    "first, and what cannot be taken back; then the vCenter's name is to be typed. VMs that the plan made "
    "are deleted only if they never ran.",
    params=[
        click.Argument(["plan"], type=click.Path(path_type=Path)),
        click.Option(
            ["--dry-run"],
            is_flag=True,
            help="Show what would be done, from the journal alone; change nothing.",
        ),
        click.Option(["--yes"], is_flag=True, help="Do not ask."),
        format_param(),
        *consent_params(),
        *pace_params(),
        *vcenter_params(),
    ],
    epilog=examples(
        "vplacer rollback plan.json --dry-run",
        "vplacer rollback plan.json --vcenter vc.example.com --allow-power-cycle",
    ),
)
