"""Carries saved plans out, goes on with them, takes them back; or only looks whether it could be done."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from vplacer.apply.clock import MachineClock
from vplacer.apply.events import Listener, ignore
from vplacer.apply.journal import SUFFIX, demand_new, journal_path, plan_path, read_journal
from vplacer.apply.options import ApplyOptions
from vplacer.apply.stop import Stop
from vplacer.errors import AmbiguousObjectError, FileFormatError, RequestError, UnknownObjectError
from vplacer.jobs.plan import show_plan
from vplacer.jobs.source import SourceOptions
from vplacer.jobs.vcenter_port import reached
from vplacer.jobs.world import World

if TYPE_CHECKING:
    from vplacer.apply.outcome import Outcome
    from vplacer.apply.preflight import Preflight
    from vplacer.apply.rollback_plan import RollbackPlan
    from vplacer.plan.model import Plan


@dataclass(frozen=True, slots=True)
class PlanFiles:
    """A saved plan and the journal that goes with it, whether there is one yet or not."""

    plan: Path
    journal: Path


@dataclass(frozen=True, slots=True)
class ApplyJob:
    """What to carry out, where, and within which limits."""

    files: PlanFiles
    source: SourceOptions
    options: ApplyOptions = field(default_factory=ApplyOptions)


@dataclass(frozen=True, slots=True)
class Watch:
    """Who is told what happens, and who may stop it."""

    listener: Listener = ignore
    stop: Stop = field(default_factory=Stop)


def plan_files(path: Path) -> PlanFiles:
    """Return the files of a plan from either of them.

    Raises:
        UnknownObjectError: there is no such file.
        FileFormatError: it is a journal whose plan is not beside it.
    """
    if not path.name.endswith(SUFFIX):
        return PlanFiles(path, journal_path(path))
    plan = plan_path(path)
    if not path.exists():
        raise UnknownObjectError("there is no journal", obj=str(path))
    if not plan.exists():
        raise UnknownObjectError(
            "the plan of this journal is not beside it",
            obj=str(path),
            why=f"there is no {plan}",
            hint="put plan and journal into one folder, under the names that they had",
        )
    return PlanFiles(plan, path)


def unfinished(folder: Path) -> PlanFiles:
    """Return the files of the one apply in a folder that is not finished.

    Raises:
        UnknownObjectError: there is none.
        AmbiguousObjectError: there are several.
    """
    found = []
    for path in sorted(folder.glob("*" + SUFFIX)):
        try:
            closed = read_journal(path).closed
        except (FileFormatError, RequestError):
            continue
        if closed is None or closed.status == "stopped":
            found.append(path)
    if not found:
        raise UnknownObjectError(
            "no apply that is not finished has its journal in this folder",
            obj=str(folder.absolute()),
            hint="name the plan, or its journal",
        )
    if len(found) > 1:
        raise AmbiguousObjectError(
            "several applies are not finished",
            why=", ".join(path.name for path in found),
            hint="name one of them",
        )
    return plan_files(found[0])


def load_applyable(path: Path) -> Plan:
    """Load a plan that may be carried out. One that changes nothing has no steps.

    Raises:
        FileFormatError, NewerFormatError: it is no plan, was edited, or is of a newer vplacer.
        RequestError: it is only to be looked at.
    """
    from vplacer.apply.preflight import demand_applyable
    from vplacer.solver.verdict import Status

    plan = show_plan(path)
    demand_applyable(plan)
    if plan.verdict.status not in (Status.OPTIMAL, Status.FEASIBLE):
        raise RequestError(
            "there is nothing to carry out",
            obj=str(path),
            why=f"the verdict of the plan is {plan.verdict.status.value}",
            hint="change the request, and plan again",
        )
    return plan


def run_check(job: ApplyJob, world: World) -> tuple[Plan, Preflight]:
    """Say whether a plan could be carried out now. Reads only. Errors as `run_apply`."""
    plan = load_applyable(job.files.plan)
    return plan, check_plan(plan, job.source, job.options, world)


def check_plan(plan: Plan, source: SourceOptions, options: ApplyOptions, world: World) -> Preflight:
    """Say whether a plan could be carried out now. Reads only.

    Raises:
        RequestError: the plan is for another vCenter, or only to be looked at.
        VSphereError: the vCenter cannot be reached.
    """
    from vplacer.apply.run import check_only

    with reached(source, world, plan.source) as vcenter:
        return check_only(plan, vcenter.port, options, MachineClock())


def run_apply(
    job: ApplyJob,
    world: World,
    watch: Watch,
    confirm: Callable[[Preflight], bool] | None = None,
) -> Outcome:
    """Carry a plan out. ``confirm`` is asked after all checks, before the first change.

    Raises:
        RequestError: the plan cannot be used, or lacks a consent.
        StaleError: what it was decided on has moved.
        VSphereError: the vCenter cannot be reached, or would refuse a step. Nothing was changed.
        OutputError: the journal cannot be written.
    """
    import vplacer
    from vplacer.apply.run import apply_plan

    plan = load_applyable(job.files.plan)
    demand_new(job.files.journal)
    with reached(job.source, world, plan.source) as vcenter:
        return apply_plan(
            plan,
            vcenter.port,
            job.options,
            job.files.journal,
            MachineClock(),
            watch.listener,
            watch.stop,
            overlays=vcenter.overlays,
            tool_version=vplacer.__version__,
            confirm=confirm,
        )


def run_resume(job: ApplyJob, world: World, watch: Watch) -> Outcome:
    """Go on with an apply or a rollback that stopped or was killed. Errors as `run_apply`."""
    from vplacer.apply.run import resume

    plan = show_plan(job.files.plan)
    read_journal(job.files.journal)
    with reached(job.source, world, plan.source) as vcenter:
        return resume(
            plan,
            vcenter.port,
            job.options,
            job.files.journal,
            MachineClock(),
            watch.listener,
            watch.stop,
            overlays=vcenter.overlays,
        )


def preview(job: ApplyJob) -> tuple[Plan, RollbackPlan]:
    """Return what a rollback would do. Needs no vCenter.

    Raises:
        UnknownObjectError, FileFormatError: there is no journal, or it is damaged.
        ConsentMissing: what it would do needs a consent that was not given.
    """
    from vplacer.apply.run import preview_rollback

    plan = show_plan(job.files.plan)
    return plan, preview_rollback(plan, read_journal(job.files.journal))


def demand_rollback_consents(plan: Plan, what: RollbackPlan, options: ApplyOptions, world: World) -> None:
    """Refuse a rollback that lacks a consent, before anybody is asked anything.

    Raises:
        ConsentMissing: naming each.
    """
    from vplacer.apply.consent import demand_consents, missing_consents

    within = replace(options, window=None)
    demand_consents(missing_consents(plan, what.steps, within, world.clock()))


def run_rollback(job: ApplyJob, world: World, watch: Watch) -> Outcome:
    """Take back what was carried out of a plan. Errors as `run_apply`."""
    from vplacer.apply.run import roll_back

    plan = show_plan(job.files.plan)
    with reached(job.source, world, plan.source) as vcenter:
        return roll_back(
            plan,
            vcenter.port,
            job.options,
            job.files.journal,
            MachineClock(),
            watch.listener,
            watch.stop,
        )
