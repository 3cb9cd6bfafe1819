"""Many hosts and VMs that may move: placements, and what is proved of what can be placed."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass

from vplacer.constraints.state import Placement, Problem, State
from vplacer.solver.exact import CHANGE_LEVELS, Answer
from vplacer.solver.instance import Instance
from vplacer.solver.tables.movers import moving_site

MOST_OPEN = 300
"""Hosts whose VMs are let move, in whole clusters, at the least one: each takes its time."""


def opened(problem: Problem, movable: Collection[str]) -> frozenset[str]:
    """Return those VMs that are let move, by clusters: those where the most weight a host may move first."""
    hosts = problem.inventory.host_by_moid
    weight: Counter[str] = Counter()
    inside: dict[str, set[str]] = defaultdict(set)
    cluster_of: dict[str, str] = {}
    for moid in movable:
        demand = problem.demand_by_id[moid]
        vm = problem.inventory.vm_by_moid[demand.vm or ""]
        host = hosts.get(vm.host or "")
        if host is not None:
            cluster_of[moid] = host.cluster or host.moid
            weight[cluster_of[moid]] += demand.weight_milli
            inside[cluster_of[moid]].add(host.moid)
    chosen: set[str] = set()
    count = 0
    for cluster in sorted(weight, key=lambda name: (-weight[name] // len(inside[name]), name)):
        if not chosen or count + len(inside[cluster]) <= MOST_OPEN:
            chosen.add(cluster)
            count += len(inside[cluster])
    return frozenset(moid for moid, cluster in cluster_of.items() if cluster in chosen)


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
