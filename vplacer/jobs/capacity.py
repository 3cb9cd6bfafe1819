"""From an inventory and a request to how many more VMs of each kind there is room for."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from vplacer.errors import InventoryIncomplete, UsageError
from vplacer.jobs.fixtures import file_or_fixture
from vplacer.jobs.output_file import refuse_inputs
from vplacer.jobs.plan import PlanOptions, make_problem, overlay_refs, stopper
from vplacer.jobs.source import SourceOptions, read_source
from vplacer.jobs.world import World, timestamp

if TYPE_CHECKING:
    from vplacer.constraints.state import Problem
    from vplacer.plan.capacity_report import CapacityReport


@dataclass(frozen=True, slots=True)
class CapacityOptions:
    """What to count, and within which limits.

    Args:
        source: where the inventory comes from.
        request: a request file, or the name of an example.
        now: the time the report is stamped with; None = the clock's.
        include_managed: names of VMs that are counted although somebody else owns them.
        seed: seed of the searches.
        time_limit_s: limit of the search; None = none.
    """

    source: SourceOptions
    request: str
    now: datetime | None = None
    include_managed: tuple[str, ...] = ()
    seed: int = 1
    time_limit_s: float | None = None


@dataclass(frozen=True, slots=True)
class CapacityResult:
    """A report of room, and how long the search took."""

    report: CapacityReport
    solve_seconds: float


def run_capacity(options: CapacityOptions, world: World) -> CapacityResult:
    """Count the room for more VMs of each kind of a request.

    The request is read before the inventory, so that a mistake in it shows at once.

    Raises:
        InventoryIncomplete: the inventory has no host, so that nothing can be said of room.
        UsageError: the request asks for no VM that could be counted.
        VplacerError: the request or the inventory cannot be used, see `vplacer.errors`.
    """
    import vplacer
    from vplacer.inventory.snapshot import inventory_fingerprint
    from vplacer.plan.capacity_report import CapacityReport
    from vplacer.plan.source import source_of
    from vplacer.request.load import load_request
    from vplacer.solver.capacity.room import capacity

    path = file_or_fixture("requests", options.request)
    request = load_request(path)
    if options.source.record is not None:
        refuse_inputs(options.source.record, [path])
    reading = read_source(options.source, world)
    plan_options = PlanOptions(options.source, options.request, include_managed=options.include_managed)
    problem = make_problem(request, reading, plan_options)
    _refuse_empty(problem, path)
    started = world.seconds()
    with world.stoppable() as asked:
        stop = stopper(asked, world.seconds, options.time_limit_s)
        world.progress.step("counting room", 0, None)
        try:
            found = capacity(problem, seed=options.seed, stop=stop)
        finally:
            world.progress.finish()
    seconds = world.seconds() - started
    inventory = reading.inventory
    report = CapacityReport(
        tool_version=vplacer.__version__,
        created=timestamp(options.now or world.clock()),
        source=source_of(inventory, inventory_fingerprint(inventory), overlay_refs(reading)),
        request_file=path.name,
        request_sha256=problem.request.sha256,
        capacity=found,
        names=tuple((host.moid, host.name) for host in inventory.hosts),
        notes=tuple(
            f"not counted: {item.name} is left alone: {item.reason}" for item in problem.request.left_alone
        ),
    )
    return CapacityResult(report, seconds)


def _refuse_empty(problem: Problem, request: Path) -> None:
    """Refuse to say that there is no room where nothing was looked at."""
    if not problem.topologies:
        raise InventoryIncomplete(
            "the inventory has no host, so nothing can be said of room",
            obj=problem.inventory.about.name or None,
            hint="look at the account's privileges: without System.View on hosts it sees none",
        )
    if not problem.request.demands and not problem.request.future:
        left = problem.request.left_alone
        raise UsageError(
            "asks for no VM that could be counted",
            obj=str(request),
            why=f"{left[0].name} is left alone: {left[0].reason}" if left else "it names no VM",
            hint="add an entry with 'template' for the kind of VM that is to come",
        )
