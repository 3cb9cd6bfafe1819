"""`vplacer apply`."""

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
from vplacer.cli.examples_type import FileOrExample
from vplacer.cli.output import emit, remark
from vplacer.cli.run import world_for
from vplacer.errors import UsageError

if TYPE_CHECKING:
    from vplacer.apply.preflight import Preflight
    from vplacer.jobs.apply import ApplyJob, PlanFiles
    from vplacer.jobs.world import World
    from vplacer.plan.model import Plan


@click.pass_context
def _run(ctx: click.Context, /, **values: Any) -> int:
    from vplacer.jobs.apply import ApplyJob, load_applyable

    common = common_of(ctx)
    _refuse_contradictions(values)
    world = world_for(common, machine=values["format"] != "text")
    if values["resume"]:
        files = _resumed(values["plan"])
        return _resume(
            common, ApplyJob(files, vcenter_of(ctx, common, values), apply_options_of(values)), values
        )
    if values["request"] is not None:
        return _fresh(ctx, common, world, values)
    from vplacer.jobs.apply import plan_files

    job = ApplyJob(plan_files(values["plan"]), vcenter_of(ctx, common, values), apply_options_of(values))
    if values["check"]:
        return _check(common, job, world, values["format"])
    return _apply(common, job, load_applyable(job.files.plan), world, values["format"])


def _refuse_contradictions(values: dict[str, Any]) -> None:
    """Refuse what contradicts itself, before anything is read."""
    if values["resume"]:
        for name in ("request", "check"):
            if values[name]:
                raise UsageError(f"--resume and --{name} exclude each other")
        return
    if values["plan"] is None and values["request"] is None:
        raise UsageError(
            "there is nothing to apply",
            hint="name a saved plan (`vplacer plan -o FILE`), or give --request to plan now",
        )
    if values["plan"] is not None and values["request"] is not None:
        raise UsageError(
            "a saved plan and --request exclude each other", why="a saved plan has its request in it"
        )
    if values["request"] is None and values["output"] is not None:
        raise UsageError("--output goes with --request only", why="the plan is saved already")
    if values["check"] and values["format"] == "ndjson":
        raise UsageError("--check has no events", hint="use --format json")
    if values["request"] is not None and values["format"] != "text" and not values["yes"]:
        raise UsageError(
            f"--request with --format {values['format']} needs --yes",
            why="a plan that is asked about has to be shown first",
            hint="save a plan with `vplacer plan -o FILE`, look at it, and apply that",
        )


def _resumed(path: Path | None) -> PlanFiles:
    from vplacer.jobs.apply import plan_files, unfinished

    return unfinished(Path()) if path is None else plan_files(path)


def _resume(common: Common, job: ApplyJob, values: dict[str, Any]) -> int:
    from vplacer.cli.apply_run import carry_out
    from vplacer.jobs.apply import run_resume
    from vplacer.jobs.plan import show_plan

    world = world_for(common, machine=True)
    plan = show_plan(job.files.plan)
    remark(common, f"going on with {job.files.journal}")
    return carry_out(common, job, plan, values["format"], lambda watch: run_resume(job, world, watch))


def _check(common: Common, job: ApplyJob, world: World, format: str) -> int:
    from vplacer.jobs.apply import run_check

    plan, found = run_check(job, world)
    if format == "json":
        from vplacer.report.apply_json import preflight_json

        emit(common, preflight_json(found))
    else:
        from vplacer.report.apply_text import preflight_text
        from vplacer.report.style import Style

        emit(common, preflight_text(plan, found, style=Style(common.color(common.stdout))))
    return check_exit_code(found)


def check_exit_code(found: Preflight) -> int:
    """Return the exit code with which an apply would refuse; 0 = it would not."""
    if found.stale or found.owned:
        return failure.STALE
    if found.consents:
        return failure.BAD_USAGE
    return failure.OK if found.clear else failure.FAILED


def _apply(common: Common, job: ApplyJob, plan: Plan, world: World, format: str, ask: bool = False) -> int:
    from vplacer.cli.apply_run import carry_out
    from vplacer.jobs.apply import run_apply

    if not plan.steps:
        return _nothing_to_do(common, format)

    def confirm(found: Preflight) -> bool:
        from vplacer.report.apply_text import preflight_text

        emit(common, preflight_text(plan, found))
        return confirmed(common, plan.source.vcenter, yes=False)

    code = carry_out(
        common,
        job,
        plan,
        format,
        lambda watch: run_apply(job, world, watch, confirm if ask else None),
    )
    return code


def _nothing_to_do(common: Common, format: str) -> int:
    from vplacer.apply.outcome import Outcome, Status

    outcome = Outcome(Status.DONE, (), (), (), False, (), None, 0.0)
    if format == "json":
        from vplacer.report.apply_json import outcome_json

        emit(common, outcome_json(outcome, failure.OK))
    elif format == "ndjson":
        from vplacer.report.apply_json import outcome_line

        emit(common, outcome_line(common.clock(), outcome, failure.OK))
    else:
        emit(common, "The plan changes nothing; nothing was done.")
    return failure.OK


def _fresh(ctx: click.Context, common: Common, world: World, values: dict[str, Any]) -> int:
    """Plan, show the plan, ask, and carry it out. The plan is saved: its journal goes beside it."""
    from dataclasses import replace

    from vplacer.cli.plan_output import render
    from vplacer.jobs.apply import ApplyJob, plan_files
    from vplacer.jobs.plan import PlanOptions, run_plan
    from vplacer.jobs.source import login_of
    from vplacer.solver.verdict import Status

    yes = values["yes"]
    hint = "give --yes, or save a plan with `vplacer plan -o FILE` and apply that"
    if not values["check"]:
        demand_person(common, yes=yes, hint=hint)
    source = vcenter_of(ctx, common, values)
    assert source.vcenter is not None
    source = replace(source, login=login_of(source.vcenter, source, world))
    stamp = common.clock().astimezone().strftime("%Y%m%d-%H%M%S")
    output = values["output"] or Path(f"vplacer-plan-{stamp}.json")
    options = PlanOptions(
        source=source, request=values["request"], output=output, include_managed=values["include_managed"]
    )
    plan = run_plan(options, world).plan
    if values["format"] == "text":
        emit(common, render(plan, common, format="text", summary=False))
    if plan.verdict.status is Status.INFEASIBLE:
        return failure.INFEASIBLE
    if plan.verdict.status is Status.UNDECIDED:
        return failure.UNDECIDED
    remark(common, f"the plan is saved to {output}")
    job = ApplyJob(plan_files(output), source, apply_options_of(values))
    if values["check"]:
        return _check(common, job, world, values["format"])
    return _apply(common, job, plan, world, values["format"], ask=not yes)


_PATH = click.Path(path_type=Path)

command = Command(
    "apply",
    callback=_run,
    help="Carry a plan out: PLAN, which `vplacer plan -o` saved, is not asked about again. With --request "
    "instead, plan now, show the plan, and have the vCenter's name typed as consent. Everything the plan was "
    "decided on is compared first, and the server is asked about each step; what moved is named and nothing "
    "is changed. A journal beside the plan knows each step: after Ctrl-C, a lost connection or a crash "
    "--resume goes on, and `vplacer rollback` takes back.",
    params=[
        click.Argument(["plan"], type=_PATH, required=False),
        click.Option(
            ["-r", "--request"],
            metavar="FILE",
            type=FileOrExample("requests"),
            help="Plan this request now instead of taking a saved plan.",
        ),
        click.Option(
            ["-o", "--output"],
            metavar="FILE",
            type=_PATH,
            help="With --request: where the plan is saved, the journal beside it. Default: "
            "vplacer-plan-TIME.json in the working folder.",
        ),
        click.Option(
            ["--resume"],
            is_flag=True,
            help="Go on with what stopped or was killed: PLAN, or its journal; without one, the one journal "
            "in the working folder that is not finished.",
        ),
        click.Option(
            ["--check"],
            is_flag=True,
            help="Change nothing: compare, ask the server about each step, and say what stands in the way.",
        ),
        click.Option(["--yes"], is_flag=True, help="With --request: do not ask."),
        format_param(),
        *consent_params(),
        *pace_params(),
        *vcenter_params(),
    ],
    epilog=examples(
        "vplacer apply plan.json --vcenter vc.example.com --allow-power-cycle",
        "vplacer apply plan.json --vcenter vc.example.com --check",
        "vplacer apply --resume plan.json --vcenter vc.example.com --allow-power-cycle",
    ),
)
