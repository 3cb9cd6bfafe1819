"""Matches a request with an inventory: every name to a managed object id, every default filled in."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace

from vplacer.inventory.vcenter import Inventory
from vplacer.inventory.vm import Vm
from vplacer.inventory.yaml_marks import Pointer
from vplacer.request.canonical import request_sha256
from vplacer.request.complaints import Complaints
from vplacer.request.demand import Demand, Gang, LeftAlone, RequestOptions, ResolvedRequest
from vplacer.request.demands import DemandMaker
from vplacer.request.file import RequestFile
from vplacer.request.future import FutureMaker
from vplacer.request.lookup import Lookup
from vplacer.request.rules import RuleMaker, joined, touching, vcenter_rules
from vplacer.request.select import Selection, Target
from vplacer.request.upkeep import NO_UPKEEP, RunningVms, Upkeep
from vplacer.topology.host_topology import HostTopology

OwnerReason = Callable[[Vm], str | None]

LINK_UP_MBPS = 1
"""The speed asked of a gang's NICs where the request states none: any, so that the link is up."""


def nobody(_vm: Vm) -> str | None:
    """Say of no VM that somebody else owns it."""
    return None


def resolve(
    request: RequestFile,
    inventory: Inventory,
    topologies: Mapping[str, HostTopology],
    *,
    owner_reason: OwnerReason = nobody,
    include_managed: frozenset[str] = frozenset(),
    upkeep: Upkeep = NO_UPKEEP,
) -> ResolvedRequest:
    """Match a request with one inventory.

    Args:
        request: the loaded file.
        inventory: what vCenter said.
        topologies: topology by host moid.
        owner_reason: why a VM must be left alone (somebody owns it, or it is busy), or None.
        include_managed: names or moids of VMs to change in spite of that reason.
        upkeep: what becomes of running VMs, whether the request names them or not.

    Raises:
        UnknownObjectError, AmbiguousObjectError, FileFormatError: after the first fault; the text lists all.
    """
    complaints = Complaints(request)
    lookup = Lookup(inventory, complaints)
    targets = Selection(inventory, lookup, complaints).targets(request.entries)
    maker = DemandMaker(inventory, topologies, lookup, complaints, owner_reason, include_managed)
    mix = FutureMaker(lookup, complaints, maker)
    running = RunningVms(upkeep, inventory, topologies, owner_reason, include_managed)
    demands, left_alone = _made(targets, running, maker, mix)
    named = frozenset(target.vm.moid for target in targets if target.vm is not None)
    others = running.others(named, demands)
    demands += others.demands
    left_alone += others.left_alone
    members = RuleMaker(inventory, lookup, complaints, tuple(demands), tuple(left_alone))
    rules = members.rules(request.rules)
    gangs = members.gangs(request.gangs)
    options = replace(_options(request, lookup), evacuate=upkeep.evacuate, evacuate_off=upkeep.evacuate_off)
    future = mix.shapes(request.future)
    complaints.raise_all()
    with_links = _with_links_up(demands, gangs)
    bound = joined(replace(rules, gangs=gangs), vcenter_rules(inventory))
    return ResolvedRequest(
        demands=with_links,
        rules=touching(bound, with_links),
        options=options,
        left_alone=tuple(left_alone),
        notes=request.notes + maker.notes() + mix.notes() + others.notes,
        sha256=request_sha256(request.data),
        source=request.document.path,
        future=future,
        derived=tuple(demand.id for demand in others.demands),
    )


def _made(
    targets: Iterable[Target], running: RunningVms, maker: DemandMaker, mix: FutureMaker
) -> tuple[list[Demand], list[LeftAlone]]:
    """Make the demands of what the request names; the mix of later VMs is told of each."""
    demands: list[Demand] = []
    left_alone: list[LeftAlone] = []
    for target in targets:
        adapted = running.adapted(target)
        made = adapted if isinstance(adapted, LeftAlone) else maker.make(adapted)
        if isinstance(made, LeftAlone):
            left_alone.append(made)
            mix.left_alone(target)
        elif made is not None:
            demands.append(made)
            mix.made(target, made)
    maker.complain_of_taken_names()
    return demands, left_alone


def _options(request: RequestFile, lookup: Lookup) -> RequestOptions:
    spec = request.options
    return RequestOptions(
        cpu_overcommit=_by_cluster(spec.cpu_overcommit, ("cpu_overcommit",), lookup),
        memory_overcommit=_by_cluster(spec.memory_overcommit, ("memory_overcommit",), lookup),
        memory_margin_percent=spec.memory_margin_percent,
        headroom_hosts=spec.headroom_hosts,
        partial=spec.partial,
        hosts_goal=spec.hosts_goal,
        max_power_cycles=spec.max_power_cycles,
        max_moves=spec.max_moves,
    )


def _by_cluster(
    table: tuple[tuple[str, float], ...], pointer: Pointer, lookup: Lookup
) -> tuple[tuple[str, float], ...]:
    found: dict[str, float] = {}
    for name, ratio in table:
        moids = lookup.find_clusters((*pointer, name), [name]) if name else ("",)
        for moid in moids:
            if moid in found:
                cluster = lookup.inventory.cluster_by_moid[moid].name
                lookup.complaints.wrong((*pointer, name), f"the cluster '{cluster}' has a number already")
            found[moid] = ratio
    return tuple(sorted(found.items()))


def _with_links_up(demands: list[Demand], gangs: tuple[Gang, ...]) -> tuple[Demand, ...]:
    """Ask of gang members' NICs that the link is up: a gang that cannot talk is no gang."""
    members = {vm for gang in gangs for vm in gang.vms}
    return tuple(
        demand
        if demand.id not in members
        else replace(
            demand,
            nics=tuple(
                nic if nic.min_speed_mbps is not None else replace(nic, min_speed_mbps=LINK_UP_MBPS)
                for nic in demand.nics
            ),
        )
        for demand in demands
    )
