"""What a demand wishes, one thing at a time, and the demand without some of it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from vplacer.constraints.state import Problem
from vplacer.inventory.limits_table import FIRST_RELEASE, FIRST_WITH_VNUMA
from vplacer.request.demand import AffinityMode, Demand, GpuAsk, NicAsk, Policy
from vplacer.request.sizing import needed_hardware_version
from vplacer.topology.levels import Level

_HARD = (Policy.REQUIRED, Policy.SOCKET)


@dataclass(frozen=True, slots=True)
class Wish:
    """One thing a demand asks for: the field of the request, and its value there."""

    field: str
    value: str


def wishes_of(problem: Problem, demand: Demand) -> tuple[Wish, ...]:
    """Return all that a demand asks for and could do without, what matters most first."""
    found: list[Wish] = []
    for index, ask in enumerate(demand.gpus):
        found += _gpu_wishes(f"gpus[{index}]", ask)
    for index, nic in enumerate(demand.nics):
        found += _nic_wishes(f"nics[{index}]", nic)
    if demand.has_devices:
        found.append(Wish("affinity", demand.mode.value))
    found.append(Wish("cpus", str(demand.cpus)))
    found.append(Wish("memory", _amount(demand.memory_mib)))
    if demand.vnuma_nodes is not None:
        found.append(Wish("vnuma", str(demand.vnuma_nodes)))
    if demand.hardware_version > _least_version(demand):
        found.append(Wish("hardware_version", str(demand.hardware_version)))
    inventory = problem.inventory
    if demand.hosts:
        found.append(Wish("hosts", _names(inventory.host_by_moid, demand.hosts)))
    if demand.clusters:
        found.append(Wish("clusters", _names(inventory.cluster_by_moid, demand.clusters)))
    if demand.vm is not None and not demand.may_move:
        found.append(Wish("may_move", "false"))
    if demand.pool is not None:
        found.append(Wish("pool", _names(inventory.pool_by_moid, (demand.pool,))))
    if demand.datastores:
        found.append(Wish("datastores", _names({d.moid: d for d in inventory.datastores}, demand.datastores)))
    if demand.networks:
        found.append(Wish("networks", _names({n.moid: n for n in inventory.networks}, demand.networks)))
    return tuple(found)


def _gpu_wishes(name: str, ask: GpuAsk) -> list[Wish]:
    found = [Wish(f"{name}.count", str(ask.count))]
    if ask.model is not None:
        found.append(Wish(f"{name}.model", ask.model))
    if ask.label is not None:
        found.append(Wish(f"{name}.label", ask.label))
    if ask.interconnect_required and ask.interconnect is not Level.ANY:
        found.append(Wish(f"{name}.interconnect", ask.interconnect.value))
    if ask.policy in _HARD:
        found.append(Wish(f"{name}.policy", ask.policy.value))
    return found


def _nic_wishes(name: str, ask: NicAsk) -> list[Wish]:
    found = [Wish(f"{name}.count", str(ask.count))]
    if ask.model is not None:
        found.append(Wish(f"{name}.model", ask.model))
    if ask.label is not None:
        found.append(Wish(f"{name}.label", ask.label))
    if ask.near_gpu and ask.at_required and ask.at is not Level.ANY:
        found.append(Wish(f"{name}.at", ask.at.value))
    if ask.policy in _HARD:
        found.append(Wish(f"{name}.policy", ask.policy.value))
    if ask.min_speed_mbps is not None:
        found.append(Wish(f"{name}.min_speed", f"{ask.min_speed_mbps} Mbit/s"))
    if ask.rdma is not None:
        found.append(Wish(f"{name}.rdma", str(ask.rdma).lower()))
    return found


def without(demand: Demand, fields: Iterable[str]) -> tuple[Demand, ...]:
    """Return a demand that does without some wishes: it is met where any of the demands returned is.

    Several only where the affinity mode is given up: one for each mode.
    """
    gone = frozenset(fields)
    if not gone:
        return (demand,)
    gpus = [
        _gpu_without(ask, f"gpus[{index}]", gone)
        for index, ask in enumerate(demand.gpus)
        if f"gpus[{index}].count" not in gone
    ]
    nics = [
        _nic_without(ask, f"nics[{index}]", gone)
        for index, ask in enumerate(demand.nics)
        if f"nics[{index}].count" not in gone
    ]
    if not gpus:
        nics = [replace(ask, near_gpu=False, at=Level.ANY, at_required=False) for ask in nics]
    changed = replace(
        demand,
        gpus=tuple(gpus),
        nics=tuple(nics),
        vnuma_nodes=None if "vnuma" in gone else demand.vnuma_nodes,
        hosts=() if "hosts" in gone else demand.hosts,
        clusters=() if "clusters" in gone else demand.clusters,
        may_move=demand.may_move or "may_move" in gone,
        pool=None if "pool" in gone else demand.pool,
        datastores=() if "datastores" in gone else demand.datastores,
        networks=() if "networks" in gone else demand.networks,
    )
    if "cpus" in gone:
        changed = replace(changed, cpus=changed.vnuma_nodes or 1, cpu_reservation_mhz=0)
    if "memory" in gone:
        changed = replace(changed, memory_mib=1, overhead_mib=0)
    if "hardware_version" in gone:
        changed = replace(changed, hardware_version=_least_version(changed))
    if "affinity" in gone and changed.has_devices:
        others = [mode for mode in AffinityMode if mode is not demand.mode]
        return tuple(replace(changed, mode=mode) for mode in (demand.mode, *others))
    return (changed,)


def _gpu_without(ask: GpuAsk, name: str, gone: frozenset[str]) -> GpuAsk:
    return replace(
        ask,
        model=None if f"{name}.model" in gone else ask.model,
        label=None if f"{name}.label" in gone else ask.label,
        interconnect_required=ask.interconnect_required and f"{name}.interconnect" not in gone,
        policy=Policy.NONE if f"{name}.policy" in gone else ask.policy,
    )


def _nic_without(ask: NicAsk, name: str, gone: frozenset[str]) -> NicAsk:
    return replace(
        ask,
        model=None if f"{name}.model" in gone else ask.model,
        label=None if f"{name}.label" in gone else ask.label,
        at_required=ask.at_required and f"{name}.at" not in gone,
        policy=Policy.NONE if f"{name}.policy" in gone else ask.policy,
        min_speed_mbps=None if f"{name}.min_speed" in gone else ask.min_speed_mbps,
        rdma=None if f"{name}.rdma" in gone else ask.rdma,
    )


def _least_version(demand: Demand) -> int:
    least = FIRST_WITH_VNUMA if demand.has_devices or demand.vnuma_nodes is not None else min(FIRST_RELEASE)
    return needed_hardware_version(demand.gpus, demand.nics, least, demand.cpus, demand.memory_mib)


def _amount(mib: int) -> str:
    return f"{mib // 1024} GiB" if mib % 1024 == 0 else f"{mib} MiB"


def _names(table: object, moids: tuple[str, ...]) -> str:
    assert isinstance(table, dict)
    return ", ".join(table[moid].name if moid in table else moid for moid in moids)
