"""Rules between VMs and hosts that must hold."""

from __future__ import annotations

from collections.abc import Sequence

from vplacer.constraints.costs import SOFTER_RULE
from vplacer.constraints.registry import Filter, Relaxation
from vplacer.constraints.state import Problem
from vplacer.inventory.host import Host
from vplacer.request.demand import Demand, OnHosts


def broken_rule(problem: Problem, vm: str, host: str) -> OnHosts | None:
    """Return the first required rule that keeps a VM off a host, or None."""
    for rule, hosts in rules_of_vm(problem, vm):
        if (host in hosts) == rule.apart:
            return rule
    return None


def rules_of_vm(problem: Problem, vm: str) -> Sequence[tuple[OnHosts, frozenset[str]]]:
    """Return the required rules between a VM and hosts, each with its hosts."""
    return problem.derive(_rules_by_vm).get(vm, ())


def _rules_by_vm(problem: Problem) -> dict[str, list[tuple[OnHosts, frozenset[str]]]]:
    found: dict[str, list[tuple[OnHosts, frozenset[str]]]] = {}
    for rule in problem.request.rules.on_hosts:
        if rule.required:
            hosts = frozenset(rule.hosts)
            for vm in rule.vms:
                found.setdefault(vm, []).append((rule, hosts))
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
