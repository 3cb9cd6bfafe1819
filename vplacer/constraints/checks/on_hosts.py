"""A VM that stays although it might move obeys the rules between VMs and hosts."""

from __future__ import annotations

from collections.abc import Iterable

from vplacer.constraints.filters.vm_host_rule import broken_rule
from vplacer.constraints.registry import Check
from vplacer.constraints.state import State, Violation
from vplacer.constraints.whereabouts import answers_for

ID = "on-hosts"


def check(state: State) -> Iterable[Violation]:
    """Look at VMs that stay; for those placed anew the filter of the same rules speaks."""
    for placement in state.placements:
        if not placement.stays or not answers_for(state, placement.demand):
            continue
        rule = broken_rule(state.problem, placement.demand, placement.host)
        if rule is not None:
            verb = "keeps the VM off this host" if rule.apart else "allows other hosts only"
            yield Violation(ID, placement.demand, f"rule '{rule.name}' {verb}", host=placement.host)


CHECK = Check(ID, "VM-host rules of VMs that stay", "across", check)
