"""What the solver answers: a verdict with figures per level, placements, and reasons. All data."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from vplacer.constraints.registry import Relaxation
from vplacer.constraints.state import Placement
from vplacer.solver.conflicts.conflict import Conflict
from vplacer.solver.relaxing.model import WayOut


class Status(StrEnum):
    """optimal: every level proved. feasible: a plan, with a gap on some level.

    infeasible: proved that not all can be placed. undecided: a limit was reached first.
    """

    OPTIMAL = "optimal"
    FEASIBLE = "feasible"
    INFEASIBLE = "infeasible"
    UNDECIDED = "undecided"


class StoppedBy(StrEnum):
    """Which limit ended the search; equality between runs is promised for WORK only."""

    WORK = "work"
    TIME = "time"
    INTERRUPT = "interrupt"


@dataclass(frozen=True, slots=True)
class LevelResult:
    """One level of the objective.

    ``id``: "placed:<priority>", "locality", "power_cycles", "moves", "room", "hosts". ``maximise`` tells the
    sense; ``bound`` is the proved best possible given the levels before it, None = no bound proved.
    ``unit`` says what the integer counts.
    """

    id: str
    title: str
    maximise: bool
    value: int
    bound: int | None
    unit: str

    @property
    def proved(self) -> bool:
        """Whether the value equals its bound."""
        return self.bound == self.value

    @property
    def gap(self) -> int | None:
        """Distance to the bound in the level's unit; None = no bound."""
        return None if self.bound is None else abs(self.bound - self.value)


@dataclass(frozen=True, slots=True)
class HostReason:
    """One constraint that rejects hosts for a demand: host moid and evidence of each."""

    constraint: str
    hosts: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class DemandReasons:
    """Why a demand has no place: every host considered is in exactly one of ``rejections``.

    ``conflicts``: sets of things that cannot all hold; empty = none was shown.
    """

    demand: str
    hosts_considered: int
    rejections: tuple[HostReason, ...]
    relaxations: tuple[Relaxation, ...]
    conflicts: tuple[Conflict, ...] = ()


@dataclass(frozen=True, slots=True)
class Solution:
    """The answer.

    ``placements``: one per demand placed, sorted by demand id; with status INFEASIBLE the best
    partial placement. ``unplaced``: demand ids without a place. ``reasons`` for each of them; ``ways_out``:
    what to change so that all find a place, the cheapest first.
    """

    status: Status
    placements: tuple[Placement, ...]
    unplaced: tuple[str, ...]
    levels: tuple[LevelResult, ...]
    reasons: tuple[DemandReasons, ...]
    stopped_by: StoppedBy | None
    seed: int
    solver_version: str
    assumptions: tuple[str, ...] = ()
    ways_out: tuple[WayOut, ...] = ()


@dataclass(frozen=True, slots=True)
class SolveOptions:
    """Limits of the search.

    ``work`` is counted, not clocked: about a second of one core a unit; None = by the number of
    hosts. ``levels``: the order of the objective. ``time_limit_s`` None = none.
    ``explained``: say of every VM without a place why.
    """

    seed: int = 1
    work: float | None = None
    time_limit_s: float | None = None
    levels: tuple[str, ...] = ("placed", "locality", "moves", "room", "hosts")
    explained: bool = True
