"""From an inventory and a request to a plan."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

from vplacer.inventory.files import write_file
from vplacer.jobs.fixtures import file_or_fixture
from vplacer.jobs.output_file import check_writable
from vplacer.jobs.source import SourceOptions, read_source
from vplacer.jobs.world import World, timestamp
from vplacer.plan.model import Plan
from vplacer.solver.verdict import SolveOptions, Status, StoppedBy


@dataclass(frozen=True, slots=True)
class PlanOptions:
    """What to plan, and within which limits.

    Args:
        source: where the inventory comes from.
        request: a request file, or the name of an example.
        now: the time the plan is stamped with; None = the clock's.
        partial: place what can be placed; None = as the request says.
        repair: also improve VMs of the request that already have what was asked for.
        include_managed: names of VMs that are placed although somebody else owns them.
        previous: an earlier plan to compare with.
        output: where the plan is saved; None = nowhere.
        search: limits of the solver.
    """

    source: SourceOptions
    request: str
    now: datetime | None = None
    partial: bool | None = None
    repair: bool = False
    include_managed: tuple[str, ...] = ()
    previous: Path | None = None
    output: Path | None = None
    search: SolveOptions = field(default_factory=SolveOptions)


@dataclass(frozen=True, slots=True)
class PlanResult:
    """A plan and what is told of its making; ``saved`` None = it was not to be saved, or must not be."""

    plan: Plan
    solve_seconds: float
    saved: Path | None
    overlay_origins: tuple[str, ...]


def run_plan(options: PlanOptions, world: World) -> PlanResult:
    """Make a plan. A plan that is not one (infeasible, undecided) is returned, never saved.

    Raises:
        VplacerError: the request or the inventory cannot be used, see `vplacer.errors`.
    """
    raise NotImplementedError


def stopper(world: World, time_limit_s: float | None) -> Callable[[], StoppedBy | None]:
    """Return a function that tells the solver when to end with what it has."""
    deadline = None if time_limit_s is None else world.seconds() + time_limit_s

    def stop() -> StoppedBy | None:
        if world.stop():
            return StoppedBy.INTERRUPT
        if deadline is not None and world.seconds() >= deadline:
            return StoppedBy.TIME
        return None

    return stop


def show_plan(path: Path) -> Plan:
    """Load a saved plan.

    Raises:
        FileFormatError, NewerFormatError: it is no plan, was edited, or is of a newer vplacer.
    """
    raise NotImplementedError


__all__ = ["Status", "check_writable", "file_or_fixture", "read_source", "timestamp", "write_file"]
