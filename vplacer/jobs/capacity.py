"""From an inventory and a request to how much room there is, now or after a loss of hosts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from vplacer.errors import InventoryIncomplete, UsageError
from vplacer.jobs.file_kind import FileKind
from vplacer.jobs.fixtures import file_or_fixture
from vplacer.jobs.output_file import check_output, refuse_inputs, refuse_one_file_twice
from vplacer.jobs.plan import PlanOptions, make_problem, overlay_refs, stopper
from vplacer.jobs.slots import make_slots, slot_set
from vplacer.jobs.source import Reading, SourceOptions, read_source, source_files
from vplacer.jobs.topology import find_host
from vplacer.jobs.what_if import Supposed, load_supposition, suppose, tell_unused, with_displaced_vms
from vplacer.jobs.world import World, timestamp
from vplacer.solver.verdict import SolveOptions, StoppedBy

if TYPE_CHECKING:
    from vplacer.constraints.state import Problem
    from vplacer.plan.capacity_report import CapacityReport
    from vplacer.request.file import RequestFile
    from vplacer.solver.arrivals.keep import Kept
    from vplacer.solver.capacity.model import Capacity
    from vplacer.solver.loss.model import AfterLoss

Stop = Callable[[], StoppedBy | None]


@dataclass(frozen=True, slots=True)
class CapacityOptions:
    """What to count, and within which limits.

    Args:
        source: where the inventory comes from.
        request: a request file, or the name of an example; None = only what runs matters (losses).
        now: the time the report is stamped with; None = the clock's.
        include_managed: names of VMs that are counted although somebody else owns them.
        after_loss: tell what the loss of so many hosts of a cluster comes to, instead of room.
        lose: or the loss of these hosts, by name.
        what_if: count on the site as it might be: see `PlanOptions`.
        seed: seed of the searches.
        time_limit_s: limit of the search; None = none.
        output: where slots for the mix expected later are saved; None = none are made.
        work: limit of each solve that makes them, as in `SolveOptions`.
    """

    source: SourceOptions
    request: str | None = None
    now: datetime | None = None
    include_managed: tuple[str, ...] = ()
    after_loss: int | None = None
    lose: tuple[str, ...] = ()
    what_if: str | None = None
    seed: int = 1
    time_limit_s: float | None = None
    output: Path | None = None
    work: float | None = None

    @property
    def of_losses(self) -> bool:
        """Whether losses are asked about."""
        return self.after_loss is not None or bool(self.lose)


@dataclass(frozen=True, slots=True)
class CapacityResult:
    """A report of room, and how long the search took; ``saved``: the slots file written, if any."""

    report: CapacityReport
    solve_seconds: float
    saved: Path | None = None


def run_capacity(options: CapacityOptions, world: World) -> CapacityResult:
    """Count the room for more VMs of each kind of a request, or say what losses of hosts come to.

    The request is read before the inventory, so that a mistake in it shows at once.

    Raises:
        InventoryIncomplete: the inventory has no host, so that nothing can be said of room.
        UsageError: the request asks for no VM that could be counted, or no loss can be tried.
        VplacerError: the request or the inventory cannot be used, see `vplacer.errors`.
    """
    import vplacer
    from vplacer.inventory.snapshot import inventory_fingerprint
    from vplacer.plan.capacity_report import CapacityReport
    from vplacer.plan.source import source_of

    path, request = _request(options)
    supposition = load_supposition(options.what_if, path)
    if request is not None:
        tell_unused(request, options.what_if, world)
    supposed = suppose(read_source(options.source, world), supposition)
    reading = supposed.reading
    _refuse_empty(supposed)
    problem = _problem(request, reading, options)
    _refuse_nothing_asked(problem, path, options)
    problem, displaced = with_displaced_vms(problem, supposed.displaced)
    started = world.seconds()
    with world.stoppable() as asked:
        stop = stopper(asked, world.seconds, options.time_limit_s)
        try:
            room, losses = _search(problem, displaced, options, world, stop)
            kept = _keep(problem, options, world, stop)
        finally:
            world.progress.finish()
    seconds = world.seconds() - started
    inventory = reading.inventory
    left = problem.request.left_alone
    report = CapacityReport(
        tool_version=vplacer.__version__,
        created=timestamp(options.now or world.clock()),
        source=source_of(inventory, inventory_fingerprint(inventory), overlay_refs(reading)),
        request_file=None if path is None else path.name,
        request_sha256=None if path is None else problem.request.sha256,
        capacity=room,
        after_loss=losses,
        names=tuple((host.moid, host.name) for host in inventory.hosts),
        notes=tuple(f"not counted: {vm.name} is left alone: {vm.reason}" for vm in left) if room else (),
        hypothetical=supposed.changes is not None,
        what_if=supposed.changes or (),
    )
    if kept is None or options.output is None:
        return CapacityResult(report, seconds)
    from vplacer.plan.slots_file import save_slots

    slots = slot_set(report, kept)
    save_slots(slots, options.output)
    return CapacityResult(replace(report, slots=slots), seconds, options.output)


def _keep(problem: Problem, options: CapacityOptions, world: World, stop: Stop) -> Kept | None:
    """Make slots if they are to be saved."""
    if options.output is None:
        return None
    world.progress.step("making slots", 0, None)
    return make_slots(problem, SolveOptions(seed=options.seed, work=options.work), stop)


def _search(
    problem: Problem, displaced: tuple[str, ...], options: CapacityOptions, world: World, stop: Stop
) -> tuple[Capacity | None, AfterLoss | None]:
    if not options.of_losses:
        from vplacer.solver.capacity.room import capacity

        world.progress.step("counting room", 0, None)
        return capacity(problem, first=displaced, seed=options.seed, stop=stop), None
    from vplacer.solver.loss.after_loss import after_loss

    world.progress.step("trying losses", 0, None)
    lost = tuple(dict.fromkeys(find_host(problem.inventory, name).moid for name in options.lose))
    return None, after_loss(problem, lost=options.after_loss, named=lost, seed=options.seed, stop=stop)


def _request(options: CapacityOptions) -> tuple[Path | None, RequestFile | None]:
    from vplacer.request.load import load_request

    if options.request is None:
        return None, None
    path = file_or_fixture("requests", options.request)
    if options.source.record is not None:
        refuse_inputs(options.source.record, [path])
    if options.output is not None:
        refuse_one_file_twice(options.output, options.source.record)
        inputs = (path, *source_files(options.source))
        check_output(options.output, FileKind.SLOTS, inputs=inputs, force=options.source.force)
    return path, load_request(path)


def _problem(request: RequestFile | None, reading: Reading, options: CapacityOptions) -> Problem:
    from vplacer.constraints.state import Problem
    from vplacer.request.demand import RequestOptions, ResolvedRequest, Rules
    from vplacer.topology.build import build_topologies

    if request is not None:
        named = PlanOptions(options.source, options.request or "", include_managed=options.include_managed)
        return make_problem(request, reading, named)
    topologies = build_topologies(reading.inventory, reading.overlays)
    return Problem(reading.inventory, topologies, ResolvedRequest((), Rules(), RequestOptions()))


def _refuse_empty(supposed: Supposed) -> None:
    """Refuse to say that there is no room where there was nothing to look at."""
    inventory = supposed.reading.inventory
    if not inventory.hosts and supposed.changes is not None:
        raise UsageError(
            "no host would be left, so nothing can be said of room", why="--what-if removes them"
        )
    if not inventory.hosts:
        raise InventoryIncomplete(
            "the inventory has no host, so nothing can be said of room",
            obj=inventory.about.name or None,
            hint="look at the account's privileges: without System.View on hosts it sees none",
        )


def _refuse_nothing_asked(problem: Problem, request: Path | None, options: CapacityOptions) -> None:
    if options.of_losses or problem.request.demands or problem.request.future:
        return
    left = problem.request.left_alone
    raise UsageError(
        "asks for no VM that could be counted",
        obj=str(request),
        why=f"{left[0].name} is left alone: {left[0].reason}" if left else "it names no VM",
        hint="add an entry with 'template' for the kind of VM that is to come",
    )
