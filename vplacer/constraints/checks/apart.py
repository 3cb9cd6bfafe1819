"""VMs that must be apart are: no more of them on a host than the rule allows."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from vplacer.constraints.costs import SOFTER_RULE
from vplacer.constraints.registry import Check, Relaxation
from vplacer.constraints.state import Problem, State, Violation
from vplacer.constraints.whereabouts import host_of, name_of, placed_anew
from vplacer.request.demand import Demand

ID = "apart"


def check(state: State) -> Iterable[Violation]:
    """Count the members of each required rule on each host, standing VMs too.

    Members that were together before and stay are not held against the state.
    """
    for rule in state.problem.request.rules.apart:
        if not rule.required:
            continue
        here: dict[str, list[str]] = defaultdict(list)
        for vm in rule.vms:
            host = host_of(state, vm)
            if host is not None:
                here[host].append(vm)
        for host, vms in here.items():
            placed = [vm for vm in vms if placed_anew(state, vm)]
            if len(vms) > rule.at_most and placed:
                names = ", ".join(name_of(state, vm) for vm in vms)
                text = f"rule '{rule.name}': {len(vms)} on one host, at most {rule.at_most} ({names})"
                yield Violation(ID, placed[0], text, host=host, numbers=(("vms", len(vms)),))


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
        for rule in problem.request.rules.apart
        if rule.required and demand.id in rule.vms
    )


CHECK = Check(ID, "VMs apart", "across", check, relax=relax)
