"""Running VMs that may move held where they are, where hosts are too many to try every move on each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace

from vplacer.constraints.state import Placement, Problem
from vplacer.errors import InternalError
from vplacer.solver.exact import CHANGE_LEVELS, Answer
from vplacer.solver.instance import Instance

MOST_HOSTS = 200
"""Hosts up to which every VM that may move is tried on every host."""


def held_vms(problem: Problem, today: Mapping[str, Placement]) -> frozenset[str]:
    """Return the demands of VMs that may move and are held where they are; none where moves are searched.

    They are held only where all existing VMs have what they ask for: one that has not, or must leave its
    host, may need room that another makes.

    Args:
        problem: the problem.
        today: placements of today of existing VMs that meet their demand.
    """
    existing = [demand for demand in problem.request.demands if demand.vm is not None]
    if len(problem.topologies) <= MOST_HOSTS or any(demand.id not in today for demand in existing):
        return frozenset()
    return frozenset(demand.id for demand in existing if demand.may_move)


def with_moves(instance: Instance, answer: Answer) -> Answer:
    """Return an answer with bounds that hold though the VMs held may move.

    Of what is placed that is all that is asked for; no move is the least.
    """
    asked: Counter[str] = Counter()
    for cls in instance.classes:
        asked[f"placed:{cls.demand.priority}"] += cls.count * cls.demand.weight_milli
    bounds: dict[str, int | None] = {}
    for name, value in answer.values.items():
        known = asked[name] if name.startswith("placed:") else 0 if name in CHANGE_LEVELS else None
        bounds[name] = known
        if known is not None and known < value:
            raise InternalError("a bound is below what is reached", obj=name, why=f"{known}")
    proved = all(bounds[name] == value for name, value in answer.values.items())
    return replace(answer, bounds=bounds, stopped=not proved)
