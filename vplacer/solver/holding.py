"""Running VMs that may move held where they are, where hosts are too many to try every move on each."""

from __future__ import annotations

from collections.abc import Mapping

from vplacer.constraints.state import Placement, Problem

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
