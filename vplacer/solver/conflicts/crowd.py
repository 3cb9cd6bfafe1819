"""How many VMs do not fit together as they are asked for: the smallest numbers of each kind."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from vplacer.constraints.state import Placement, Problem
from vplacer.request.demand import Demand
from vplacer.solver.classes import DemandClass
from vplacer.solver.conflicts.minimal import minimal_conflict
from vplacer.solver.conflicts.oracle import Asked, Oracle


@dataclass(frozen=True)
class Crowd:
    """The demands that are asked for together.

    ``mine``: of the class without a place, and with it the rest of its gang in ``beside``. ``others``: of
    each other class, those that take part.
    """

    cls: DemandClass
    mine: tuple[Demand, ...]
    beside: tuple[Demand, ...] = ()
    others: tuple[tuple[DemandClass, tuple[Demand, ...]], ...] = ()

    @property
    def held(self) -> tuple[Demand, ...]:
        """All of the other classes."""
        return tuple(demand for _, demands in self.others for demand in demands)


def crowd_of(
    oracle: Oracle, cls: DemandClass, placements: Sequence[Placement], classes: Sequence[DemandClass]
) -> Crowd | None:
    """Return the smallest crowd found that does not fit as it is asked for; None = none was found.

    Args:
        oracle: answers for the whole site.
        cls: a class with members that have no place.
        placements: the answer's placements.
        classes: all classes.
    """
    problem = oracle.problem
    demands = problem.demand_by_id
    placed = {placement.demand for placement in placements}
    mine = [demands[member] for member in cls.members if member in placed]
    missing = [demands[member] for member in cls.members if member not in placed]
    wanted = (*mine, missing[0])
    if conflicts(oracle, Crowd(cls, wanted)):
        return _fewest(oracle, Crowd(cls, wanted))
    others = [
        (other, tuple(demands[member] for member in other.members if member in placed))
        for other in _by_likeness(cls, classes)
    ]
    others = [item for item in others if item[1]]

    def conflicting(some: Sequence[tuple[DemandClass, tuple[Demand, ...]]]) -> bool:
        return conflicts(oracle, Crowd(cls, wanted, others=tuple(some)))

    if not others or not conflicting(others):
        return None
    needed = minimal_conflict(others, conflicting)
    return _fewest(oracle, Crowd(cls, wanted, others=tuple(needed)))


def _fewest(oracle: Oracle, crowd: Crowd) -> Crowd:
    """Lower the number of VMs of each class to the least that still does not fit."""
    problem = oracle.problem
    most = oracle.most(plainly(problem, crowd))
    if most is not None and most + 1 < len(crowd.mine):
        crowd = replace(crowd, mine=crowd.mine[len(crowd.mine) - most - 1 :])
    for position, (cls, demands) in enumerate(crowd.others):
        rest = [item for at, item in enumerate(crowd.others) if at != position]
        held = tuple(demand for _, some in rest for demand in some)
        asked = Asked(demands, (*held, *crowd.mine), problem.request.rules, problem.request.options)
        most = oracle.most(asked)
        if most is not None and most + 1 < len(demands):
            fewer = (cls, demands[: most + 1])
            crowd = replace(crowd, others=(*crowd.others[:position], fewer, *crowd.others[position + 1 :]))
    return crowd


def one_less(crowd: Crowd) -> Iterable[Crowd]:
    """Yield the crowd with one VM less of each class."""
    if len(crowd.mine) > 1:
        yield replace(crowd, mine=crowd.mine[1:])
    for at, (cls, demands) in enumerate(crowd.others):
        less = ((cls, demands[1:]),) if len(demands) > 1 else ()
        yield replace(crowd, others=(*crowd.others[:at], *less, *crowd.others[at + 1 :]))


def plainly(problem: Problem, crowd: Crowd) -> Asked:
    """Return what a crowd asks for with nothing given up."""
    return Asked(crowd.mine, crowd.held, problem.request.rules, problem.request.options)


def conflicts(oracle: Oracle, crowd: Crowd) -> bool:
    """Whether a crowd is proved not to fit as it is asked for."""
    return oracle.conflict(plainly(oracle.problem, crowd))


def _by_likeness(cls: DemandClass, classes: Sequence[DemandClass]) -> list[DemandClass]:
    """The other classes, those first that ask for the same cards."""
    models = {ask.model for ask in cls.demand.gpus} | {ask.profile for ask in cls.demand.gpus}

    def distance(other: DemandClass) -> tuple[int, int]:
        theirs = {ask.model for ask in other.demand.gpus} | {ask.profile for ask in other.demand.gpus}
        shared = bool((models & theirs) - {None})
        return (0 if shared else 1 if bool(other.demand.gpus) == bool(cls.demand.gpus) else 2, other.index)

    return sorted((other for other in classes if other.index != cls.index), key=distance)
