"""All that could be given up so that a VM finds a place: wishes, rules, and what is so at the site."""

from __future__ import annotations

from collections.abc import Iterable

from vplacer.constraints.checks.change_limits import limits_of
from vplacer.constraints.state import Problem
from vplacer.inventory.vm import Vm
from vplacer.request.demand import Demand
from vplacer.solver.classes import DemandClass
from vplacer.solver.conflicts.conflict import ConflictPart
from vplacer.solver.conflicts.site import is_open, why_closed
from vplacer.solver.conflicts.wishes import Wish, wishes_of

MAX_CLOSED = 12
"""So many hosts that take no VMs are told apart; more are one thing."""


def parts_of(
    problem: Problem, cls: DemandClass, members: Iterable[str], hosts: Iterable[str]
) -> tuple[ConflictPart, ...]:
    """Return all that could be given up for a class, what is told first where there is a choice first."""
    demand, ids = problem.demand_by_id[cls.members[0]], frozenset(members)
    parts = [
        ConflictPart("wish", _said(demand, wish), wish.field, wish.value)
        for wish in wishes_of(problem, demand)
    ]
    parts += _rule_parts(problem, ids)
    if problem.request.options.headroom_hosts:
        number = str(problem.request.options.headroom_hosts)
        parts.append(ConflictPart("rule", f"headroom of {number} hosts", "headroom.hosts", number))
    parts += _limit_parts(problem)
    inventory = problem.inventory
    parts += [
        ConflictPart("admission", f"HA admission control of cluster {cluster.name}", objects=(cluster.moid,))
        for cluster in inventory.clusters
        if cluster.ha_enabled and cluster.admission is not None
    ]
    looked_at = set(hosts)
    closed = [host for host in inventory.hosts if host.moid in looked_at and not is_open(host)]
    if len(closed) > MAX_CLOSED:
        moids = tuple(host.moid for host in closed)
        parts.append(ConflictPart("host", f"{len(closed)} hosts take no VMs now", objects=moids))
    else:
        parts += [
            ConflictPart("host", f"{host.name} {why_closed(host)}", objects=(host.moid,)) for host in closed
        ]
    parts.append(ConflictPart("running", "the VMs that run there today"))
    return tuple(parts)


def _said(demand: Demand, wish: Wish) -> str:
    """Say a wish; of vGPUs and device groups also which."""
    for index, ask in enumerate(demand.gpus):
        which = ask.profile or ask.group
        if wish.field == f"gpus[{index}].count" and which is not None:
            return f"{wish.field} {wish.value} ({which})"
    return f"{wish.field} {wish.value}"


def _limit_parts(problem: Problem) -> list[ConflictPart]:
    """Limits of the whole plan, and hosts to be emptied."""
    options = problem.request.options
    parts = [
        ConflictPart("rule", f"limits.{name} {most}", f"limits.{name}", str(most))
        for name, most in limits_of(options).items()
    ]
    if options.evacuate:
        names = ", ".join(problem.inventory.host_by_moid[moid].name for moid in options.evacuate)
        parts.append(ConflictPart("rule", f"{names} to be emptied", "evacuate", names))
    return parts


def _rule_parts(problem: Problem, ids: frozenset[str]) -> list[ConflictPart]:
    rules = problem.request.rules
    names = [rule.name for rule in rules.apart if rule.required and ids.intersection(rule.vms)]
    names += [rule.name for rule in rules.together if rule.required and ids.intersection(rule.vms)]
    names += [rule.name for rule in rules.on_hosts if rule.required and ids.intersection(rule.vms)]
    names += [gang.name for gang in rules.gangs if ids.intersection(gang.vms)]
    return [
        ConflictPart("rule", f"rule '{name}'", f"rules[{name}].policy", name) for name in dict.fromkeys(names)
    ]


def vm_part(problem: Problem, vm: Vm) -> ConflictPart:
    """Return a VM that runs today as something to give up."""
    host = problem.inventory.host_by_moid.get(vm.host or "")
    where = f" on {host.name}" if host is not None else ""
    return ConflictPart("vm", f"{vm.name}{where}", objects=(vm.moid,))


def demands_part(cls: DemandClass, count: int) -> ConflictPart:
    """Return other VMs of the request as something to give up: so many of a class."""
    priority = f" (priority {cls.demand.priority})" if cls.demand.priority else ""
    which = cls.demand.name if cls.count == 1 else f"{count} of the {cls.count} VMs like {cls.demand.name}"
    return ConflictPart("demands", f"{which}{priority}", objects=cls.members, count=count)
