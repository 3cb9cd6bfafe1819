"""Rules between VMs and hosts that must hold."""

from __future__ import annotations

from vplacer.constraints.costs import SOFTER_RULE
from vplacer.constraints.registry import Filter, Relaxation
from vplacer.constraints.state import Problem
from vplacer.inventory.host import Host
from vplacer.request.demand import Demand, OnHosts


def broken_rule(problem: Problem, vm: str, host: str) -> OnHosts | None:
    """Return the first required rule that keeps a VM off a host, or None."""
    for rule in problem.derive(_rules_by_vm).get(vm, ()):
        if (host in rule.hosts) == rule.apart:
            return rule
    return None


def _rules_by_vm(problem: Problem) -> dict[str, list[OnHosts]]:
    found: dict[str, list[OnHosts]] = {}
    for rule in problem.request.rules.on_hosts:
        if rule.required:
            for vm in rule.vms:
                found.setdefault(vm, []).append(rule)
    return found


def rejects(problem: Problem, demand: Demand, host: Host) -> str | None:
    """Reject hosts outside a required rule's list, or on its list to keep off."""
    rule = broken_rule(problem, demand.id, host.moid)
    if rule is None:
        return None
    verb = "keeps the VM off this host" if rule.apart else "allows other hosts only"
    return f"rule '{rule.name}' {verb}"


def relax(problem: Problem, demand: Demand, host: Host) -> Relaxation | None:
    """The rule made a preference would do."""
    rule = broken_rule(problem, demand.id, host.moid)
    if rule is None:
        return None
    text = f"make rule '{rule.name}' a preference"
    return Relaxation(text, SOFTER_RULE, demand.id, f"rules[{rule.name}].policy", "preferred")


FILTER = Filter("vm-host-rule", "VM-host rules", rejects, relax)
