"""Headroom: what VMs take in sum fits in what is left of a cluster without its largest hosts.

GPUs are counted in thousandths, a vGPU as its share of a card rounded up: never less than the check
counts.
"""

from __future__ import annotations

from collections.abc import Callable

from vplacer.constraints.checks import headroom
from vplacer.constraints.holdings import PASSTHROUGH, VGPU, devices_of_host, vm_holdings
from vplacer.constraints.host_families import family_of
from vplacer.constraints.loads import vm_consumer
from vplacer.constraints.state import Problem
from vplacer.constraints.supply import consumer_of_demand, demand_amount
from vplacer.inventory.host import Host
from vplacer.solver.classes import DemandClass
from vplacer.solver.rows import Key, Row, RowSet
from vplacer.solver.rows.openings import Openings, coefficients
from vplacer.topology.vgpu_room import profile_shape

_CARD = 1000


def build(problem: Problem, classes: tuple[DemandClass, ...], openings: Openings) -> RowSet:
    """One row a cluster and resource; none where no headroom is asked for."""
    lost = problem.request.options.headroom_hosts
    if lost <= 0:
        return RowSet(())
    rows: list[Row] = []
    for cluster in problem.inventory.clusters:
        members = [host for host in problem.inventory.hosts if host.cluster == cluster.moid]
        usable = [host for host in members if headroom.counts(host)]
        for name, before, rooms in headroom.resources_today(problem, members, usable):
            room = sum(sorted(rooms, reverse=True)[lost:])
            scale, takes, gives = _measure(problem, name)
            at = _at(problem, classes, openings, members, takes, gives)
            if at:
                left = max(0, room - before) * scale
                rows.append(Row(f"headroom:{name} of {cluster.name}#{cluster.moid}", None, left, at=at))
    return RowSet(tuple(rows))


def _at(
    problem: Problem,
    classes: tuple[DemandClass, ...],
    openings: Openings,
    members: list[Host],
    takes: _Takes,
    gives: _Gives,
) -> dict[tuple[str, Key], int]:
    """What one VM of each class adds to a resource of a cluster on each host."""
    inside = {host.moid for host in members}
    giving = {cls.index: gives(cls) for cls in classes if cls.vm is not None and cls.home in inside}
    known: dict[tuple[int, int], int] = {}

    def taken(cls: DemandClass, moid: str) -> int:
        # Hosts of one hardware and cluster have one answer.
        key = (cls.index, family_of(problem, moid))
        if key not in known:
            known[key] = takes(cls, problem.inventory.host_by_moid[moid])
        return known[key]

    here = [moid for moid in openings.hosts if moid in inside]
    elsewhere = [moid for moid in openings.hosts if moid not in inside]
    leaving = [cls for cls in classes if cls.index in giving]
    at = coefficients(openings, here, classes, lambda c, moid: taken(c, moid) - giving.get(c.index, 0))
    return at | coefficients(openings, elsewhere, leaving, lambda c, _: -giving[c.index])


_Takes = Callable[[DemandClass, Host], int]
_Gives = Callable[[DemandClass], int]


def _measure(problem: Problem, name: str) -> tuple[int, _Takes, _Gives]:
    """Scale of a resource, what a class takes of it on a host, and what its VM gives back."""
    if name == headroom.CORES:
        return 1, lambda c, h: _amount(problem, c, h)[0], lambda c: _today(problem, c)[0]
    if name == headroom.MEMORY:
        return 1, lambda c, h: _amount(problem, c, h)[1], lambda c: _today(problem, c)[1]
    model = name.removesuffix(headroom.GPUS)
    return _CARD, lambda c, h: _cards(problem, c, h, model), lambda c: _held(problem, c, model)


def _amount(problem: Problem, cls: DemandClass, host: Host) -> tuple[int, int]:
    options = problem.request.options
    if consumer_of_demand(cls.demand, (), host, options) is None:
        return 0, 0
    whole = demand_amount(cls.demand, host, options)
    return whole.millicores, whole.memory_mib


def _today(problem: Problem, cls: DemandClass) -> tuple[int, int]:
    consumer = vm_consumer(problem, cls.vm.moid) if cls.vm is not None else None
    return (consumer.whole.millicores, consumer.whole.memory_mib) if consumer is not None else (0, 0)


def _cards(problem: Problem, cls: DemandClass, host: Host, model: str) -> int:
    """Cards of a model that a class may take on a host: all of an ask that names no other model."""
    offered = {d.model or "unknown" for d in devices_of_host(problem, host.moid) if d.kind == "gpu"}
    if model not in offered:
        return 0
    taken = 0
    for ask in cls.demand.gpus:
        if ask.model is not None and ask.model != model:
            continue
        if ask.profile is not None:
            shape = profile_shape(host, ask.profile)
            each = -(-_CARD // shape.per_card_max) if shape is not None and shape.per_card_max else _CARD
            taken += ask.count * each
        elif ask.group is not None:
            kind = next((g for g in host.device_groups if g.name == ask.group), None)
            size = sum(1 for part in kind.components if part.kind != "sriovNic") if kind is not None else 0
            taken += ask.count * size * _CARD
        else:
            taken += ask.count * _CARD
    return taken


def _held(problem: Problem, cls: DemandClass, model: str) -> int:
    """Whole cards of a model that a VM surely gives back; shares of cards are not counted."""
    if cls.vm is None or cls.home is None:
        return 0
    models = {d.address: d.model or "unknown" for d in devices_of_host(problem, cls.home) if d.kind == "gpu"}
    return sum(
        _CARD
        for holding in vm_holdings(problem, cls.vm.moid)
        if holding.kind in (PASSTHROUGH, VGPU)
        and holding.profile is None
        and any(models.get(a) == model for a in (holding.address, *holding.candidates[:1]) if a is not None)
    )
