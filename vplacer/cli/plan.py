"""`vplacer plan`."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from vplacer.cli import failure
from vplacer.cli.common import Command, Common, common_of, examples
from vplacer.cli.examples_type import FileOrExample
from vplacer.cli.host_names import complete_host
from vplacer.cli.interrupt import graceful_interrupt
from vplacer.cli.moment import MOMENT
from vplacer.cli.output import emit, remark, warn
from vplacer.cli.plan_output import render, render_check
from vplacer.cli.run import world_for
from vplacer.cli.source_options import source_of, source_params
from vplacer.errors import UsageError

if TYPE_CHECKING:
    from vplacer.jobs.plan import PlanOptions, PlanResult
    from vplacer.plan.model import Plan


@click.pass_context
def _run(ctx: click.Context, /, **values: Any) -> int:
    from vplacer.jobs.plan import run_plan

    common = common_of(ctx)
    options = _options(ctx, common, values)
    world = world_for(
        common,
        now=options.now,
        stoppable=lambda: graceful_interrupt(common),
        machine=values["format"] != "text",
    )
    result = run_plan(options, world)
    text = render(
        result.plan,
        common,
        format=values["format"],
        summary=values["summary"],
        seconds=result.solve_seconds,
        checked=result.checked,
    )
    if values["format"] == "text" and not values["summary"] and (values["measured"] or common.verbose):
        text += _homes(result)
    if values["format"] == "text" and result.checked is not None:
        text += "\n" + render_check(result.plan, common, result.checked)
    emit(common, text)
    _remarks(result, common, values)
    return exit_code(result.plan, detailed=values["detailed_exitcode"])


def _homes(result: PlanResult) -> str:
    if not result.homes:
        return ""
    from vplacer.report.measured_text import homes_text

    return "\n" + homes_text(result.homes)


def _options(ctx: click.Context, common: Common, values: dict[str, Any]) -> PlanOptions:
    from vplacer.jobs.plan import PlanOptions
    from vplacer.jobs.upkeep import UpkeepOptions
    from vplacer.solver.verdict import SolveOptions

    for name in ("output", "record"):
        if values["dry_run"] and values[name]:
            raise UsageError(
                f"--dry-run and --{name} exclude each other",
                why="a dry run writes nothing",
                hint="leave one out; without --dry-run nothing is changed in the vCenter either",
            )
    _refuse_place(values)
    return PlanOptions(
        source=source_of(ctx, common, values),
        request=values["request"],
        now=values["now"],
        partial=values["partial"],
        upkeep=UpkeepOptions(
            evacuate=values["evacuate"],
            evacuate_powered_off=values["evacuate_powered_off"],
            may_move=values["may_move"],
            repair=values["repair"],
            max_power_cycles=values["max_power_cycles"],
            max_moves=values["max_moves"],
        ),
        include_managed=values["include_managed"],
        previous=values["since"],
        output=values["output"],
        place=values["place"],
        slots=values["slots"],
        rehearse=values["rehearsal"],
        check=values["check"],
        what_if=values["what_if"],
        search=SolveOptions(seed=values["seed"], work=values["work"], time_limit_s=values["time_limit"]),
    )


def _refuse_place(values: dict[str, Any]) -> None:
    """Refuse --place beside what is about other VMs, and --slots without it."""
    if values["place"] is None:
        if values["slots"] is not None:
            raise UsageError(
                "--slots goes with --place",
                why="slots are followed by one VM that is placed by itself",
                hint="--place NAME says which VM of the request",
            )
        return
    for name in ("evacuate", "repair", "may_move", "what_if"):
        if values[name] not in (None, False, ()):
            raise UsageError(
                f"--place and --{name.replace('_', '-')} exclude each other",
                why="--place touches no VM but the one it places",
            )


def _remarks(result: PlanResult, common: Common, values: dict[str, Any]) -> None:
    rehearsal = result.plan.rehearsal
    if rehearsal is not None and rehearsal.faults:
        warn(common, f"the rehearsal of this plan failed: {rehearsal.faults[0]}")
    if result.saved is not None:
        remark(common, f"saved to {result.saved}; vplacer show {result.saved} shows it again")
    elif values["output"] is not None:
        remark(common, f"{values['output']} was not written: there is no plan to carry out")
    elif not values["dry_run"] and values["format"] == "text" and result.plan.applyable:
        remark(common, "this plan was not saved, and the next one may differ; -o plan.json saves it")


def exit_code(plan: Plan, *, detailed: bool) -> int:
    """Return the exit code that says what the solver found."""
    from vplacer.solver.verdict import Status, StoppedBy

    if plan.verdict.stopped_by is StoppedBy.INTERRUPT:
        return failure.INTERRUPTED
    if plan.verdict.status is Status.INFEASIBLE:
        return failure.INFEASIBLE
    if plan.verdict.status is Status.UNDECIDED:
        return failure.UNDECIDED
    if plan.rehearsal is not None and plan.rehearsal.faults:
        return failure.FAILED
    return failure.CHANGES if detailed and plan.steps else failure.OK


def refuse_nan(ctx: click.Context, param: click.Parameter, value: float | None) -> float | None:
    """Refuse "nan", which no range does."""
    if value is not None and math.isnan(value):
        raise click.BadParameter("nan is no number of seconds.", ctx, param)
    return value


_PATH = click.Path(path_type=Path)

command = Command(
    "plan",
    callback=_run,
    help="Decide where the VMs of a request go, and show what would change and why. "
    "Nothing is changed in the vCenter; with --dry-run nothing is written anywhere.",
    params=[
        click.Option(
            ["-r", "--request"],
            metavar="FILE",
            type=FileOrExample("requests"),
            help="The request: a YAML file (`vplacer schema request`), or the name of an example. Needed "
            "without --evacuate and --repair.",
        ),
        click.Option(["--dry-run"], is_flag=True, help="Compute and print; write nothing anywhere."),
        click.Option(
            ["-o", "--output"],
            metavar="FILE",
            type=_PATH,
            help="Save the plan. A plan that stands there is replaced; anything else only with --force.",
        ),
        click.Option(
            ["--format"],
            type=click.Choice(["text", "json"]),
            default="text",
            help="text for people; json is stable, and what --output saves.",
        ),
        click.Option(["--summary"], is_flag=True, help="Print only the counts and the verdict."),
        click.Option(
            ["--detailed-exitcode"], is_flag=True, help="Exit with 2 when the plan would change something."
        ),
        click.Option(
            ["--partial/--all-or-nothing"],
            default=None,
            show_default="as the request says",
            help="Place what can be placed and name the rest, or place all.",
        ),
        click.Option(
            ["--evacuate"],
            metavar="HOST",
            multiple=True,
            shell_complete=complete_host,
            help="Empty this host: every VM that runs on it gets a place elsewhere (name, pattern or managed "
            "object id; more than once).",
        ),
        click.Option(
            ["--evacuate-powered-off"],
            is_flag=True,
            help="With --evacuate: VMs that are off leave the host too. Templates stay.",
        ),
        click.Option(
            ["--repair"],
            is_flag=True,
            help="Change only VMs that are not as they should be today, with the fewest power cycles: of "
            "those of the request, or without one of all that run.",
        ),
        click.Option(
            ["--may-move"],
            metavar="VM",
            multiple=True,
            help="This VM may be moved to make room for others (name, pattern or managed object id; more "
            "than once).",
        ),
        click.Option(
            ["--max-power-cycles"],
            type=click.IntRange(min=0),
            show_default="as the request says",
            help="Most power cycles of running VMs in the whole plan.",
        ),
        click.Option(
            ["--max-moves"],
            type=click.IntRange(min=0),
            show_default="as the request says",
            help="Most VMs that change their host in the whole plan.",
        ),
        click.Option(
            ["--place"],
            metavar="NAME",
            help="Place only this VM of the request and touch no other: into a slot kept for its shape in "
            "the mix expected later (future), else where it costs that mix least.",
        ),
        click.Option(
            ["--slots"],
            metavar="FILE",
            type=_PATH,
            help="The slots that --place follows, as `vplacer capacity -o` wrote them. Default: made now.",
        ),
        click.Option(
            ["--what-if"],
            metavar="[FILE]",
            is_flag=False,
            flag_value="",
            help="Plan for the site as it might be: hosts, GPUs or VMs added or removed as the section "
            "`what_if` of the request says, or that of FILE (docs/capacity.md). Such a plan is never "
            "applied.",
        ),
        click.Option(
            ["--include-managed"],
            metavar="VM",
            multiple=True,
            help="Place this VM although somebody else owns it (its name; more than once).",
        ),
        click.Option(
            ["--rehearsal/--no-rehearsal"],
            default=True,
            help="Carry the plan out at a simulated vCenter, made from what was read, before it is shown.",
        ),
        click.Option(
            ["--check"],
            is_flag=True,
            help="Also ask the vCenter about each step (CheckVmConfig, CheckPowerOn). Changes nothing; goes "
            "with --vcenter.",
        ),
        click.Option(
            ["--since"],
            metavar="PLAN",
            type=_PATH,
            help="Show what has changed since this saved plan. Default: the file of --output, if it is one.",
        ),
        click.Option(
            ["--work"],
            type=click.FloatRange(min=0, min_open=True),
            help="Limit of the search, about a second of one core a unit, but counted, not clocked: the same "
            "input gives the same plan. Default: 3, and 0.01 more a host.",
        ),
        click.Option(
            ["--time-limit"],
            metavar="SECONDS",
            type=click.FloatRange(min=0, min_open=True),
            callback=refuse_nan,
            help="Limit of solving in seconds; reading the inventory does not count. It is looked at between "
            "steps, so solving may end a little later. A plan found so far is used. Equal plans are not "
            "promised.",
        ),
        click.Option(["--seed"], type=click.IntRange(min=0), default=1, help="Seed of the search."),
        click.Option(
            ["--now"],
            metavar="TIME",
            type=MOMENT,
            help="Date the plan at this time (ISO 8601) instead of the clock's, for equal bytes.",
        ),
        *source_params(),
    ],
    epilog=examples(
        "vplacer plan --dry-run --lab nvswitch -r nvswitch",
        "vplacer plan --vcenter vc.example.com --username ro@vsphere.local -r request.yaml -o plan.json",
    ),
)
