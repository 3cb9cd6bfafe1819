"""Headroom: what VMs take in sum fits in what is left of a cluster without its largest hosts.

GPUs are counted in thousandths, a vGPU as its share of a card rounded up: never less than the check
counts.
"""

from __future__ import annotations

from collections.abc import Callable

from vplacer.constraints.checks import headroom
from vplacer.constraints.holdings import PASSTHROUGH, VGPU, devices_of_host, vm_holdings
from vplacer.constraints.loads import vm_consumer
from vplacer.constraints.state import Problem
from vplacer.constraints.supply import consumer_of_demand, demand_amount
from vplacer.inventory.host import Host
from vplacer.solver.classes import DemandClass
from vplacer.solver.rows import Key, Row, RowSet
from vplacer.topology.vgpu_room import profile_shape

_CARD = 1000


def build(problem: Problem, classes: tuple[DemandClass, ...], hosts: tuple[str, ...]) -> RowSet:
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
            at: dict[tuple[str, Key], int] = {}
            for cls in classes:
                for moid in hosts:
                    host = problem.inventory.host_by_moid[moid]
                    amount = takes(cls, host) if host.cluster == cluster.moid else 0
                    if cls.vm is not None and cls.home in {h.moid for h in members}:
                        amount -= gives(cls)
                    if amount:
                        at[moid, ("new", cls.index)] = amount
            if at:
                left = max(0, room - before) * scale
                rows.append(Row(f"headroom:{name} of {cluster.name}#{cluster.moid}", None, left, at=at))
    return RowSet(tuple(rows))


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
