"""The kinds of VM a request asks for, each as one more VM that could come beside what runs."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace

from vplacer.request.demand import Demand, ResolvedRequest, Rules
from vplacer.solver.capacity.model import AskedKind

ONE_MORE = "new:one more"
"""Id of the demand of one more VM; no VM and no demand of a request is called so."""


def asked_kinds(request: ResolvedRequest) -> tuple[AskedKind, ...]:
    """Return the kinds of the VMs a request asks for, in its order, then the shapes of its ``future``."""
    return (
        *_kinds_of(request),
        *(
            AskedKind((shape.demand.id,), (shape.name,), _one_more(shape.demand), future=True)
            for shape in request.future
        ),
    )


def _kinds_of(request: ResolvedRequest) -> tuple[AskedKind, ...]:
    """Group demands into kinds.

    Priority, weight and whether a VM may move tell none apart: they take no room. One that the request
    leaves powered off is counted as running. Rules that keep VMs apart, and rules between VMs and hosts,
    hold for one more as for the members; gangs and "together" tie the VMs they name and no other.
    """
    rules = request.rules
    groups: dict[tuple[Demand, tuple[str, ...], tuple[str, ...]], list[Demand]] = defaultdict(list)
    for demand in request.demands:
        apart = tuple(rule.name for rule in rules.apart if rule.required and demand.id in rule.vms)
        on_hosts = tuple(rule.name for rule in rules.on_hosts if rule.required and demand.id in rule.vms)
        groups[_one_more(demand), apart, on_hosts].append(demand)
    found = []
    for (one, apart, on_hosts), members in groups.items():
        ids = {member.id for member in members}
        found.append(
            AskedKind(
                members=tuple(member.id for member in members),
                names=tuple(member.name for member in members),
                demand=one,
                apart=apart,
                on_hosts=on_hosts,
                not_counted=_not_counted(rules, ids),
            )
        )
    return tuple(found)


def rules_of(request: ResolvedRequest, kind: AskedKind, ids: tuple[str, ...]) -> Rules:
    """Return the rules that hold for more VMs of a kind, which have these ids."""
    rules = request.rules
    return Rules(
        apart=tuple(replace(rule, vms=(*rule.vms, *ids)) for rule in rules.apart if rule.name in kind.apart),
        on_hosts=tuple(
            replace(rule, vms=(*rule.vms, *ids)) for rule in rules.on_hosts if rule.name in kind.on_hosts
        ),
    )


def _one_more(demand: Demand) -> Demand:
    return replace(
        demand,
        id=ONE_MORE,
        name="one more",
        vm=None,
        priority=0,
        weight_milli=1,
        may_move=False,
        power_on=True,
        source=None,
        mode_stated=True,
    )


def _not_counted(rules: Rules, ids: set[str]) -> tuple[str, ...]:
    gangs = [f"gang '{gang.name}'" for gang in rules.gangs if ids.intersection(gang.vms)]
    together = [
        f"rule '{rule.name}'" for rule in rules.together if rule.required and ids.intersection(rule.vms)
    ]
    return (*gangs, *together)
