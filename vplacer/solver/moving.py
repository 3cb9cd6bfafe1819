"""Many hosts and VMs that may move: placements, and what is proved of what can be placed."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass

from vplacer.constraints.state import Placement, Problem, State
from vplacer.constraints.supply import Amount
from vplacer.inventory.vm import Vm
from vplacer.solver.exact import CHANGE_LEVELS, Answer
from vplacer.solver.host_state import untouched_state
from vplacer.solver.instance import Instance
from vplacer.solver.tables.movers import moving_site

MOST_OPEN = 300
"""Hosts whose VMs are let move, in whole clusters, at the least one: each takes its time."""


def opened(problem: Problem, movable: Collection[str]) -> frozenset[str]:
    """Return those VMs that are let move, by clusters: those first where leaving gives back most GPUs."""
    home = {moid: vm.host for moid in movable if (vm := _running(problem, moid)) is not None}
    inside: dict[str, list[str]] = defaultdict(list)
    for moid, host in home.items():
        if host is not None and host in problem.inventory.host_by_moid:
            inside[host].append(moid)
    hosts_of: dict[str, list[str]] = defaultdict(list)
    for host in sorted(inside):
        hosts_of[problem.inventory.host_by_moid[host].cluster or host].append(host)
    size = _size_a_gpu(problem)
    given = {
        cluster: sum(_given_back(problem, host, inside[host], size) for host in hosts) / len(hosts)
        for cluster, hosts in hosts_of.items()
    }
    chosen: set[str] = set()
    for cluster in sorted(hosts_of, key=lambda name: (-given[name], name)):
        if not chosen or len(chosen) + len(hosts_of[cluster]) <= MOST_OPEN:
            chosen.update(hosts_of[cluster])
    return frozenset(moid for moid, host in home.items() if host in chosen)


def _running(problem: Problem, demand: str) -> Vm | None:
    return problem.inventory.vm_by_moid.get(problem.demand_by_id[demand].vm or "")


def _size_a_gpu(problem: Problem) -> Amount:
    """What the new VMs of the request ask for beside each of their GPUs, on average."""
    new = [demand for demand in problem.request.demands if demand.vm is None and demand.gpus]
    gpus = sum(ask.count for demand in new for ask in demand.gpus)
    if not gpus:
        return Amount(0, 0)
    cores = sum(demand.cpus for demand in new) * 1000 // gpus
    return Amount(cores, sum(demand.memory_mib for demand in new) // gpus)


def _given_back(problem: Problem, moid: str, movers: Collection[str], size: Amount) -> int:
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


@dataclass(frozen=True)
class Moved:
    """Placements of all demands that have a place; values and bounds of levels, in the maximised sense."""

    placements: tuple[Placement, ...]
    answer: Answer


def search_moves(
    problem: Problem,
    held: Instance,
    today: Mapping[str, Placement],
    movable: Collection[str],
    *,
    seed: int,
    should_stop: Callable[[], bool],
) -> Moved | None:
    """Search for what can be placed when VMs may move; None where that is not for this search.

    Args:
        problem: the problem.
        held: its instance with nothing moved.
        today: placements of today of existing VMs that have what they ask for.
        movable: demands of those that may move.
        seed: of the search.
        should_stop: asked now and then.
    """
    from vplacer.solver.score import measure
    from vplacer.solver.tables.moving_answer import placements_of, sound
    from vplacer.solver.tables.moving_search import MovingSearch

    let = opened(problem, movable)
    site = moving_site(problem, held, today, let)
    if site is None:
        return None
    search = MovingSearch(site, seed, should_stop, proves=len(let) == len(movable))
    found = search.run()
    whole = sound(search, found.whole)
    placements = placements_of(search, whole, today)
    others = {placement.demand for placement in placements}
    settled = tuple(placement for placement in held.settled if placement.demand not in others)
    placements = tuple(sorted((*placements, *settled), key=lambda placement: placement.demand))
    values = search.values(whole)
    bounds: dict[str, int | None] = dict(found.bounds)
    changes = tuple(level for level in held.levels if level.id in CHANGE_LEVELS)
    for name, cost in measure(State(problem, placements), changes).items():
        values[name], bounds[name] = -cost, 0
    stopped = any(bounds[name] != value for name, value in values.items())
    return Moved(placements, Answer((), values, bounds, stopped))
