"""Ways out for all VMs without a place at once, from the conflicts that were found for each kind."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from vplacer.constraints.registry import Relaxation
from vplacer.constraints.state import Problem
from vplacer.solver.classes import DemandClass
from vplacer.solver.conflicts.conflict import Conflict
from vplacer.solver.conflicts.hosts import one_of_each_kind
from vplacer.solver.conflicts.oracle import Oracle
from vplacer.solver.instance import Instance
from vplacer.solver.relaxing.model import WayOut
from vplacer.solver.relaxing.search import Missing, RelaxationSearch
from vplacer.solver.relaxing.toggles import MOST_TOGGLES, Toggle, toggles_of, wish_toggles
from vplacer.solver.relaxing.variants import Variants, as_variant, variants_of


def ways_for_all(
    oracle: Oracle,
    instance: Instance,
    unplaced: Collection[str],
    conflicts: Mapping[int, tuple[Conflict, ...]],
    beside: Mapping[int, tuple[Relaxation, ...]],
) -> tuple[WayOut, ...]:
    """Return the cheapest combinations of changes with which all that is not left out finds a place.

    Args:
        oracle: answers for the whole site, and the work that may still be done.
        instance: the instance of the answer.
        unplaced: demands that have no place in it.
        conflicts: what keeps them without one, by class.
        beside: ways out for a class by itself, beside the answer.
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
        variants = _variants(oracle, problem, cls, found, beside[index])
        complete = complete and variants.complete
        if _is_one(problem, cls):
            wishes += wish_toggles(members, variants.found)
            missing.append(Missing(members, ()))
        else:
            missing.append(Missing(members, variants.found))
    every = [conflict for found in conflicts.values() for conflict in found]
    toggles = sorted([*toggles_of(problem, every), *wishes], key=lambda item: (item.cost, item.text))
    complete = complete and len(toggles) <= MOST_TOGGLES and all(conflicts.values())
    complete = complete and not _others_may_narrow(instance, missing)
    chosen = tuple(toggles[:MOST_TOGGLES])
    search = RelaxationSearch(problem, tuple(missing), chosen, complete, oracle.budget, oracle.seed)
    return search.find()


def _others_may_narrow(instance: Instance, missing: Sequence[Missing]) -> bool:
    """Whether a VM might be steered by what others take, and so fit beside them and not by itself.

    Ways to ask for less are looked for of a VM by itself (see `narrowed`).
    """
    modes = {cls.demand.mode for cls in instance.classes if cls.demand.has_devices}
    held = any(task.state.actives for task in instance.tasks)
    rebound = any(
        field == "affinity" for item in missing for variant in item.variants for field, _ in variant.steps
    )
    several = sum(len(item.members) for item in missing) > 1
    return len(modes) > 1 or held or (rebound and several)


def _is_one(problem: Problem, cls: DemandClass) -> bool:
    """Whether a class is asked for in one way: a VM that exists, or VMs that are tied to each other."""
    tied = {vm for rule in problem.request.rules.together for vm in rule.vms}
    return cls.vm is not None or cls.gang is not None or bool(tied.intersection(cls.members))


def _variants(
    oracle: Oracle,
    problem: Problem,
    cls: DemandClass,
    conflicts: tuple[Conflict, ...],
    beside: Sequence[Relaxation],
) -> Variants:
    """Return how a class could be asked for: as beside the answer, and what its conflicts bring up."""
    demand = problem.demand_by_id[cls.members[0]]
    tried = [variant for way in beside if (variant := as_variant(problem, demand, way)) is not None]
    if not conflicts:
        return Variants(tuple(tried), complete=False)
    hosts, left_out = one_of_each_kind(problem, demand)
    found = variants_of(replace(oracle, hosts=hosts), demand, conflicts, tried)
    return replace(found, complete=found.complete and not left_out)
