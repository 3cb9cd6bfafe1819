"""`vplacer rehearse`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from vplacer.cli.apply_display import Display
from vplacer.cli.apply_options import apply_options_of, consent_params, pace_params
from vplacer.cli.apply_run import exit_code
from vplacer.cli.common import Command, Common, common_of, examples
from vplacer.cli.output import emit
from vplacer.cli.run import world_for
from vplacer.cli.source_options import source_of, source_params
from vplacer.cli.stopping import stop_on_signals
from vplacer.errors import UsageError
from vplacer.jobs.fault_words import FAULTS

if TYPE_CHECKING:
    from vplacer.jobs.rehearse import Rehearsed


@click.pass_context
def _run(ctx: click.Context, /, plan: Path, **values: Any) -> int:
    from vplacer.jobs.apply import Watch
    from vplacer.jobs.rehearse import RehearseJob, parse_fault, run_rehearse

    common = common_of(ctx)
    try:
        faults = tuple(parse_fault(text) for text in values["fault"])
    except ValueError as error:
        raise UsageError(str(error), hint="vplacer rehearse --help says what each does") from None
    source = source_of(ctx, common, values)
    job = RehearseJob(plan, source, apply_options_of(values), faults, values["speed"])
    world = world_for(common, machine=values["format"] != "text")
    display = Display(common, values["format"], quiet=common.verbose == 0)
    watch = Watch(display)
    try:
        resume = "nothing: it was a rehearsal, nothing"
        with stop_on_signals(watch.stop, display, resume=resume) as signalled:
            result = run_rehearse(job, world, watch)
    finally:
        display.finish()
    code = exit_code(result.outcome, signalled.exit_code)
    emit(common, _text(common, result, values["format"], code))
    return code


def _text(common: Common, result: Rehearsed, format: str, code: int) -> str:
    if format != "text":
        from vplacer.report.apply_json import outcome_json

        return outcome_json(result.outcome, code)
    from vplacer.report.rehearsal_text import rehearse_text
    from vplacer.report.style import Style

    return rehearse_text(
        result.plan,
        result.outcome,
        ordered=result.told,
        style=Style(common.color(common.stdout)),
    )


_KINDS = "; ".join(f"{kind}: {what}" for kind, what in FAULTS.items())

command = Command(
    "rehearse",
    callback=_run,
    help="Carry PLAN out at a simulated vCenter, over the same SOAP calls as at a real one, and show what "
    "would happen when. The simulated vCenter is made from the inventory the plan was made from: give its "
    "snapshot with --from, or read the vCenter anew. The vCenter itself is not changed, no file is written. "
    "Consents are those an apply needs.",
    params=[
        click.Argument(["plan"], type=click.Path(path_type=Path)),
        click.Option(
            ["--fault"],
            metavar="KIND[@STEP]",
            multiple=True,
            help="Let this go wrong, at the step of this number or id, else at the first (more than once). "
            f"Kinds: {_KINDS}.",
        ),
        click.Option(
            ["--speed"],
            metavar="N",
            type=click.FloatRange(min=1, max=1000),
            default=60.0,
            help="Seconds of the simulated vCenter's time in one second.",
        ),
        click.Option(
            ["--format"],
            type=click.Choice(["text", "json"]),
            default="text",
            help="text for people, with the times of all steps (-v: events while it runs); json: how it "
            "ended.",
        ),
        *consent_params(),
        *pace_params(),
        *source_params(),
    ],
    epilog=examples(
        "vplacer rehearse plan.json --from site.json.gz --allow-power-cycle",
        "vplacer rehearse plan.json --from site.json.gz --fault drop-after@3 --fault fail@7",
    ),
)
