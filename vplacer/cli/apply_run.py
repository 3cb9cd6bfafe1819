"""What `apply` and `rollback` share: run with display and signals, print how it ended, exit code."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from vplacer.cli import failure
from vplacer.cli.apply_display import Display
from vplacer.cli.common import Common
from vplacer.cli.output import emit
from vplacer.cli.stopping import stop_on_signals
from vplacer.errors import VplacerError

if TYPE_CHECKING:
    from vplacer.apply.outcome import Outcome
    from vplacer.jobs.apply import ApplyJob, Watch
    from vplacer.plan.model import Plan


def carry_out(
    common: Common, job: ApplyJob, plan: Plan, format: str, work: Callable[[Watch], Outcome]
) -> int:
    """Do the work, show it, print how it ended, and return the exit code."""
    from vplacer.jobs.apply import Watch

    display = Display(common, format)
    watch = Watch(display)
    if format == "ndjson":
        import vplacer
        from vplacer.report.apply_json import first_line

        display.write(first_line(common.clock(), vplacer.__version__))
    resume = f"vplacer apply --resume {job.files.plan}"
    try:
        with stop_on_signals(watch.stop, display, resume=resume) as signalled:
            outcome = work(watch)
    except VplacerError as error:
        display.error(error)
        raise
    finally:
        display.finish()
    code = exit_code(outcome, signalled.exit_code)
    if format == "ndjson":
        from vplacer.report.apply_json import outcome_line

        display.write(outcome_line(common.clock(), outcome, code))
    else:
        emit(common, _text(common, job, plan, format, outcome, code))
    return code


def exit_code(outcome: Outcome, signalled: int | None) -> int:
    """Return the exit code: that of a signal where it is what stopped the work, else the outcome's."""
    from vplacer.apply.outcome import ProblemKind, Status

    if outcome.status is Status.REFUSED:
        return failure.BAD_USAGE
    stopped = any(item.kind is ProblemKind.INTERRUPTED for item in outcome.troubles)
    if signalled is not None and stopped and outcome.status is Status.STOPPED:
        return signalled
    return outcome.exit_code


def _text(common: Common, job: ApplyJob, plan: Plan, format: str, outcome: Outcome, code: int) -> str:
    if format == "json":
        from vplacer.report.apply_json import outcome_json

        return outcome_json(outcome, code)
    from vplacer.report.apply_text import outcome_text
    from vplacer.report.style import Style

    return outcome_text(
        plan,
        outcome,
        verbosity=common.verbose,
        style=Style(common.color(common.stdout)),
        plan_file=str(job.files.plan),
    )
