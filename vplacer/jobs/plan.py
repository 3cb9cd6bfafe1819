"""From an inventory and a request to a plan."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from vplacer.errors import FileFormatError, UnknownObjectError, UsageError, VplacerError
from vplacer.jobs.file_kind import FileKind, kind_of
from vplacer.jobs.fixtures import file_or_fixture
from vplacer.jobs.output_file import check_output, refuse_inputs, refuse_one_file_twice
from vplacer.jobs.slots import Following, following, place_by_slots
from vplacer.jobs.source import Reading, SourceOptions, login_of, read_source, source_files
from vplacer.jobs.upkeep import UpkeepOptions, search_for, upkeep_of, with_upkeep
from vplacer.jobs.what_if import load_supposition, suppose, tell_unused, with_displaced_vms
from vplacer.jobs.world import World, timestamp
from vplacer.solver.verdict import SolveOptions, Status, StoppedBy

if TYPE_CHECKING:
    from vplacer.apply.preflight import Preflight
    from vplacer.constraints.state import Problem
    from vplacer.inventory.vcenter import Inventory
    from vplacer.plan.model import OverlayRef, Plan
    from vplacer.request.file import RequestFile
    from vplacer.solver.verdict import Solution
    from vplacer.topology.measured import HostMeasurement


@dataclass(frozen=True, slots=True)
class PlanOptions:
    """What to plan, and within which limits.

    Args:
        source: where the inventory comes from.
        request: a request file, or the name of an example; None = none, where the upkeep needs none.
        now: the time the plan is stamped with; None = the clock's.
        partial: place what can be placed; None = as the request says.
        upkeep: what is done to running VMs, whether the request names them or not.
        include_managed: names of VMs that are placed although somebody else owns them.
        previous: an earlier plan to compare with.
        output: where the plan is saved; None = nowhere.
        what_if: plan for the site as it might be: the file that says how it is changed, or
            `what_if.OF_REQUEST`; None = for the site as it is.
        search: limits of the solver.
        place: one VM of the request, by name: only it is placed, following slots.
        slots: the slots it follows, a file; None = made now.
        rehearse: carry the plan out at a simulated vCenter before it is shown.
        check: ask the vCenter about each step.
    """

    source: SourceOptions
    request: str | None = None
    now: datetime | None = None
    partial: bool | None = None
    upkeep: UpkeepOptions = field(default_factory=UpkeepOptions)
    include_managed: tuple[str, ...] = ()
    previous: Path | None = None
    output: Path | None = None
    what_if: str | None = None
    search: SolveOptions = field(default_factory=SolveOptions)
    place: str | None = None
    slots: Path | None = None
    rehearse: bool = True
    check: bool = False


@dataclass(frozen=True, slots=True)
class PlanResult:
    """A plan and what is told of its making; ``saved`` None = it was not to be saved, or must not be.

    ``homes``: where the VMs of the plan were measured, host by host. ``checked``: what the vCenter says
    of the steps; None = it was not asked.
    """

    plan: Plan
    solve_seconds: float
    saved: Path | None
    overlay_origins: tuple[str, ...]
    homes: tuple[tuple[str, HostMeasurement], ...] = ()
    checked: Preflight | None = None


def run_plan(options: PlanOptions, world: World) -> PlanResult:
    """Make a plan. A plan that is not one (infeasible) is returned, never saved.

    The request is read before the inventory, so that a mistake in it shows at once.

    Raises:
        VplacerError: the request or the inventory cannot be used, see `vplacer.errors`.
    """
    from vplacer.topology.measured import measured_homes

    options = _with_login(options, world)
    request_path = file_or_fixture("requests", options.request) if options.request is not None else None
    request = _load(request_path, options)
    _check_outputs(options, request_path)
    arriving = following(options.place, options.slots) if options.place is not None else None
    supposition = load_supposition(options.what_if, request_path)
    tell_unused(request, options.what_if, world)
    previous = _previous(options, world)
    supposed = suppose(read_source(options.source, world), supposition)
    reading = supposed.reading
    if previous is not None and not _same_vcenter(previous, reading, options, world):
        previous = None
    problem, _ = with_displaced_vms(make_problem(request, reading, options), supposed.displaced)
    problem, solution, seconds = _solve(problem, arriving, options, world)
    created = options.now or world.clock()
    plan = make_plan(problem, solution, request, reading, created, previous, supposed.changes)
    plan = _with_rehearsal(plan, reading, options, world)
    saved = None
    if options.output is not None and solution.status in (Status.OPTIMAL, Status.FEASIBLE):
        from vplacer.plan.plan_file import save_plan

        save_plan(plan, options.output)
        saved = options.output
    homes = measured_homes(reading.inventory, reading.overlays, {vm.vm for vm in plan.vms if vm.vm})
    checked = _checked(plan, options, world)
    return PlanResult(plan, seconds, saved, reading.overlay_origins, homes, checked)


def _with_login(options: PlanOptions, world: World) -> PlanOptions:
    """Find out how the vCenter is reached once, where it is needed twice.

    Raises:
        UsageError: --check without a vCenter to ask.
    """
    source = options.source
    if not options.check:
        return options
    if source.vcenter is None or options.what_if is not None:
        raise UsageError(
            "--check goes with --vcenter only, and not with --what-if",
            why="it asks the vCenter about each step",
            hint="the rehearsal of a plan needs no vCenter",
        )
    login = source.login or login_of(source.vcenter, source, world)
    return replace(options, source=replace(source, login=login))


def _checked(plan: Plan, options: PlanOptions, world: World) -> Preflight | None:
    """Ask the vCenter about each step, as if every consent had been given."""
    if not (options.check and plan.applyable and plan.steps):
        return None
    from vplacer.jobs.apply import check_plan
    from vplacer.jobs.rehearsal import everything_allowed

    world.progress.step("checking", 0, None)
    try:
        return check_plan(plan, options.source, everything_allowed(options.include_managed), world)
    finally:
        world.progress.finish()


def _with_rehearsal(plan: Plan, reading: Reading, options: PlanOptions, world: World) -> Plan:
    """Rehearse a plan that can be carried out, unless somebody is in a hurry."""
    from vplacer.jobs.rehearsal import rehearsed

    hurried = plan.verdict.stopped_by is StoppedBy.INTERRUPT
    if not (options.rehearse and plan.applyable and plan.steps) or plan.hypothetical or hurried:
        return plan
    world.progress.step("rehearsing", 0, None)
    try:
        found = rehearsed(plan, reading.inventory, reading.overlays, options.include_managed)
    finally:
        world.progress.finish()
    return replace(plan, rehearsal=found)


def _load(path: Path | None, options: PlanOptions) -> RequestFile:
    """Load the request; without one, one that asks for nothing.

    Raises:
        UsageError: there is nothing to plan.
    """
    from vplacer.request.load import empty_request, load_request

    if path is not None:
        return load_request(path)
    if not options.upkeep.needs_no_request:
        raise UsageError(
            "there is nothing to plan: no request was given",
            hint="name one with --request; without one, --evacuate HOST empties hosts and --repair mends "
            "what runs",
        )
    return empty_request()


def _check_outputs(options: PlanOptions, path: Path | None) -> None:
    """Refuse outputs that would replace what is read, or each other."""
    record, source = options.source.record, options.source
    request = [path] if path is not None else []
    refuse_one_file_twice(options.output, record)
    if record is not None:
        others = [path for path in (options.previous, options.slots) if path is not None]
        refuse_inputs(record, [*request, *others])
    if options.output is not None:
        # The plan of --since may be replaced: it is a plan, and read before.
        check_output(
            options.output,
            FileKind.PLAN,
            inputs=(*request, *([options.slots] if options.slots else []), *source_files(source)),
            force=source.force,
        )


def make_problem(request: RequestFile, reading: Reading, options: PlanOptions) -> Problem:
    """Match the request with the inventory, and let the command line have the last word."""
    from vplacer.constraints.ownership import reason_left_alone
    from vplacer.constraints.state import Problem
    from vplacer.request.resolve import resolve
    from vplacer.topology.build import build_topologies

    _refuse_unknown(options.include_managed, reading.inventory)
    upkeep = upkeep_of(options.upkeep, reading.inventory, options.request is not None)
    topologies = build_topologies(reading.inventory, reading.overlays)
    resolved = resolve(
        request,
        reading.inventory,
        topologies,
        owner_reason=lambda vm: reason_left_alone(vm, reading.inventory),
        include_managed=frozenset(options.include_managed),
        upkeep=upkeep,
    )
    return with_upkeep(
        Problem(reading.inventory, topologies, resolved), options.upkeep, upkeep, options.partial
    )


def _refuse_unknown(names: Sequence[str], inventory: Inventory) -> None:
    """Refuse names of VMs that do not exist: a slip must not leave a VM out without a word."""
    known = {word for vm in inventory.vms for word in (vm.name, vm.moid)}
    for name in names:
        if name not in known:
            close = difflib.get_close_matches(name, sorted(known), n=1)
            raise UnknownObjectError(
                "no VM has this name",
                obj=name,
                why="given with --include-managed",
                hint=f"did you mean {close[0]}?" if close else None,
            )


def _solve(
    problem: Problem, arriving: Following | None, options: PlanOptions, world: World
) -> tuple[Problem, Solution, float]:
    """Solve a problem, or that of the one VM that is to be placed by itself; return the one solved."""
    from vplacer.solver.solve import solve

    search = search_for(options.upkeep, options.search)
    started = world.seconds()
    with world.stoppable() as asked:
        stop = stopper(asked, world.seconds, options.search.time_limit_s)
        world.progress.step("solving", 0, None)
        try:
            if arriving is not None:
                problem, solution = place_by_slots(problem, arriving, search, stop)
            else:
                solution = solve(problem, search, stop)
        finally:
            world.progress.finish()
    return problem, solution, world.seconds() - started


def make_plan(
    problem: Problem,
    solution: Solution,
    request: RequestFile,
    reading: Reading,
    created: datetime,
    previous: Plan | None,
    what_if: tuple[str, ...] | None = None,
) -> Plan:
    """Make the plan of a solution, with what the judge says of before and after.

    ``what_if``: how the site was changed before; None = it is as it was read.
    """
    import vplacer
    from vplacer.constraints.judge import check, check_vm_today
    from vplacer.constraints.state import State
    from vplacer.inventory.snapshot import inventory_fingerprint
    from vplacer.plan.build import build_plan
    from vplacer.plan.staleness import drift

    return build_plan(
        problem,
        solution,
        created=timestamp(created),
        tool_version=vplacer.__version__,
        fingerprint=inventory_fingerprint(reading.inventory),
        request_document=request.data,
        overlays=overlay_refs(reading),
        violations_before=[
            violation
            for demand in problem.request.demands
            if demand.vm is not None
            for violation in check_vm_today(problem, demand)
        ],
        violations_after=check(State(problem, solution.placements)),
        drift=() if previous is None else drift(previous, reading.inventory),
        what_if=what_if,
    )


def overlay_refs(reading: Reading) -> tuple[OverlayRef, ...]:
    """Return the overlays a decision can use: what was only measured is for display."""
    from vplacer.inventory.overlay_file import overlay_sha256
    from vplacer.plan.model import OverlayRef

    return tuple(
        OverlayRef(overlay.host, overlay.source, overlay.created, overlay_sha256(overlay))
        for overlay in reading.overlays
        if overlay.devices or overlay.links
    )


def _previous(options: PlanOptions, world: World) -> Plan | None:
    """Return the plan to compare with: the one named, else what stands where this one goes.

    What moved since is told of the site as it is: a hypothetical plan is compared with nothing.
    """
    if options.previous is not None:
        if options.what_if is not None:
            raise UsageError(
                "--since and --what-if exclude each other", why="what was only supposed has not moved"
            )
        named = show_plan(options.previous)
        if named.hypothetical:
            raise UsageError("is a hypothetical plan", obj=str(options.previous), hint="name another plan")
        return named
    if options.what_if is not None or options.output is None or not options.output.is_file():
        return None
    try:
        found = show_plan(options.output)
    except VplacerError as error:
        world.warn(f"{options.output} will be replaced, and is no plan to compare with: {error.what}")
        return None
    return None if found.hypothetical else found


def _same_vcenter(previous: Plan, reading: Reading, options: PlanOptions, world: World) -> bool:
    """Whether a plan was made for the vCenter read; one that was named and was not is refused."""
    about = reading.inventory.about
    if previous.source.instance_uuid == about.instance_uuid:
        return True
    fault = f"is a plan for another vCenter ({previous.source.vcenter}) than {about.name}"
    if options.previous is not None:
        raise UsageError(fault, obj=str(options.previous), hint="leave out --since, or name another plan")
    world.warn(f"{options.output} {fault}; it will be replaced, and drift is not shown")
    return False


def stopper(
    asked: Callable[[], bool], seconds: Callable[[], float], time_limit_s: float | None
) -> Callable[[], StoppedBy | None]:
    """Return a function that tells the solver when to end with what it has."""
    deadline = None if time_limit_s is None else seconds() + time_limit_s

    def stop() -> StoppedBy | None:
        if asked():
            return StoppedBy.INTERRUPT
        if deadline is not None and seconds() >= deadline:
            return StoppedBy.TIME
        return None

    return stop


def show_plan(path: Path) -> Plan:
    """Load a saved plan.

    Raises:
        FileFormatError, NewerFormatError: it is no plan, was edited, or is of a newer vplacer.
    """
    from vplacer.plan.plan_file import load_plan

    try:
        return load_plan(path)
    except FileFormatError:
        kind = kind_of(path)
        if kind is FileKind.PLAN and path.read_bytes()[:2] == b"\x1f\x8b":
            raise FileFormatError("is compressed", path=str(path), hint="unpack it with gunzip") from None
        if kind is None or kind is FileKind.PLAN:
            raise
        raise FileFormatError(
            f"is {kind.value}, not a saved plan", path=str(path), hint="vplacer plan -o FILE saves one"
        ) from None
