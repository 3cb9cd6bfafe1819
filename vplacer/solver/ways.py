"""The ways to serve one ask of a demand with the cards of a host, by who binds them."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

from vplacer.constraints.matching import group_type, serves
from vplacer.request.demand import AffinityMode, BoundBy, GpuAsk, NicAsk
from vplacer.solver.cells import Cell
from vplacer.solver.host_state import HostState
from vplacer.solver.option import Asked, AskUse, OptionList, Way
from vplacer.solver.vgpu_patterns import vgpu_rooms, why_no_vgpu
from vplacer.topology.vgpu_room import profile_shape


def gpu_ways(
    asked: Asked, ask: GpuAsk, index: int, state: HostState, label_nodes: dict[str, int]
) -> list[Way] | OptionList:
    """List the ways to serve a GPU ask on a host, or say why there is none."""
    if ask.group is not None:
        return _group_ways(ask, index, state)
    if ask.profile is not None:
        if profile_shape(state.host, ask.profile) is None:
            return OptionList(
                (), constraint="gpu-model", evidence=f"vGPU profile {ask.profile} is not offered"
            )
        rooms = vgpu_rooms(state, ask.profile)
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
    return _card_ways(asked, "gpu", index, ask.count, ask.label, matching, state, label_nodes)


def nic_ways(
    asked: Asked, ask: NicAsk, index: int, state: HostState, label_nodes: dict[str, int]
) -> list[Way] | OptionList:
    """List the ways to serve a NIC ask on a host, or say why there is none."""

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
        bound_by = BoundBy.PLATFORM if asked.mode is AffinityMode.HINT else BoundBy.STATIC
        ways = [
            Way(AskUse("nic", index, "vf", bound_by, cells=cells), tuple(c.index for c in functions))
            for cells in _spread(ask.count, functions, {c.index: c.virtual_functions for c in functions})
        ]
        return ways or OptionList(
            (), constraint="nic-count", evidence=shortage_text(ask.count, 0, "free virtual function")
        )
    cards = [cell for cell in matching if cell.card.passthrough]
    return _card_ways(asked, "nic", index, ask.count, ask.label, cards, state, label_nodes)


def _card_ways(
    asked: Asked,
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
    if asked.mode is AffinityMode.PIN:
        bound_by = BoundBy.STATIC
        cells = [cell for cell in matching if cell.index not in unsure]
    elif asked.mode is AffinityMode.LABEL:
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
        evidence = shortage_text(count, have, noun)
        free = state.sure_size(cell.index for cell in matching)
        if bound_by is BoundBy.STATIC and free >= count:
            some = f"{free} of {sum(cell.size for cell in matching)} matching cards"
            evidence = f"{some} free, but which ones vCenter does not tell, and pin must name them"
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


def shortage_text(count: int, have: int, noun: str) -> str:
    """Say how many there are and how many are needed."""
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
