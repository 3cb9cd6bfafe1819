"""Why a demand has no place, host by host: every host gets exactly one reason, the first that rejects it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from vplacer.constraints.registry import Relaxation
from vplacer.constraints.state import Placement
from vplacer.solver.beside import Beside
from vplacer.solver.classes import DemandClass
from vplacer.solver.conflicts.conflict import Conflict
from vplacer.solver.conflicts.find import conflicts_of
from vplacer.solver.conflicts.minimal import Budget
from vplacer.solver.conflicts.oracle import Oracle
from vplacer.solver.instance import Instance, Rejection
from vplacer.solver.relaxing.for_all import ways_for_all
from vplacer.solver.relaxing.model import WayOut
from vplacer.solver.verdict import DemandReasons, HostReason
from vplacer.solver.ways_out import ways_out

WORK = 12_000
"""Hosts times kinds of VM that the solver looks at, over all its answers, to find conflicts."""

LEAST_WORK = 1_000
"""Of that, for one kind of VM."""

WORK_FOR_ALL = 8_000
"""Likewise, to find what lets all in."""

_OTHERS = Rejection("others", "it fits here by itself, and not together with what is planned")
"""Where nothing that is looked at stands in the way: a search that was stopped may have left it out."""


_CUT_OFF = Rejection("others", "not looked into, since the search was to end")


def explain(
    instance: Instance,
    placements: tuple[Placement, ...],
    unplaced: tuple[str, ...],
    seed: int = 1,
    should_stop: Callable[[], bool] = lambda: False,
) -> tuple[tuple[DemandReasons, ...], tuple[WayOut, ...]]:
    """Return the reasons of every unplaced demand, and ways out for all of them.

    Demands of one class share the work. ``should_stop``: asked before each class; those that are left are
    told what the filters say, and no way out.
    """
    beside = Beside(instance, placements)
    missing_of = {
        cls.index: members
        for cls in instance.classes
        if (members := [member for member in cls.members if member in unplaced])
    }
    oracle = Oracle(instance.problem, Budget(0), seed)
    left = WORK
    found: dict[str, DemandReasons] = {}
    conflicts: dict[int, tuple[Conflict, ...]] = {}
    ways_of: dict[int, tuple[Relaxation, ...]] = {}
    for index, members in missing_of.items():
        cls = instance.classes[index]
        # One that has no place speaks for the others: rules and limits count those that have one.
        missing = replace(cls, demand=instance.problem.demand_by_id[members[0]])
        if should_stop():
            rejections = _rejections(instance, missing, None)
            found |= {m: DemandReasons(m, len(rejections), _by_constraint(rejections), ()) for m in members}
            continue
        rejections = _rejections(instance, missing, beside)
        ways = ways_of[index] = ways_out(beside, missing, members, rejections)
        # What one class leaves of its work, the next ones may use; of too many the first have enough.
        share = min(left, max(WORK // len(missing_of), LEAST_WORK))
        left -= share
        oracle.budget.left += share
        conflicts[index] = (
            conflicts_of(oracle, cls, members, placements, instance.classes) if oracle.budget.left else ()
        )
        for member in members:
            found[member] = DemandReasons(
                member, len(rejections), _by_constraint(rejections), ways, conflicts[index]
            )
    oracle.budget.left += WORK_FOR_ALL
    wanted = bool(conflicts) and not should_stop()
    for_all = ways_for_all(oracle, instance, unplaced, conflicts, ways_of) if wanted else ()
    return tuple(found[member] for member in sorted(found)), for_all


def _rejections(instance: Instance, cls: DemandClass, beside: Beside | None) -> dict[str, Rejection]:
    """The reason of every host of the inventory that has a topology; None: only what is known already."""
    return {
        host.moid: _of_the_request(cls, host.moid, instance.rejections.get((cls.index, host.moid)))
        or (_CUT_OFF if beside is None else beside.why_not(cls, cls.demand, host.moid) or _OTHERS)
        for host in instance.problem.inventory.hosts
        if host.moid in instance.problem.topologies
    }


def _of_the_request(cls: DemandClass, moid: str, found: Rejection | None) -> Rejection | None:
    """Tell hosts that the request leaves out from those of another cluster."""
    demand = cls.demand
    if found is None or found.constraint != "cluster" or not demand.hosts or moid in demand.hosts:
        return found
    return Rejection("hosts", found.evidence) if "the request names" in found.evidence else found


def _by_constraint(rejections: dict[str, Rejection]) -> tuple[HostReason, ...]:
    groups: dict[str, list[tuple[str, str]]] = {}
    for moid, rejection in rejections.items():
        groups.setdefault(rejection.constraint, []).append((moid, rejection.evidence))
    ordered = sorted(groups.items(), key=lambda item: (-len(item[1]), item[0]))
    return tuple(HostReason(constraint, tuple(hosts)) for constraint, hosts in ordered)
