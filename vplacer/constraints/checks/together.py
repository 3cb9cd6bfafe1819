"""VMs that must be together are on one host."""

from __future__ import annotations

from collections.abc import Iterable

from vplacer.constraints.costs import SOFTER_RULE
from vplacer.constraints.registry import Check, Relaxation
from vplacer.constraints.state import Problem, State, Violation
from vplacer.constraints.whereabouts import host_of, name_of, placed_anew
from vplacer.request.demand import Demand

ID = "together"


def check(state: State) -> Iterable[Violation]:
    """Name required rules whose members, standing VMs too, are on several hosts."""
    for rule in state.problem.request.rules.together:
        if not rule.required:
            continue
        where = {vm: host for vm in rule.vms if (host := host_of(state, vm)) is not None}
        placed = [vm for vm in where if placed_anew(state, vm)]
        if len(set(where.values())) > 1 and placed:
            names = ", ".join(name_of(state, vm) for vm in where)
            text = f"rule '{rule.name}': on {len(set(where.values()))} hosts ({names})"
            yield Violation(ID, placed[0], text, host=where[placed[0]])


def relax(problem: Problem, demand: Demand) -> tuple[Relaxation, ...]:
    """The rules as preferences would do."""
    return tuple(
        Relaxation(
            f"make rule '{rule.name}' a preference",
            SOFTER_RULE,
            demand.id,
            f"rules[{rule.name}].policy",
            "preferred",
        )
        for rule in problem.request.rules.together
        if rule.required and demand.id in rule.vms
    )


CHECK = Check(ID, "VMs together", "across", check, relax=relax)
