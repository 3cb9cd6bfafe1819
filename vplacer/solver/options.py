"""The ways one demand can sit on one host: nodes for its CPU and memory, cells for its cards.

An option satisfies every hard wish of its demand by itself; what remains for the host model is that
all options chosen on a host fit together.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations, product

from vplacer.constraints.matching import group_type, serves
from vplacer.constraints.supply import demand_parts, threads_per_core
from vplacer.constraints.vgpu import profile_shape
from vplacer.inventory.pci import PciAddress
from vplacer.request.demand import AffinityMode, BoundBy, Demand, GpuAsk, NicAsk, Policy
from vplacer.solver.cells import Cell
from vplacer.solver.host_state import HostState
from vplacer.solver.nearness import (
    CellPool,
    ask_interconnect,
    nics_near,
    numa_points,
    numa_satisfied,
)
from vplacer.solver.vgpu_patterns import vgpu_room
from vplacer.topology.levels import Level

MAX_OPTIONS = 4_000
"""Options kept per demand and host. Beyond it the list is cut and optimality is no longer claimed."""


@dataclass(frozen=True, slots=True)
class AskUse:
    """What one ask takes: cards per cell, or vGPUs of a profile that the host model seats itself.

    ``resource``: "card" (whole), "vf" (virtual functions), "vgpu" (``cells`` empty, ``profile`` and
    ``count`` set) or "group" (cards per cell, ``sets`` names the member cards of each group).
    ``pools``: sets of cells among which a label or the platform chooses; empty for static.
    """

    ask: str
    index: int
    resource: str
    bound_by: BoundBy
    cells: tuple[tuple[int, int], ...] = ()
    profile: str | None = None
    count: int = 0
    sets: tuple[tuple[PciAddress, ...], ...] = ()
    pools: tuple[tuple[int, ...], ...] = ()


@dataclass(frozen=True, slots=True)
class Option:
    """One way to sit. ``nodes`` empty = floating. ``points`` count for the locality level."""

    nodes: tuple[int, ...]
    uses: tuple[AskUse, ...]
    points: int


@dataclass(frozen=True, slots=True)
class OptionList:
    """All options, or the reason that there is none: the id of the constraint and its evidence."""

    options: tuple[Option, ...]
    complete: bool = True
    constraint: str | None = None
    evidence: str | None = None


@dataclass(frozen=True, slots=True)
class _Way:
    """One way to serve one ask."""

    use: AskUse
    platform_pool: tuple[int, ...] = ()


def list_options(
    demand: Demand, state: HostState, label_nodes: dict[str, int], *, ignore: frozenset[str] = frozenset()
) -> OptionList:
    """List the options of a demand on a host, whatever else is placed there.

    Args:
        demand: the demand.
        state: the host.
        label_nodes: labels that are portable in the host's cluster, and their node number.
        ignore: constraint ids not to apply, used to find out which one stands in the way.
    """
    nodes_list = _node_sets(demand, state)
    if isinstance(nodes_list, OptionList):
        return nodes_list
    ways: list[list[_Way]] = []
    for index, ask in enumerate(demand.gpus):
        found = _gpu_ways(demand, ask, index, state, label_nodes)
        if isinstance(found, OptionList):
            return found
        ways.append(found)
    for index, nic in enumerate(demand.nics):
        found = _nic_ways(demand, nic, index, state, label_nodes)
        if isinstance(found, OptionList):
            return found
        ways.append(found)
    return _combine(demand, state, nodes_list, ways, ignore)


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


def _node_sets(demand: Demand, state: HostState) -> list[tuple[int, ...]] | OptionList:
    parts = demand_parts(demand, state.host)
    if demand.cpus % parts:
        evidence = f"{demand.cpus} vCPUs do not divide evenly over {parts} vNUMA nodes"
        return OptionList((), constraint="vnuma", evidence=evidence)
    if not fixes_nodes(demand):
        return [()]
    if not state.node_ids:
        return OptionList((), constraint="numa-unknown", evidence="the host does not describe its NUMA nodes")
    if parts > len(state.node_ids):
        return OptionList(
            (),
            constraint="vnuma",
            evidence=f"needs {parts} pNUMA nodes of at most "
            f"{max(node.core_count for node in state.host.numa_nodes)} cores; "
            f"the host has {len(state.node_ids)}",
        )
    threads = threads_per_core(state.host) if demand.prefer_ht else 1
    with_cores = [
        node.id
        for node in state.host.numa_nodes
        if node.core_count > 0 and node.core_count * threads >= demand.cpus // parts
    ]
    if len(with_cores) < parts:
        evidence = f"{demand.cpus // parts} vCPUs a node are more than {parts} of its nodes have cores"
        return OptionList((), constraint="vnuma", evidence=evidence)
    return [tuple(nodes) for nodes in combinations(with_cores, parts)]


def _gpu_ways(
    demand: Demand, ask: GpuAsk, index: int, state: HostState, label_nodes: dict[str, int]
) -> list[_Way] | OptionList:
    if ask.group is not None:
        return _group_ways(ask, index, state)
    if ask.profile is not None:
        if profile_shape(state.host, ask.profile) is None:
            return OptionList(
                (), constraint="gpu-model", evidence=f"vGPU profile {ask.profile} is not offered"
            )
        pool = tuple(cell.index for cell in state.cells if vgpu_room(state, cell, ask.profile) > 0)
        if not pool:
            return OptionList((), constraint="vgpu", evidence=f"no card has room for {ask.profile}")
        use = AskUse("gpu", index, "vgpu", BoundBy.PLATFORM, profile=ask.profile, count=ask.count)
        return [_Way(use, pool)]
    matching = [
        cell
        for cell in state.cells
        if cell.card.kind == "gpu"
        and cell.card.passthrough
        and (ask.model is None or cell.card.model == ask.model)
        and (ask.label is None or cell.card.label == ask.label)
    ]
    return _card_ways(demand, "gpu", index, ask.count, ask.label, matching, state, label_nodes)


def _nic_ways(
    demand: Demand, ask: NicAsk, index: int, state: HostState, label_nodes: dict[str, int]
) -> list[_Way] | OptionList:
    def suits(cell: Cell) -> bool:
        card = cell.card
        if card.kind != "nic" or (ask.model is not None and card.model != ask.model):
            return False
        if ask.label is not None and card.label != ask.label:
            return False
        if ask.min_speed_mbps is not None and (card.link_mbps is None or card.link_mbps < ask.min_speed_mbps):
            return False
        return not (ask.rdma is True and card.rdma is not True)

    matching = [cell for cell in state.cells if suits(cell)]
    if ask.kind == "sriov":
        functions = [cell for cell in matching if cell.card.sriov_free_vfs > 0]
        bound_by = BoundBy.PLATFORM if demand.mode is AffinityMode.HINT else BoundBy.STATIC
        ways = [
            _Way(AskUse("nic", index, "vf", bound_by, cells=cells), tuple(c.index for c in functions))
            for cells in _spread(ask.count, functions, {c.index: c.virtual_functions for c in functions})
        ]
        return ways or OptionList(
            (), constraint="nic-count", evidence=_short(ask.count, 0, "free virtual function")
        )
    cards = [cell for cell in matching if cell.card.passthrough]
    return _card_ways(demand, "nic", index, ask.count, ask.label, cards, state, label_nodes)


def _card_ways(
    demand: Demand,
    kind: str,
    index: int,
    count: int,
    label: str | None,
    matching: list[Cell],
    state: HostState,
    label_nodes: dict[str, int],
) -> list[_Way] | OptionList:
    """Ways to take whole cards, by who binds them."""
    unsure = {cell for cells, _ in state.scarce for cell in cells}
    if demand.mode is AffinityMode.PIN:
        bound_by = BoundBy.STATIC
        cells = [cell for cell in matching if cell.index not in unsure]
    elif demand.mode is AffinityMode.LABEL:
        bound_by = BoundBy.LABEL
        cells = [cell for cell in matching if cell.card.label is not None and cell.card.label in label_nodes]
        if matching and not cells:
            names = sorted({cell.card.label for cell in matching if cell.card.label is not None})
            evidence = (
                f"label {', '.join(names)} is not on one and the same pNUMA node on every host of the cluster"
                if names
                else "no free matching card carries a label"
            )
            return OptionList((), constraint="label-portable", evidence=evidence)
    else:
        bound_by = BoundBy.LABEL if label is not None else BoundBy.PLATFORM
        cells = matching
    pools = _pools(cells, bound_by)
    have = sum(state.sure_size(pool) for pool in pools) if pools else sum(cell.size for cell in cells)
    if have < count:
        noun = "free matching GPU" if kind == "gpu" else "free matching NIC"
        return OptionList((), constraint=f"{kind}-count", evidence=_short(count, have, noun))
    sizes = {cell.index: cell.size for cell in cells}
    return [
        _Way(
            AskUse(kind, index, "card", bound_by, cells=vector, pools=pools),
            pools[0] if bound_by is BoundBy.PLATFORM else (),
        )
        for vector in _spread(count, cells, sizes)
        if all(sum(n for c, n in vector if c in pool) <= state.sure_size(pool) for pool in pools)
    ]


def _pools(cells: list[Cell], bound_by: BoundBy) -> tuple[tuple[int, ...], ...]:
    """Among which cells somebody else chooses: none (static), each label's (label), all (platform)."""
    if bound_by is BoundBy.STATIC:
        return ()
    if bound_by is BoundBy.PLATFORM:
        return (tuple(cell.index for cell in cells),)
    labels = sorted({cell.card.label or "" for cell in cells})
    return tuple(tuple(c.index for c in cells if (c.card.label or "") == label) for label in labels)


def _short(count: int, have: int, noun: str) -> str:
    return f"{have} {noun}{'' if have == 1 else 's'}, {count} needed"


def _group_ways(ask: GpuAsk, index: int, state: HostState) -> list[_Way] | OptionList:
    offer = next((offer for offer in state.topology.device_groups if offer.name == ask.group), None)
    if offer is None:
        return OptionList((), constraint="gpu-model", evidence=f"device group {ask.group} is not offered")
    cell_of = {address: cell.index for cell in state.cells for address in cell.addresses}
    held = {address for address, profiles in state.vgpu_held if profiles}
    sets = offer.sets
    if sets is None:
        # Nobody tells which cards a group is made of: any free ones of the host stand for it.
        free = tuple(
            address
            for cell in state.cells
            if cell.card.kind == "gpu"
            for address in cell.addresses
            if address not in held
        )
        size = offer.gpu_count
        sets = tuple(free[at : at + size] for at in range(0, len(free) - size + 1, size)) if size else ()
    kind = group_type(state.host, offer.name)
    parts = kind.components if kind is not None else ()
    whole = [
        members
        for members in sets
        if all(
            a in cell_of
            and a not in held
            and any(serves(state.host, state.cells[cell_of[a]].card, part) for part in parts)
            for a in members
        )
    ]
    ways = []
    for chosen in combinations(whole, ask.count):
        members = [address for group in chosen for address in group]
        if len(set(members)) != len(members):
            continue
        counts: dict[int, int] = {}
        for address in members:
            counts[cell_of[address]] = counts.get(cell_of[address], 0) + 1
        use = AskUse(
            "gpu", index, "group", BoundBy.PLATFORM, cells=tuple(sorted(counts.items())), sets=tuple(chosen)
        )
        pool = tuple(sorted({cell_of[address] for members in whole for address in members}))
        ways.append(_Way(use, pool))
    if not ways:
        return OptionList(
            (),
            constraint="device-group",
            evidence=f"no whole group {ask.group} is free ({len(whole)} of {ask.count})",
        )
    return ways


def _spread(count: int, cells: list[Cell], sizes: dict[int, int]) -> Iterator[tuple[tuple[int, int], ...]]:
    """All ways to take ``count`` cards from cells, as (cell, number) with number > 0."""

    def go(position: int, left: int) -> Iterator[tuple[tuple[int, int], ...]]:
        if left == 0:
            yield ()
            return
        if position == len(cells) or left > sum(sizes[cell.index] for cell in cells[position:]):
            return
        index = cells[position].index
        for take in range(min(left, sizes[index]), -1, -1):
            for rest in go(position + 1, left - take):
                yield ((index, take), *rest) if take else rest

    return go(0, count)


def _combine(
    demand: Demand,
    state: HostState,
    node_sets: list[tuple[int, ...]],
    ways: list[list[_Way]],
    ignore: frozenset[str],
) -> OptionList:
    """Cross the node sets with the ways of all asks; keep what satisfies every hard wish."""
    kept: list[Option] = []
    complete = True
    failed: dict[str, str] = {}
    for nodes in node_sets:
        for choice in product(*ways):
            problem, points = _judge_choice(demand, state, nodes, choice)
            if problem is not None and problem[0] not in ignore:
                failed.setdefault(*problem)
                continue
            kept.append(Option(nodes, tuple(way.use for way in choice), points))
            if len(kept) >= MAX_OPTIONS:
                complete = False
                break
    if kept:
        return OptionList(tuple(kept), complete)
    # The constraint passed by most choices is named last by `_judge_choice`'s order; the first found
    # is the one that a choice got furthest with.
    for constraint in ("nic-near-gpu", "not-steerable", "locality", "interconnect"):
        if constraint in failed:
            return OptionList((), constraint=constraint, evidence=failed[constraint])
    return OptionList((), constraint="devices", evidence="no choice of cards")


def _judge_choice(
    demand: Demand,
    state: HostState,
    nodes: tuple[int, ...],
    choice: tuple[_Way, ...],
) -> tuple[tuple[str, str] | None, int]:
    """Return the hard wish a choice breaks (constraint, evidence) or None, and its locality points."""
    uses = [(way.use, _pool(way, state)) for way in choice]
    points = 0
    for use, pool in uses:
        for broken, gained in (
            _judge_interconnect(demand, use, pool, state),
            _judge_numa(demand, use, pool, nodes, state),
            _judge_near_gpu(demand, use, pool, uses, state),
        ):
            if broken is not None:
                return broken, 0
            points += gained
    return None, points


_Judged = tuple[tuple[str, str] | None, int]


def _judge_interconnect(demand: Demand, use: AskUse, pool: CellPool, state: HostState) -> _Judged:
    if use.ask != "gpu":
        return None, 0
    ask = demand.gpus[use.index]
    joined = ask_interconnect(ask, use, pool, state)
    if ask.interconnect_required and not joined:
        if pool.sure or not ask_interconnect(ask, use, _chosen(use), state):
            return ("interconnect", f"no free set of {ask.count} joined by {ask.interconnect.value}"), 0
        return (
            "not-steerable",
            f"{ask.interconnect.value} is not sure: {_chooser(use)} chooses the cards",
        ), 0
    wished = not ask.interconnect_required and ask.interconnect is not Level.ANY and ask.count > 1
    return None, 2 * ask.count if joined and wished else 0


def _judge_numa(
    demand: Demand, use: AskUse, pool: CellPool, nodes: tuple[int, ...], state: HostState
) -> _Judged:
    policy = demand.gpus[use.index].policy if use.ask == "gpu" else demand.nics[use.index].policy
    if policy is Policy.PREFERRED:
        return None, numa_points(use, pool, nodes, state)
    if policy is Policy.NONE or numa_satisfied(policy, pool, nodes, state):
        return None, 0
    fixed = nodes or len(state.node_ids) == 1
    if fixed and use.cells and not numa_satisfied(policy, _chosen(use), nodes, state):
        return ("locality", f"no free card on the {_near(policy)} of the vCPUs"), 0
    return ("not-steerable", _why_not_steered(use, nodes)), 0


def _chosen(use: AskUse) -> CellPool:
    """The cards counted in the option, as if they were sure."""
    return CellPool(tuple(index for index, _ in use.cells), sure=True)


def _judge_near_gpu(
    demand: Demand, use: AskUse, pool: CellPool, uses: list[tuple[AskUse, CellPool]], state: HostState
) -> _Judged:
    if use.ask != "nic" or not demand.nics[use.index].near_gpu:
        return None, 0
    ask = demand.nics[use.index]
    near = nics_near(ask.at, use, pool, [other for other in uses if other[0].ask == "gpu"], state)
    if ask.at_required and not near:
        return ("nic-near-gpu", f"no free NIC within {ask.at.value} of the GPUs"), 0
    return None, 2 * ask.count if near and not ask.at_required else 0


def _chooser(use: AskUse) -> str:
    return "the label" if use.bound_by is BoundBy.LABEL else "the platform"


def _near(policy: Policy) -> str:
    return "pNUMA node" if policy is Policy.REQUIRED else "socket"


def _why_not_steered(use: AskUse, nodes: tuple[int, ...]) -> str:
    if use.bound_by is BoundBy.PLATFORM:
        return "the platform chooses the card at power-on, and not every choice is near"
    return "the mode leaves the vCPUs floating" if not nodes else "not every card of the label is near"


def _pool(way: _Way, state: HostState) -> CellPool:
    """The cells the card may come from: the chosen ones (static), the label's, or the platform's.

    Where all of the pool is taken, only the order is open, and the choice counts as sure.
    """
    taken = sum(count for _, count in way.use.cells)
    if way.use.bound_by is BoundBy.STATIC:
        return CellPool(tuple(index for index, _ in way.use.cells), sure=True)
    if way.use.bound_by is BoundBy.LABEL:
        labels = {state.cells[index].card.label for index, _ in way.use.cells}
        kinds = {state.cells[index].card.ids for index, _ in way.use.cells}
        cells = tuple(c.index for c in state.cells if c.card.label in labels and c.card.ids in kinds)
    else:
        cells = way.platform_pool
    sure = way.use.resource in ("card", "group") and sum(state.cells[c].size for c in cells) == taken
    return CellPool(cells, sure)
