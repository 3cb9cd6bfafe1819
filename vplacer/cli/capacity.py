"""`vplacer capacity`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from vplacer.cli import failure
from vplacer.cli.common import Command, Common, common_of, examples
from vplacer.cli.examples_type import FileOrExample
from vplacer.cli.host_names import complete_host
from vplacer.cli.interrupt import graceful_interrupt
from vplacer.cli.moment import MOMENT
from vplacer.cli.output import emit, remark
from vplacer.cli.plan import refuse_nan
from vplacer.cli.run import world_for
from vplacer.cli.source_options import source_of, source_params
from vplacer.errors import UsageError

if TYPE_CHECKING:
    from vplacer.jobs.capacity import CapacityResult
    from vplacer.plan.capacity_report import CapacityReport


@click.pass_context
def _run(ctx: click.Context, /, **values: Any) -> int:
    from vplacer.jobs.capacity import CapacityOptions, run_capacity

    common = common_of(ctx)
    _refuse(values)
    options = CapacityOptions(
        source=source_of(ctx, common, values),
        request=values["request"],
        now=values["now"],
        include_managed=values["include_managed"],
        after_loss=values["after_loss"],
        lose=values["lose"],
        what_if=values["what_if"],
        seed=values["seed"],
        time_limit_s=values["time_limit"],
        output=values["output"],
        work=values["work"],
    )
    world = world_for(
        common,
        now=options.now,
        stoppable=lambda: graceful_interrupt(common),
        machine=values["format"] != "text",
    )
    result = run_capacity(options, world)
    emit(common, _text(result, common, values))
    if result.saved is not None:
        remark(
            common,
            f"slots saved to {result.saved}; vplacer plan --place NAME --slots {result.saved} follows them",
        )
    return exit_code(result.report)


def _refuse(values: dict[str, Any]) -> None:
    if values["output"] is not None and values["what_if"] is not None:
        raise UsageError("--output and --what-if exclude each other", why="slots are kept on hosts there are")
    if values["output"] is not None and (values["after_loss"] is not None or values["lose"]):
        raise UsageError(
            "--output does not go with --after-loss and --lose", why="it saves slots beside what runs now"
        )
    if values["after_loss"] is not None and values["lose"]:
        raise UsageError(
            "--after-loss and --lose exclude each other", why="one tries any hosts, the other those named"
        )
    if values["request"] is None and values["after_loss"] is None and not values["lose"]:
        raise UsageError(
            "which VMs should be counted?",
            why="--request is missing",
            hint="only --after-loss and --lose go without a request: they then ask about what runs",
        )


def _text(result: CapacityResult, common: Common, values: dict[str, Any]) -> str:
    if values["format"] == "json":
        from vplacer.report.capacity_json import capacity_json

        return capacity_json(result.report, by_host=values["by_host"])
    from vplacer.report.capacity_text import capacity_text
    from vplacer.report.style import Style

    return capacity_text(
        result.report,
        by_host=values["by_host"],
        style=Style(common.color(common.stdout)),
        seconds=result.solve_seconds,
    )


def exit_code(report: CapacityReport) -> int:
    """Return 4 for a VM without a place after a loss, 5 for something open, 130 if interrupted, else 0."""
    from vplacer.solver.loss.model import Outcome
    from vplacer.solver.verdict import StoppedBy

    room, losses = report.capacity, report.after_loss
    stopped = {found.stopped_by for found in (room, losses) if found is not None}
    if StoppedBy.INTERRUPT in stopped:
        return failure.INTERRUPTED
    if losses is not None and losses.outcome is Outcome.NOT_PLACED:
        return failure.INFEASIBLE
    open_ends = losses is not None and losses.outcome is Outcome.UNDECIDED
    if open_ends or (room is not None and not room.proved):
        return failure.UNDECIDED
    return failure.OK


command = Command(
    "capacity",
    callback=_run,
    help="Tell how many more VMs of each kind of a request fit now: each kind alone, beside all that runs, "
    "moving nothing; and what stops one more on which hosts. The numbers are exact, or it is told between "
    "which two they are. Exit code 5: something is not decided; 4: a VM has no place after a loss.",
    params=[
        click.Option(
            ["-r", "--request"],
            metavar="FILE",
            type=FileOrExample("requests"),
            help="The request that says the kinds: a YAML file, or the name of an example. With --after-loss "
            "and --lose it may be left out.",
        ),
        click.Option(
            ["--after-loss"],
            metavar="N",
            type=click.IntRange(min=1),
            help="Instead: have all VMs a place after the loss of any N hosts of a cluster? Those that run, "
            "as HA restarts them, and those that the request asks for.",
        ),
        click.Option(
            ["--lose"],
            metavar="HOST",
            multiple=True,
            shell_complete=complete_host,
            help="Instead: have they after the loss of this host? More than once: of these together.",
        ),
        click.Option(
            ["--what-if"],
            metavar="[FILE]",
            is_flag=False,
            flag_value="",
            help="Count for the site as it might be: hosts, GPUs or VMs added or removed as the section "
            "`what_if` of the request says, or that of FILE (docs/capacity.md).",
        ),
        click.Option(["--by-host"], is_flag=True, help="Name every host with its number, or every loss."),
        click.Option(
            ["-o", "--output"],
            metavar="FILE",
            type=click.Path(path_type=Path),
            help="Keep slots for the mix expected later (future in the request, else its own VMs): as many "
            "of all its shapes, in its proportions, as fit. Show them, and save them for plan --slots.",
        ),
        click.Option(
            ["--work"],
            type=click.FloatRange(min=0, min_open=True),
            help="Limit of each solve that makes slots, as with plan.",
        ),
        click.Option(
            ["--format"],
            type=click.Choice(["text", "json"]),
            default="text",
            help="text for people; json is stable (docs/capacity.md).",
        ),
        click.Option(
            ["--include-managed"],
            metavar="VM",
            multiple=True,
            help="Count this VM of the request although somebody else owns it (its name; more than once).",
        ),
        click.Option(
            ["--time-limit"],
            metavar="SECONDS",
            type=click.FloatRange(min=0, min_open=True),
            callback=refuse_nan,
            help="Limit of the search in seconds; what was not looked at by then widens the numbers.",
        ),
        click.Option(["--seed"], type=click.IntRange(min=0), default=1, help="Seed of the search."),
        click.Option(
            ["--now"],
            metavar="TIME",
            type=MOMENT,
            help="Date the report at this time (ISO 8601) instead of the clock's, for equal bytes.",
        ),
        *source_params(),
    ],
    epilog=examples(
        "vplacer capacity --lab a30pairs -r a30pairs",
        "vplacer capacity --from site.json.gz -r request.yaml --format json",
        "vplacer capacity --from site.json.gz --after-loss 1",
    ),
)
