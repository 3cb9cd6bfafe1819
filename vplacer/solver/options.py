"""The ways one demand can sit on one host: nodes for its CPU and memory, cells for its cards.

An option satisfies every hard wish of its demand by itself; what remains for the host model is that
all options chosen on a host fit together.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations, product
from typing import TypeAlias

from vplacer.constraints.supply import demand_parts, nodes_kept, threads_per_core
from vplacer.request.demand import AffinityMode, Demand
from vplacer.solver.choice import Break, ChoiceJudge
from vplacer.solver.host_state import HostState
from vplacer.solver.narrowed import Narrowing
from vplacer.solver.option import NOBODY, Asked, Option, OptionList, Takers, Way, asked_of
from vplacer.solver.ways import gpu_ways, nic_ways, shortage_text

NodeSets: TypeAlias = tuple[tuple[int, ...], ...]
"""Choices of nodes; an empty one = they float."""

MAX_OPTIONS = 4_000
"""Options kept per demand and host. Beyond it the list is cut and optimality is no longer claimed."""


def list_options(
    demand: Demand, state: HostState, label_nodes: dict[str, int], takers: Takers = NOBODY
) -> OptionList:
    """List the options of a demand on a host, whatever else is placed there.

    Args:
        demand: the demand.
        state: the host.
        label_nodes: labels that are portable in the host's cluster, and their node number.
        takers: who may take cards out of vSphere's choice beside the demand; without any, no option
            is listed that counts on it.
    """
    nodes = node_sets(demand, state)
    if isinstance(nodes, OptionList):
        return nodes
    return options_of_cards(asked_of(demand), state, nodes, label_nodes, takers)


def options_of_cards(
    asked: Asked, state: HostState, nodes: NodeSets, label_nodes: dict[str, int], takers: Takers
) -> OptionList:
    """List the options of what is asked for with some choices of nodes; for the rest see `list_options`."""
    ways: list[list[Way]] = []
    for index, ask in enumerate(asked.gpus):
        found = gpu_ways(asked, ask, index, state, label_nodes)
        if isinstance(found, OptionList):
            return found
        ways.append(found)
    for index, nic in enumerate(asked.nics):
        found = nic_ways(asked, nic, index, state, label_nodes)
        if isinstance(found, OptionList):
            return found
        ways.append(found)
    return _combine(asked, state, nodes, ways, takers)


def fixes_nodes(demand: Demand) -> bool:
    """Whether the demand's mode writes numa.nodeAffinity.

    Mode label does so only where a labelled device gives the node a meaning on other hosts.
    """
    if demand.mode is AffinityMode.PIN:
        return True
    return demand.mode is AffinityMode.LABEL and _has_labelled_ask(demand)


def _has_labelled_ask(demand: Demand) -> bool:
    return any(ask.profile is None and ask.group is None for ask in demand.gpus) or any(
        nic.kind == "passthrough" for nic in demand.nics
    )


def node_sets(demand: Demand, state: HostState) -> NodeSets | OptionList:
    """Return the nodes a demand's CPU and memory may be bound to, or why there are none.

    Of the demand it looks at vCPUs, vNUMA nodes, threads (preferHT), mode and whether a label may be used.
    """
    parts = demand_parts(demand, state.host)
    if demand.cpus % parts:
        evidence = f"{demand.cpus} vCPUs do not divide evenly over {parts} vNUMA nodes"
        return OptionList((), constraint="vnuma", evidence=evidence)
    if not fixes_nodes(demand):
        return (nodes_kept(demand, state.host),)
    if not state.node_ids:
        return OptionList((), constraint="numa-unknown", evidence="the host does not describe its NUMA nodes")
    if parts > len(state.node_ids):
        return OptionList(
            (),
            constraint="vnuma",
            evidence=f"its {demand.cpus} vCPUs make {parts} equal vNUMA nodes that each fit a pNUMA node, "
            f"and the host has {len(state.node_ids)}",
        )
    threads = threads_per_core(state.host) if demand.prefer_ht else 1
    with_cores = [
        node.id
        for node in state.host.numa_nodes
        if node.core_count > 0 and node.core_count * threads >= demand.cpus // parts
    ]
    if len(with_cores) < parts:
        what = "threads" if demand.prefer_ht else "cores"
        most = max(node.core_count for node in state.host.numa_nodes) * threads
        evidence = f"{demand.cpus // parts} vCPUs a vNUMA node, a pNUMA node has {most} {what} at most"
        return OptionList((), constraint="vnuma", evidence=evidence)
    return tuple(combinations(with_cores, parts))


def _combine(
    asked: Asked,
    state: HostState,
    node_sets: NodeSets,
    ways: list[list[Way]],
    takers: Takers,
) -> OptionList:
    """Cross the node sets with the ways of all asks; keep what satisfies every hard wish.

    Without any, the reason is that of the choice that got furthest.
    """
    kept: list[Option] = []
    nearest: Break | None = None
    judge = ChoiceJudge(asked, state)
    narrowing = Narrowing(judge, takers)
    for nodes in node_sets:
        open_ways, broken = _open_ways(judge, nodes, ways)
        nearest = _nearer(nearest, broken)
        for choice in product(*open_ways):
            short = _taken_twice(choice, state)
            if short is not None:
                nearest = _nearer(nearest, short)
                continue
            broken, points = judge.choice(nodes, choice)
            if broken is None:
                kept.append(Option(nodes, tuple(way.use for way in choice), points))
            nearest = _nearer(nearest, broken)
            kept += narrowing.options(nodes, choice, None if broken else points)
            if len(kept) >= MAX_OPTIONS:
                return OptionList(tuple(kept[:MAX_OPTIONS]), complete=False)
    if kept:
        return OptionList(tuple(kept))
    if nearest is None:
        return OptionList((), constraint="devices", evidence="no choice of cards")
    return OptionList((), constraint=nearest.constraint, evidence=nearest.evidence)


def _open_ways(
    judge: ChoiceJudge, nodes: tuple[int, ...], ways: list[list[Way]]
) -> tuple[list[list[Way]], Break | None]:
    """Leave out ways that break a wish whatever the other asks do; no way at all for one = no choice."""
    found: list[list[Way]] = []
    for position, mine in enumerate(ways):
        nearest: Break | None = None
        passing = []
        for way in mine:
            broken = judge.alone(nodes, way, position)
            nearest = _nearer(nearest, broken)
            if broken is None:
                passing.append(way)
        if not passing:
            return [[]], nearest
        found.append(passing)
    return found, None


def _nearer(one: Break | None, other: Break | None) -> Break | None:
    """Return the break that got further; the first of equals."""
    if one is None or other is None:
        return one or other
    return other if other.rank > one.rank else one


def _taken_twice(choice: Sequence[Way], state: HostState) -> Break | None:
    """Say which kind of card two asks of a demand want more of than there is."""
    taken: dict[int, int] = {}
    for way in choice:
        if way.use.resource in ("card", "group"):
            for index, count in way.use.cells:
                taken[index] = taken.get(index, 0) + count
    for index, count in sorted(taken.items()):
        cell = state.cells[index]
        if count > cell.size:
            evidence = shortage_text(count, cell.size, f"free {cell.card.model}")
            return Break(-1, f"{cell.card.kind}-count", evidence)
    return None
