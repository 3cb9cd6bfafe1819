"""Ways out for all VMs without a place at once, from the conflicts that were found for each kind."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace

from vplacer.constraints.state import Problem
from vplacer.solver.classes import DemandClass
from vplacer.solver.conflicts.conflict import Conflict
from vplacer.solver.conflicts.hosts import one_of_each_kind
from vplacer.solver.conflicts.oracle import Oracle
from vplacer.solver.instance import Instance
from vplacer.solver.relaxing.model import WayOut
from vplacer.solver.relaxing.search import Missing, RelaxationSearch
from vplacer.solver.relaxing.toggles import MOST_TOGGLES, Toggle, toggles_of, wish_toggles
from vplacer.solver.relaxing.variants import Variants, variants_of


def ways_for_all(
    oracle: Oracle,
    instance: Instance,
    unplaced: Collection[str],
    conflicts: Mapping[int, tuple[Conflict, ...]],
) -> tuple[WayOut, ...]:
    """Return the cheapest combinations of changes with which all that is not left out finds a place.

    Args:
        oracle: answers for the whole site, and the work that may still be done.
        instance: the instance of the answer.
        unplaced: demands that have no place in it.
        conflicts: what keeps them without one, by class.
    """
    problem = instance.problem
    missing = []
    wishes: list[Toggle] = []
    complete = True
    for index, found in conflicts.items():
        cls = instance.classes[index]
        members = tuple(
            problem.demand_by_id[member]
            for member in sorted(cls.members, key=lambda member: (member in unplaced, member))
        )
        variants = _variants(oracle, problem, cls, found)
        complete = complete and variants.complete
        if _is_one(problem, cls):
            wishes += wish_toggles(members, variants.found)
            missing.append(Missing(members, ()))
        else:
            missing.append(Missing(members, variants.found))
    every = [conflict for found in conflicts.values() for conflict in found]
    toggles = sorted([*toggles_of(problem, every), *wishes], key=lambda item: (item.cost, item.text))
    complete = complete and len(toggles) <= MOST_TOGGLES and all(conflicts.values())
    chosen = tuple(toggles[:MOST_TOGGLES])
    search = RelaxationSearch(problem, tuple(missing), chosen, complete, oracle.budget, oracle.seed)
    return search.find()


def _is_one(problem: Problem, cls: DemandClass) -> bool:
    """Whether a class is asked for in one way: a VM that exists, or VMs that are tied to each other."""
    tied = {vm for rule in problem.request.rules.together for vm in rule.vms}
    return cls.vm is not None or cls.gang is not None or bool(tied.intersection(cls.members))


def _variants(
    oracle: Oracle, problem: Problem, cls: DemandClass, conflicts: tuple[Conflict, ...]
) -> Variants:
    """Return how a class could be asked for, where it is known what stands in its way."""
    if not conflicts:
        return Variants((), complete=False)
    demand = problem.demand_by_id[cls.members[0]]
    hosts, left_out = one_of_each_kind(problem, demand)
    found = variants_of(replace(oracle, hosts=hosts), demand, conflicts)
    return replace(found, complete=found.complete and not left_out)
