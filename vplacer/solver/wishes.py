"""Rules that are preferences: what keeping them on a host is worth at level "locality"."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from vplacer.constraints.state import Problem, State
from vplacer.constraints.whereabouts import host_of
from vplacer.solver.classes import DemandClass

POINTS = 2
"""Points a VM for a rule that is kept with it, as many as for a device on the node of the vCPUs."""


@dataclass(frozen=True, slots=True)
class HostWish:
    """A rule between VMs, on one host, beside its members that the plan cannot touch.

    Of the ``classes`` here at most ``most`` count (apart; None = all), and ``less`` of them do not
    (together: the first one is with nobody yet).
    """

    name: str
    classes: tuple[int, ...]
    most: int | None
    less: int

    def points(self, here: int) -> int:
        """Return what so many VMs on the host are worth."""
        counted = here if self.most is None else min(here, self.most)
        return POINTS * max(0, counted - self.less)


def host_wishes(
    problem: Problem, classes: tuple[DemandClass, ...], standing: frozenset[str]
) -> tuple[HostWish, ...]:
    """Return the preferred rules between VMs as a host sees them; ``standing``: moids of VMs that stay."""
    found = []
    rules = problem.request.rules
    for apart in rules.apart:
        members = _classes_of(classes, apart.vms)
        if not apart.required and members:
            most = max(0, apart.at_most - len(standing.intersection(apart.vms)))
            found.append(HostWish(f"apart {apart.name}", members, most, 0))
    for together in rules.together:
        members = _classes_of(classes, together.vms)
        if not together.required and members:
            less = 0 if standing.intersection(together.vms) else 1
            found.append(HostWish(f"together {together.name}", members, None, less))
    return tuple(found)


def _classes_of(classes: tuple[DemandClass, ...], vms: tuple[str, ...]) -> tuple[int, ...]:
    wanted = set(vms)
    return tuple(cls.index for cls in classes if wanted.intersection(cls.members))


def wished_host_points(problem: Problem, demand: str, host: str) -> int:
    """Return what a host is worth to a demand by the preferred rules between VMs and hosts."""
    return POINTS * sum(
        1
        for rule in problem.request.rules.on_hosts
        if not rule.required and demand in rule.vms and (host in rule.hosts) != rule.apart
    )


def measured(state: State) -> int:
    """Return the points of the preferred rules between VMs in a state, all members counted."""
    rules = state.problem.request.rules
    points = 0
    for apart in rules.apart:
        if not apart.required:
            points += sum(min(here, apart.at_most) for here in _members(state, apart.vms))
    for together in rules.together:
        if not together.required:
            points += sum(here - 1 for here in _members(state, together.vms))
    return POINTS * points


def _members(state: State, vms: tuple[str, ...]) -> list[int]:
    """How many of some VMs are on each host that has any."""
    hosts = [host for vm in vms if (host := host_of(state, vm)) in state.problem.topologies]
    return list(Counter(hosts).values())


def any_wish(problem: Problem) -> bool:
    """Whether any rule is a preference."""
    rules = problem.request.rules
    required = [rule.required for rule in rules.apart]
    required += [rule.required for rule in rules.together]
    required += [rule.required for rule in rules.on_hosts]
    return not all(required)
