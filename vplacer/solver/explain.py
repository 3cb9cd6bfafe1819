"""Why a demand has no place, host by host: every host gets exactly one reason, the first that rejects it."""

from __future__ import annotations

from dataclasses import replace

from vplacer.constraints.state import Placement
from vplacer.solver.beside import Beside
from vplacer.solver.classes import DemandClass
from vplacer.solver.instance import Instance, Rejection
from vplacer.solver.verdict import DemandReasons, HostReason
from vplacer.solver.ways_out import ways_out

_OTHERS = Rejection("others", "it fits here by itself, and not together with what is planned")
"""Where nothing that is looked at stands in the way: a search that was stopped may have left it out."""


def explain(
    instance: Instance, placements: tuple[Placement, ...], unplaced: tuple[str, ...]
) -> tuple[DemandReasons, ...]:
    """Return the reasons of every unplaced demand; demands of one class share the work."""
    beside = Beside(instance, placements)
    found: dict[str, DemandReasons] = {}
    for cls in instance.classes:
        members = [member for member in cls.members if member in unplaced]
        if not members:
            continue
        # One that has no place speaks for the others: rules and limits count those that have one.
        missing = replace(cls, demand=instance.problem.demand_by_id[members[0]])
        rejections = _rejections(instance, missing, beside)
        ways = ways_out(beside, missing, members, rejections)
        for member in members:
            found[member] = DemandReasons(member, len(rejections), _by_constraint(rejections), ways)
    return tuple(found[member] for member in sorted(found))


def _rejections(instance: Instance, cls: DemandClass, beside: Beside) -> dict[str, Rejection]:
    """The reason of every host of the inventory that has a topology."""
    return {
        host.moid: _of_the_request(cls, host.moid, instance.rejections.get((cls.index, host.moid)))
        or beside.why_not(cls, cls.demand, host.moid)
        or _OTHERS
        for host in instance.problem.inventory.hosts
        if host.moid in instance.problem.topologies
    }


def _of_the_request(cls: DemandClass, moid: str, found: Rejection | None) -> Rejection | None:
    """Tell hosts that the request leaves out from those of another cluster."""
    demand = cls.demand
    if found is None or found.constraint != "cluster" or not demand.hosts or moid in demand.hosts:
        return found
    return Rejection("hosts", found.evidence) if "the request names" in found.evidence else found


def _by_constraint(rejections: dict[str, Rejection]) -> tuple[HostReason, ...]:
    groups: dict[str, list[tuple[str, str]]] = {}
    for moid, rejection in rejections.items():
        groups.setdefault(rejection.constraint, []).append((moid, rejection.evidence))
    ordered = sorted(groups.items(), key=lambda item: (-len(item[1]), item[0]))
    return tuple(HostReason(constraint, tuple(hosts)) for constraint, hosts in ordered)
