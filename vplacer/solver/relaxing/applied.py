"""A way out applied: the problem with its changes made, and whether that is solved and judged."""

from __future__ import annotations

from collections.abc import Sequence, Set
from dataclasses import replace

from vplacer.constraints.judge import placements_today
from vplacer.constraints.state import Problem
from vplacer.request.demand import Demand, Rules
from vplacer.solver.relax import with_field
from vplacer.solver.relaxing.model import GivenUp, WayOut
from vplacer.solver.relaxing.toggles import Toggle, with_toggles
from vplacer.solver.verdict import SolveOptions


def applied(problem: Problem, way: WayOut, movers: Sequence[Demand | None] = ()) -> Problem:
    """Return the problem with the changes of a way out made.

    Args:
        problem: the problem.
        way: the way out.
        movers: VMs to be moved, as demands.
    """
    toggles = [Toggle((change,)) for change in way.changes if change.kind in ("rule", "host")]
    moved = tuple(mover for mover in movers if mover is not None)
    changed = with_toggles(problem, toggles)
    gone = {demand for change in way.changes if change.kind == "leave_out" for demand in change.demands}
    demands = {demand.id: demand for demand in changed.request.demands if demand.id not in gone}
    for change in way.changes:
        if change.kind == "wish":
            # Of VMs that are changed together some may be left out.
            for demand in change.demands:
                if demand in demands:
                    demands[demand] = _changed(problem, demands[demand], change)
    rules = _without(changed.request.rules, gone) if gone else changed.request.rules
    return changed.with_request(replace(changed.request, demands=(*demands.values(), *moved), rules=rules))


def _without(rules: Rules, gone: Set[str]) -> Rules:
    """Return rules whose gangs are of those VMs only that are still asked for."""
    gangs = [replace(gang, vms=tuple(vm for vm in gang.vms if vm not in gone)) for gang in rules.gangs]
    return replace(rules, gangs=tuple(gang for gang in gangs if gang.vms))


def _changed(problem: Problem, demand: Demand, change: GivenUp) -> Demand:
    changed = with_field(problem, demand, change.field or "", change.value or "")
    return changed if changed is not None else demand


def is_solved(problem: Problem, way: WayOut, movers: Sequence[Demand | None], seed: int) -> bool:
    """Whether all finds a place, and the judge accepts it, with a way out applied."""
    from vplacer.solver.solve import searched

    if _splits_a_gang(problem, way):
        return False
    changed = applied(problem, way, movers)
    options = SolveOptions(seed=seed, levels=("placed",))
    found = searched(changed, options)
    return found is not None and len(found.placements) == len(changed.request.demands)


def _splits_a_gang(problem: Problem, way: WayOut) -> bool:
    """Whether a way out leaves out some of a gang: the others could not be placed without them.

    Members that have a place today keep it.
    """
    gone = {demand for change in way.changes if change.kind == "leave_out" for demand in change.demands}
    split = [gang for gang in problem.request.rules.gangs if gone.intersection(gang.vms)]
    staying = placements_today(problem).keys() if split else ()
    return any(not gone.union(staying).issuperset(gang.vms) for gang in split)
