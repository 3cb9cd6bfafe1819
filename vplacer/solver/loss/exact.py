"""Whether all VMs have a place after a loss, decided exactly, by the solver's model of what is left."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from vplacer.constraints.state import Placement, Problem
from vplacer.errors import InternalError
from vplacer.solver.beside import Beside
from vplacer.solver.decode import decode
from vplacer.solver.eligible import Rejection
from vplacer.solver.instance import Instance, build_instance
from vplacer.solver.loss.aftermath import faults
from vplacer.solver.loss.model import Outcome
from vplacer.solver.verdict import HostReason

_BESIDE = Rejection("others", "it fits here by itself, and not together with what is placed")


@dataclass(frozen=True, slots=True)
class Decision:
    """What was decided: who has a place, who has none, and whether as few as possible have none."""

    outcome: Outcome
    placements: tuple[Placement, ...]
    homeless: tuple[str, ...]
    instance: Instance


def decide(problem: Problem, *, seed: int, should_stop: Callable[[], bool]) -> Decision:
    """Place as many VMs as possible.

    Args:
        problem: the site after the loss (`aftermath.aftermath`); its request asks for the VMs.
        seed: seed of the search.
        should_stop: asked now and then.
    """
    from vplacer.solver.columns import solve_columns
    from vplacer.solver.exact import size_of, solve_exact
    from vplacer.solver.solve import EXACT_SIZE, default_work

    instance = build_instance(problem, {}, ("placed",))
    solver = solve_exact if size_of(instance) <= EXACT_SIZE else solve_columns
    answer = solver(instance, seed=seed, work=default_work(instance), should_stop=should_stop)
    if answer is None:
        every = tuple(sorted(demand.id for demand in problem.request.demands))
        return Decision(Outcome.UNDECIDED, (), every, instance)
    placements = decode(instance.classes, zip(instance.tasks, answer.plans, strict=True))
    wrong = faults(problem, placements)
    if wrong:
        raise InternalError(
            "places found after a loss do not pass the judge",
            obj=wrong[0].object,
            why=f"{wrong[0].constraint}: {wrong[0].evidence}",
        )
    placed = {placement.demand for placement in placements}
    homeless = tuple(sorted(d.id for d in problem.request.demands if d.id not in placed))
    if not homeless:
        return Decision(Outcome.PLACED, placements, (), instance)
    most = sum(cls.demand.weight_milli * cls.count for cls in instance.classes)
    bounds = [answer.bounds.get(level.id) for level in instance.levels]
    known = instance.complete and all(bound is not None for bound in bounds)
    proved = known and sum(bound for bound in bounds if bound is not None) < most
    outcome = Outcome.NOT_PLACED if proved else Outcome.UNDECIDED
    return Decision(outcome, placements, homeless, instance)


def reasons(decision: Decision, vm: str) -> tuple[HostReason, ...]:
    """Return why a VM has no place: every host that is left by what rejects it, the most frequent first."""
    instance = decision.instance
    beside = Beside(instance, decision.placements)
    cls = next(cls for cls in instance.classes if vm in cls.members)
    missing = replace(cls, demand=instance.problem.demand_by_id[vm])
    groups: dict[str, list[tuple[str, str]]] = {}
    for host in instance.problem.inventory.hosts:
        if host.moid in instance.problem.topologies:
            why = (
                instance.rejections.get((cls.index, host.moid))
                or beside.why_not(missing, missing.demand, host.moid)
                or _BESIDE
            )
            groups.setdefault(why.constraint, []).append((host.moid, why.evidence))
    ordered = sorted(groups.items(), key=lambda item: (-len(item[1]), item[0]))
    return tuple(HostReason(constraint, tuple(hosts)) for constraint, hosts in ordered)
