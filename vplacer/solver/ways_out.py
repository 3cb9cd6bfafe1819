"""The cheapest ways out for a demand without a place: changes that were tried beside the answer and help."""

from __future__ import annotations

from itertools import islice

from vplacer.constraints import costs
from vplacer.constraints.registry import Relaxation, checks, filters
from vplacer.solver.beside import Beside
from vplacer.solver.classes import DemandClass
from vplacer.solver.instance import Rejection
from vplacer.solver.relax import changes_of, room_made, scaled, smaller, with_field

MAX_RELAXATIONS = 4

_OF_ADMINISTRATORS = ("rules[",)
"""Fields of a relaxation that are no wish of the demand: taken away by leaving out the filter."""


def ways_out(beside: Beside, cls: DemandClass, rejections: dict[str, Rejection]) -> tuple[Relaxation, ...]:
    """Return the cheapest changes that help, one a field.

    Args:
        beside: the answer.
        cls: the class without a place.
        rejections: why each host rejects it.
    """
    found = _wishes(beside, cls, list(rejections))
    found += _sizes(beside, cls, list(rejections), wish_found=bool(found))
    for moid, rejection in rejections.items():
        found += _at_host(beside, cls, moid)
        found += _rules(beside, cls, moid, rejection)
        found += _sums(beside, cls, moid, rejection)
        found += room_made(beside, cls, moid)
    cheapest: dict[str, Relaxation] = {}
    for way in sorted(found, key=lambda r: (r.cost, r.text)):
        cheapest.setdefault(way.field if way.field not in (None, "move") else way.text, way)
    return tuple(list(cheapest.values())[:MAX_RELAXATIONS])


def _wishes(beside: Beside, cls: DemandClass, hosts: list[str]) -> list[Relaxation]:
    """Give up one wish; of each, as little as helps."""
    found: dict[str | None, Relaxation] = {}
    for change in changes_of(cls.demand):
        field = change.relaxation.field
        if field not in found and beside.fits(cls, change.demand, hosts):
            found[field] = change.relaxation
    return list(found.values())


def _sizes(beside: Beside, cls: DemandClass, hosts: list[str], wish_found: bool) -> list[Relaxation]:
    """A smaller VM; cards, vCPUs and memory together where no single change helps."""
    found = [c.relaxation for c in smaller(cls.demand, lambda demand: beside.fits(cls, demand, hosts))]
    if not found and not wish_found:
        whole = (c.relaxation for c in scaled(cls.demand) if beside.fits(cls, c.demand, hosts))
        found += islice(whole, 1)
    return found


def _at_host(beside: Beside, cls: DemandClass, moid: str) -> list[Relaxation]:
    """What lifts the one filter that rejects a host: a change of the host, or of a wish."""
    problem = beside.problem
    host = problem.inventory.host_by_moid[moid]
    if cls.vm is not None and not cls.demand.may_move and moid != cls.home:
        return []
    against = [item for item in filters() if item.rejects(problem, cls.demand, host) is not None]
    if len(against) != 1:
        return []
    way = against[0].relax(problem, cls.demand, host)
    if way is None:
        return []
    if against[0].id == "gpu-model" and way.field is None:
        state = beside.rebooted(moid)
        helps = state is not None and beside.why_not(cls, cls.demand, moid, state=state) is None
        return [way] if helps else []
    demand = cls.demand
    if way.field is not None and not way.field.startswith(_OF_ADMINISTRATORS):
        changed = with_field(problem, demand, way.field, way.value or "")
        if changed is None or beside.filtered(changed, moid) is not None:
            return []
        demand = changed
    return [way] if beside.why_not(cls, demand, moid) is None else []


def _rules(beside: Beside, cls: DemandClass, moid: str, rejection: Rejection) -> list[Relaxation]:
    """The rule between VMs that alone keeps it off a host."""
    found = []
    for item in checks():
        if item.id == rejection.constraint and item.id in ("apart", "together") and item.relax is not None:
            for way in item.relax(beside.problem, cls.demand):
                rule = (way.field or "").removeprefix("rules[").removesuffix("].policy")
                if beside.why_not(cls, cls.demand, moid, without_rule=rule) is None:
                    found.append(way)
    return found


def _sums(beside: Beside, cls: DemandClass, moid: str, rejection: Rejection) -> list[Relaxation]:
    """The one sum over hosts that is exceeded."""
    if rejection.constraint not in ("pool-memory", "headroom"):
        return []
    exceeded = beside.sums_exceeded(cls, moid)
    if len(exceeded) != 1:
        return []
    if rejection.constraint == "headroom":
        return [Relaxation("ask for less headroom", costs.SOFTER_RULE, None, "headroom.hosts", "0")]
    numbers = dict(exceeded[0].numbers)
    gib = -(-(numbers["needed_mib"] - numbers["unreserved_mib"]) // 1024)
    pool = exceeded[0].evidence.partition(":")[0]
    return [Relaxation(f"let {pool} reserve {gib} GiB more", costs.HOST_CHANGE + 2)]
