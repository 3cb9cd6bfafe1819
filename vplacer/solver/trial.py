"""Trials of a way out: how many of the VMs without a place it lets in, placed one after the other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from vplacer.constraints.judge import check_change
from vplacer.constraints.registry import Relaxation
from vplacer.constraints.state import State
from vplacer.request.demand import Demand
from vplacer.solver.beside import Beside
from vplacer.solver.classes import DemandClass

MAX_PLACED = 32
"""So many VMs of a kind are tried at most; more that find a place are not counted."""


@dataclass(frozen=True, slots=True)
class Way:
    """A way out to be tried: how to say it, the demand with it, and what else is otherwise with it.

    ``lets_in``: for how many it certainly makes room, where that is known without a trial.
    """

    relaxation: Relaxation
    demand: Demand
    beside: Beside
    lets_in: int | None = None


def place_one_by_one(
    beside: Beside, cls: DemandClass, members: Sequence[str], demand: Demand, hosts: Sequence[str]
) -> tuple[int, Beside]:
    """Place as many members of a class as find a place, and return how many, with them placed.

    Members are alike: where one found no place, the next finds none either.

    Args:
        beside: the answer.
        cls: the class.
        members: demands without a place.
        demand: what each of them asks for, maybe changed.
        hosts: where they may go, in this order.
    """
    originals = beside.problem.demand_by_id
    beside = beside.with_demands(
        replace(demand, id=member, name=originals[member].name, source=originals[member].source)
        for member in members
    )
    placed, at = 0, 0
    for member in members[:MAX_PLACED]:
        mine = beside.problem.demand_by_id[member]
        found = None
        while at < len(hosts) and (found := beside.placement(cls, mine, hosts[at])) is None:
            at += 1
        if found is None:
            break
        beside = beside.with_placement(found)
        placed += 1
    return placed, beside


def place_gang(beside: Beside, name: str, hosts: Sequence[str]) -> tuple[int, Beside]:
    """Place all members of a gang, a host each and on one fabric if that is asked, or none."""
    for fabric in beside.fabrics(name):
        placed, trial = _place_all(beside, name, [moid for moid in hosts if moid in fabric])
        if placed:
            return placed, trial
    return 0, beside


def _place_all(beside: Beside, name: str, hosts: Sequence[str]) -> tuple[int, Beside]:
    """Place the members of a gang one after the other, those that fit the fewest hosts first."""
    open_to: list[tuple[int, DemandClass, str]] = []
    for cls in beside.instance.classes:
        if cls.gang == name:
            demand = beside.problem.demand_by_id[cls.members[0]]
            fits = sum(beside.placement(cls, demand, moid, gang=False) is not None for moid in hosts)
            open_to += [(fits, cls, member) for member in cls.members]
    free, trial = list(hosts), beside
    for _, cls, member in sorted(open_to, key=lambda item: (item[0], item[2])):
        demand = beside.problem.demand_by_id[member]
        tries = ((moid, trial.placement(cls, demand, moid, gang=False)) for moid in free)
        found = next(((moid, placement) for moid, placement in tries if placement is not None), None)
        if found is None:
            return 0, beside
        free.remove(found[0])
        trial = trial.with_placement(found[1])
    return len(open_to), trial


def judged(beside: Beside) -> bool:
    """Whether the judge accepts a trial; that some demands have no place is no fault."""
    beside.memo.spend(1 + len(beside.placements) // 20)
    placed = {placement.demand for placement in beside.placements}
    missing = {demand.id for demand in beside.problem.request.demands} - placed
    state = State(beside.problem, tuple(sorted(beside.placements, key=lambda item: item.demand)))
    faults = check_change(state, beside.touched_hosts())
    return all(fault.constraint == "placed" and fault.object in missing for fault in faults)
