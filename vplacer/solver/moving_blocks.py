"""Blocks of hosts among which VMs are let move: whole clusters, those first where it may let most in."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence

from vplacer.constraints.state import Problem
from vplacer.constraints.supply import Amount
from vplacer.solver.host_state import untouched_state

MOST_HOSTS = 100
"""Hosts of a block, beyond which no cluster is added: the search of a block takes more than twice as long on
twice as many hosts."""


def blocks_of(problem: Problem, home: Mapping[str, str], barred: Collection[str]) -> list[tuple[str, ...]]:
    """Return blocks of hosts, by moid, where VMs may move; those first where leaving gives back most GPUs.

    Args:
        problem: the problem.
        home: host of each VM, by demand, that may move.
        barred: hosts whose clusters are left out.
    """
    every = tuple(host.moid for host in problem.inventory.hosts if host.moid in problem.topologies)
    inside: dict[str, list[str]] = defaultdict(list)
    for demand, host in sorted(home.items()):
        inside[host].append(demand)
    hosts_of: dict[str, list[str]] = defaultdict(list)
    for moid in every:
        hosts_of[problem.inventory.host_by_moid[moid].cluster or moid].append(moid)
    size = _size_a_gpu(problem)
    given: dict[str, float] = {}
    for cluster, hosts in hosts_of.items():
        if barred and not set(barred).isdisjoint(hosts):
            continue
        if any(host in inside for host in hosts):
            given[cluster] = sum(_given_back(problem, host, inside[host], size) for host in hosts) / len(
                hosts
            )
    blocks: list[list[str]] = []
    for cluster in sorted(given, key=lambda name: (-given[name], name)):
        hosts = hosts_of[cluster]
        if not blocks or len(blocks[-1]) + len(hosts) > MOST_HOSTS:
            blocks.append([])
        blocks[-1] += hosts
    return [tuple(block) for block in blocks]


def _size_a_gpu(problem: Problem) -> Amount:
    """What the new VMs of the request ask for beside each of their GPUs, on average."""
    new = [demand for demand in problem.request.demands if demand.vm is None and demand.gpus]
    gpus = sum(ask.count for demand in new for ask in demand.gpus)
    if not gpus:
        return Amount(0, 0)
    cores = sum(demand.cpus for demand in new) * 1000 // gpus
    return Amount(cores, sum(demand.memory_mib for demand in new) // gpus)


def _given_back(problem: Problem, moid: str, movers: Sequence[str], size: Amount) -> int:
    """How many more free GPUs of a host would have cores and memory beside them if its movable VMs left."""
    state = untouched_state(problem, moid)
    free = sum(cell.size for cell in state.cells if cell.card.kind == "gpu" and not cell.card.vgpu)
    held = [problem.demand_by_id[mover] for mover in movers]
    gpus = sum(ask.count for demand in held for ask in demand.gpus)
    cores = sum(demand.cpus for demand in held) * 1000
    memory = sum(demand.memory_mib for demand in held)
    room = state.total_room

    def served(more: Amount, cards: int) -> int:
        kinds = [cards]
        if size.millicores:
            kinds.append(max(0, room.millicores + more.millicores) // size.millicores)
        if size.memory_mib:
            kinds.append(max(0, room.memory_mib + more.memory_mib) // size.memory_mib)
        return min(kinds)

    return served(Amount(cores, memory), free + gpus) - served(Amount(0, 0), free) - gpus
