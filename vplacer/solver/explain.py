"""Why a demand has no place, host by host: every host gets exactly one reason, the first that rejects it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from vplacer.constraints.registry import Relaxation
from vplacer.constraints.state import Placement
from vplacer.solver.beside import Beside
from vplacer.solver.conflicts.conflict import Conflict
from vplacer.solver.conflicts.find import conflicts_of
from vplacer.solver.conflicts.minimal import Budget
from vplacer.solver.conflicts.oracle import Oracle
from vplacer.solver.host_reasons import HostReasons
from vplacer.solver.instance import Instance
from vplacer.solver.relaxing.for_all import ways_for_all
from vplacer.solver.relaxing.model import WayOut
from vplacer.solver.verdict import DemandReasons
from vplacer.solver.ways_out import ways_out

WORK = 12_000
"""Hosts times kinds of VM that the solver looks at, over all its answers, to find conflicts."""

LEAST_WORK = 1_000
"""Of that, for one kind of VM."""

WORK_FOR_ALL = 8_000
"""Likewise, to find what lets all in."""

TRIALS = 12_000
"""Trials of a VM on a host, over all reasons and ways out; judging an answer counts as many."""

LEAST = 1_000
"""Trials that a class without a place is given while there are any left, however many classes there are."""


def explain(
    instance: Instance,
    placements: tuple[Placement, ...],
    unplaced: tuple[str, ...],
    seed: int = 1,
    should_stop: Callable[[], bool] = lambda: False,
) -> tuple[tuple[DemandReasons, ...], tuple[WayOut, ...]]:
    """Return the reasons of every unplaced demand, and ways out for all of them.

    Demands of one class share the work, which is bounded. Where it is not enough for all, it goes to the
    highest priorities first, and hosts that were not looked at are said to be so.
    ``should_stop``: asked before each class; of those that are left nothing but the filters is looked at.
    """
    beside = Beside(instance, placements)
    left_out = frozenset(unplaced)
    missing_of = {
        cls.index: members
        for cls in instance.classes
        if (members := [member for member in cls.members if member in left_out])
    }
    oracle = Oracle(instance.problem, Budget(0), seed)
    reasons = HostReasons(instance, beside)
    left, trials = WORK, TRIALS
    found: dict[str, DemandReasons] = {}
    conflicts: dict[int, tuple[Conflict, ...]] = {}
    ways_of: dict[int, tuple[Relaxation, ...]] = {}
    ranked = sorted(missing_of, key=lambda index: (-instance.classes[index].demand.priority, index))
    for number, index in enumerate(ranked):
        cls, members = instance.classes[index], missing_of[index]
        # One that has no place speaks for the others: rules and limits count those that have one.
        missing = replace(cls, demand=instance.problem.demand_by_id[members[0]])
        if should_stop():
            trials = 0
        allowed = min(trials, max(LEAST, trials // (len(ranked) - number)))
        # What is left of the first half for reasons goes to the ways out.
        beside.memo.work = allowed // 2
        rejections = reasons.of(missing)
        beside.memo.work += allowed - allowed // 2
        ways = ways_of[index] = ways_out(beside, missing, members, rejections) if allowed else ()
        trials -= allowed - beside.memo.work
        # What one class leaves of its work, the next ones may use; of too many the first have enough.
        share = min(left, max(WORK // len(missing_of), LEAST_WORK))
        left -= share
        oracle.budget.left += share
        conflicts[index] = (
            conflicts_of(oracle, cls, members, placements, instance.classes)
            if oracle.budget.left and allowed
            else ()
        )
        told = reasons.told(rejections)
        for member in members:
            found[member] = DemandReasons(member, len(rejections), told, ways, conflicts[index])
    conflicts, ways_of = dict(sorted(conflicts.items())), dict(sorted(ways_of.items()))
    oracle.budget.left += WORK_FOR_ALL
    wanted = bool(conflicts) and not should_stop()
    for_all = ways_for_all(oracle, instance, unplaced, conflicts, ways_of) if wanted else ()
    return tuple(found[member] for member in sorted(found)), for_all
