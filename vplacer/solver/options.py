"""The ways one demand can sit on one host: nodes for its CPU and memory, cells for its cards.

An option satisfies every hard wish of its demand by itself; what remains for the host model is that
all options chosen on a host fit together.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, product

from vplacer.constraints.matching import group_type, serves
from vplacer.constraints.supply import demand_parts, threads_per_core
from vplacer.constraints.vgpu import profile_shape
from vplacer.inventory.pci import PciAddress
from vplacer.request.demand import AffinityMode, BoundBy, Demand, GpuAsk, NicAsk
from vplacer.solver.cells import Cell
from vplacer.solver.choice import Break, judge_alone, judge_choice, pool_of
from vplacer.solver.host_state import HostState
from vplacer.solver.vgpu_patterns import vgpu_room, why_no_vgpu

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


def takes_function(use: AskUse, cell: Cell) -> bool:
    """Whether a use of a cell takes a virtual function of it.

    A NIC in a device group comes as one unless it is passed through.
    """
    return use.resource == "vf" or (cell.card.kind == "nic" and not cell.card.passthrough)


@dataclass(frozen=True, slots=True)
class Option:
    """One way to sit. ``nodes`` empty = floating. ``points`` count for the locality level.

    ``settles``: cells of which nothing may be left open beside what the option takes, since what it
    promises holds only if nobody can choose another card of them.
    """

    nodes: tuple[int, ...]
    uses: tuple[AskUse, ...]
    points: int
    settles: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class OptionList:
    """All options, or the reason that there is none: the id of the constraint and its evidence.

    ``labels``: those that are not portable, where that is the reason.
    """

    options: tuple[Option, ...]
    complete: bool = True
    constraint: str | None = None
    evidence: str | None = None
    labels: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Way:
    """One way to serve one ask; ``platform_pool``: the cells vSphere chooses among, if it does."""

    use: AskUse
    platform_pool: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Takers:
    """Who else may narrow a choice of cards: static backings or VMs that stay, and labels."""

    static: bool = False
    label: bool = False


def list_options(
    demand: Demand, state: HostState, label_nodes: dict[str, int], takers: Takers = Takers()
) -> OptionList:
    """List the options of a demand on a host, whatever else is placed there.

    Args:
        demand: the demand.
        state: the host.
        label_nodes: labels that are portable in the host's cluster, and their node number.
        takers: who may take cards out of vSphere's choice beside the demand; without any, no option
            is listed that counts on it.
    """
    nodes_list = _node_sets(demand, state)
    if isinstance(nodes_list, OptionList):
        return nodes_list
    ways: list[list[Way]] = []
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
    return _combine(demand, state, nodes_list, ways, takers)


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
) -> list[Way] | OptionList:
    if ask.group is not None:
        return _group_ways(ask, index, state)
    if ask.profile is not None:
        if profile_shape(state.host, ask.profile) is None:
            return OptionList(
                (), constraint="gpu-model", evidence=f"vGPU profile {ask.profile} is not offered"
            )
        rooms = {cell.index: vgpu_room(state, cell, ask.profile) for cell in state.cells}
        pool = tuple(index for index, room in rooms.items() if room > 0)
        if sum(rooms.values()) < ask.count:
            evidence = why_no_vgpu(state, ask.profile, sum(rooms.values()), ask.count)
            return OptionList((), constraint="vgpu", evidence=evidence)
        use = AskUse("gpu", index, "vgpu", BoundBy.PLATFORM, profile=ask.profile, count=ask.count)
        return [Way(use, pool)]
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
) -> list[Way] | OptionList:
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
            Way(AskUse("nic", index, "vf", bound_by, cells=cells), tuple(c.index for c in functions))
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
) -> list[Way] | OptionList:
    """Ways to take whole cards, by who binds them."""
    unsure = {cell for cells, _ in state.scarce for cell in cells}
    if demand.mode is AffinityMode.PIN:
        bound_by = BoundBy.STATIC
        cells = [cell for cell in matching if cell.index not in unsure]
    elif demand.mode is AffinityMode.LABEL:
        bound_by = BoundBy.LABEL
        cells = [cell for cell in matching if cell.card.label is not None and cell.card.label in label_nodes]
        if matching and not cells:
            labels = tuple(sorted({cell.card.label for cell in matching if cell.card.label is not None}))
            evidence = "no free matching card carries a label"
            return OptionList((), constraint="label-portable", evidence=evidence, labels=labels)
    else:
        bound_by = BoundBy.LABEL if label is not None else BoundBy.PLATFORM
        cells = matching
    pools = _pools(cells, bound_by)
    have = sum(state.sure_size(pool) for pool in pools) if pools else sum(cell.size for cell in cells)
    if have < count:
        noun = "free matching GPU" if kind == "gpu" else "free matching NIC"
        evidence = _short(count, have, noun)
        free = state.sure_size(cell.index for cell in matching)
        if bound_by is BoundBy.STATIC and free >= count:
            evidence += f": {free} are free, but which ones vCenter does not tell, and pin must name them"
        return OptionList((), constraint=f"{kind}-count", evidence=evidence)
    sizes = {cell.index: cell.size for cell in cells}
    return [
        Way(
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


def _group_ways(ask: GpuAsk, index: int, state: HostState) -> list[Way] | OptionList:
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
    pool = tuple(sorted({cell_of[address] for members in whole for address in members}))
    ways = []
    for chosen in combinations(whole, ask.count):
        members = [address for group in chosen for address in group]
        if len(set(members)) != len(members):
            continue
        counts: dict[int, int] = {}
        for address in members:
            counts[cell_of[address]] = counts.get(cell_of[address], 0) + 1
        use = AskUse(
            "gpu",
            index,
            "group",
            BoundBy.PLATFORM,
            cells=tuple(sorted(counts.items())),
            sets=tuple(chosen),
            pools=(pool,),
        )
        ways.append(Way(use, pool))
    if not ways:
        return OptionList(
            (),
            constraint="device-group",
            evidence=f"{len(whole)} whole groups {ask.group} are free, {ask.count} needed",
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
    ways: list[list[Way]],
    takers: Takers,
) -> OptionList:
    """Cross the node sets with the ways of all asks; keep what satisfies every hard wish.

    Without any, the reason is that of the choice that got furthest.
    """
    kept: list[Option] = []
    nearest: Break | None = None
    for nodes in node_sets:
        open_ways, broken = _open_ways(demand, state, nodes, ways)
        nearest = _nearer(nearest, broken)
        for choice in product(*open_ways):
            short = _taken_twice(choice, state)
            if short is not None:
                nearest = _nearer(nearest, short)
                continue
            broken, points = judge_choice(demand, state, nodes, choice)
            if broken is None:
                kept.append(Option(nodes, tuple(way.use for way in choice), points))
            nearest = _nearer(nearest, broken)
            kept += _settling(demand, state, nodes, choice, takers, None if broken else points)
            if len(kept) >= MAX_OPTIONS:
                return OptionList(tuple(kept[:MAX_OPTIONS]), complete=False)
    if kept:
        return OptionList(tuple(kept))
    if nearest is None:
        return OptionList((), constraint="devices", evidence="no choice of cards")
    return OptionList((), constraint=nearest.constraint, evidence=nearest.evidence)


def _open_ways(
    demand: Demand, state: HostState, nodes: tuple[int, ...], ways: list[list[Way]]
) -> tuple[list[list[Way]], Break | None]:
    """Leave out ways that break a wish whatever the other asks do; no way at all for one = no choice."""
    found: list[list[Way]] = []
    for position, mine in enumerate(ways):
        nearest: Break | None = None
        passing = []
        for way in mine:
            broken = judge_alone(demand, state, nodes, way, position)
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


def _settling(
    demand: Demand,
    state: HostState,
    nodes: tuple[int, ...],
    choice: Sequence[Way],
    takers: Takers,
    points: int | None,
) -> list[Option]:
    """Options that promise more (``points``; None = break a wish) if no other card can be chosen."""
    loose = {
        at: pool.cells
        for at, way in enumerate(choice)
        if way.use.resource in ("card", "group")
        and not (pool := pool_of(way, state)).sure
        and (takers.static or (takers.label and way.use.bound_by is BoundBy.PLATFORM))
        and not any(set(group).intersection(pool.cells) for group, _ in state.scarce)
    }
    found: list[Option] = []
    reached: list[tuple[set[int], int]] = [] if points is None else [(set(), points)]
    for number in range(1, len(loose) + 1):
        for settled in combinations(sorted(loose), number):
            broken, gained = judge_choice(demand, state, nodes, choice, settled)
            most = max((got for less, got in reached if less <= set(settled)), default=None)
            if broken is None and (most is None or gained > most):
                cells = sorted({cell for at in settled for cell in loose[at]})
                found.append(Option(nodes, tuple(way.use for way in choice), gained, tuple(cells)))
                reached.append((set(settled), gained))
    return found


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
            evidence = _short(count, cell.size, f"free {cell.card.model}")
            return Break(-1, f"{cell.card.kind}-count", evidence)
    return None
