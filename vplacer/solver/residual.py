"""A host with the placements of an answer on it: what one more VM would find."""

from __future__ import annotations

from dataclasses import dataclass, replace

from vplacer.constraints.holdings import Claim
from vplacer.constraints.packing import Fit, Item, fits
from vplacer.constraints.state import Placement
from vplacer.constraints.supply import Amount, Consumer, Seat, consumer_of_demand, total
from vplacer.inventory.pci import PciAddress
from vplacer.request.demand import Demand
from vplacer.solver.cells import Cell, build_cells
from vplacer.solver.host_state import HostState, as_items, bound_per_node
from vplacer.solver.instance import Instance
from vplacer.solver.option import Option
from vplacer.solver.vgpu_patterns import all_vgpus_fit


@dataclass(frozen=True, slots=True)
class Shortage:
    """Why an option does not fit a residual host: constraint id and evidence."""

    constraint: str
    evidence: str


def residual_state(
    instance: Instance, state: HostState, placements: tuple[Placement, ...], without: str | None = None
) -> HostState:
    """Return a host's state with an answer's VMs counted as untouchable.

    Args:
        instance: the instance.
        state: the host as the VMs that the plan cannot touch leave it.
        placements: the answer's placements.
        without: a demand to leave out: one that is about to be placed anew.
    """
    options = instance.problem.request.options
    here = [p for p in placements if p.host == state.host.moid and not p.stays and p.demand != without]
    moved = {p.demand for p in placements if not p.stays}
    consumers: list[Consumer] = []
    held = _Held(state)
    for placement in here:
        demand = instance.problem.demand_by_id[placement.demand]
        found = consumer_of_demand(demand, placement.nodes, state.host, options)
        if found is not None:
            consumers.append(found)
        held.place(demand, placement)
    for active in state.actives:
        if active.vm.moid in moved or active.vm.moid == without:
            continue
        if active.consumer is not None:
            consumers.append(active.consumer)
        held.hold(active.holdings)
    cells = held.cells_left()
    items, divisible = as_items(consumers, state.node_ids)
    bound = bound_per_node(consumers, state.node_ids)
    return replace(
        state,
        room=tuple(room - used for room, used in zip(state.room, bound, strict=True)),
        items=(*state.items, *items),
        divisible=(*state.divisible, *divisible),
        total_room=state.total_room - total(c.whole for c in consumers),
        cells=cells,
        scarce=held.scarce_in(cells),
        vgpu_held=tuple(sorted((a, tuple(sorted(p))) for a, p in held.vgpus.items())),
        actives=(),
    )


class _Held:
    """What VMs hold of a host's cards: whole ones, functions and vGPUs by card, and so many of some cells."""

    def __init__(self, state: HostState) -> None:
        self._state = state
        self._cell_of = {address: cell.index for cell in state.cells for address in cell.addresses}
        self._taken: set[PciAddress] = set()
        self._functions: dict[PciAddress, int] = {}
        self.vgpus: dict[PciAddress, list[str]] = {a: list(p) for a, p in state.vgpu_held}
        self._scarce = list(state.scarce)

    def place(self, demand: Demand, placement: Placement) -> None:
        """Count what a new placement takes."""
        for device in placement.devices:
            profile = demand.gpus[device.index].profile if device.ask == "gpu" else None
            if profile is not None:
                self.vgpus.setdefault(device.address, []).append(profile)
            elif device.ask == "nic" and demand.nics[device.index].kind == "sriov":
                self._functions[device.address] = self._functions.get(device.address, 0) + 1
            else:
                self._taken.add(device.address)

    def hold(self, holdings: tuple[Claim, ...]) -> None:
        """Count what a VM holds that stays."""
        for holding in holdings:
            cards = (holding.address,) if holding.address is not None else holding.candidates
            if holding.kind == "vf":
                for card in cards:
                    self._functions[card] = self._functions.get(card, 0) + 1
            elif holding.kind == "vgpu" and holding.group is None and holding.profile is not None:
                for card in cards:
                    self.vgpus.setdefault(card, []).append(holding.profile)
            elif holding.address is not None:
                self._taken.add(holding.address)
            else:
                cells = tuple(sorted({self._cell_of[a] for a in cards if a in self._cell_of}))
                if cells:
                    self._scarce.append((cells, 1))

    def cells_left(self) -> tuple[Cell, ...]:
        """Return the cells of the cards that are left."""
        cards = tuple(
            replace(
                cell.card,
                address=address,
                sriov_free_vfs=max(0, cell.card.sriov_free_vfs - self._functions.get(address, 0)),
            )
            for cell in self._state.cells
            for address in cell.addresses
            if address not in self._taken
        )
        return build_cells(cards, self._state.topology)

    def scarce_in(self, cells: tuple[Cell, ...]) -> tuple[tuple[tuple[int, ...], int], ...]:
        """Return, said by some cells, of which so many cards are held without a name."""
        old = {cell.index: cell.addresses for cell in self._state.cells}
        new = {address: cell.index for cell in cells for address in cell.addresses}
        return tuple(
            (tuple(sorted({new[a] for cell in group for a in old[cell] if a in new})), count)
            for group, count in self._scarce
        )


def seat(
    demand: Demand, options: tuple[Option, ...], state: HostState, instance: Instance
) -> Option | Shortage:
    """Return the first of a demand's options that fits a residual host, or why none does."""
    worst: list[Shortage] = []
    for option in options:
        found = _shortage_of(demand, option, state, instance)
        if found is None:
            return option
        worst.append(found)
    return _merge(worst)


def _shortage_of(demand: Demand, option: Option, state: HostState, instance: Instance) -> Shortage | None:
    return (
        _cards_short(option, state)
        or _split_short(option, state)
        or _room_short(demand, option, state, instance)
    )


def _cards_short(option: Option, state: HostState) -> Shortage | None:
    for group, count in state.scarce:
        used = sum(
            n for use in option.uses for cell, n in use.cells if cell in group and use.resource != "vf"
        )
        if used > sum(state.cells[cell].size for cell in group) - count and used:
            evidence = "running VMs hold some of these cards, and which ones vCenter does not tell"
            return Shortage("gpu-count", evidence)
    needs: dict[str, int] = {}
    for use in option.uses:
        if use.profile is not None:
            needs[use.profile] = needs.get(use.profile, 0) + use.count
    if len(needs) > 1 and not all_vgpus_fit(state, needs):
        return Shortage("vgpu", f"its vGPUs ({', '.join(sorted(needs))}) do not fit the cards together")
    return None


def _split_short(option: Option, state: HostState) -> Shortage | None:
    """Devices that are reset together go to one VM: say which one somebody else has."""
    free = {address for cell in state.cells for address in cell.addresses}
    taken = {cell for use in option.uses for cell, _ in use.cells}
    for group in state.topology.ownership_groups:
        gone = [
            a
            for a in group
            if a in state.held_beside or (a not in free and state.topology.device(a) is not None)
        ]
        mine = [a for cell in sorted(taken) for a in state.cells[cell].addresses if a in group]
        if gone and mine and len(group) > 1:
            evidence = f"{mine[0].short} is reset together with {gone[0].short}, which is not free"
            return Shortage("ownership-group", evidence)
    return None


def _room_short(demand: Demand, option: Option, state: HostState, instance: Instance) -> Shortage | None:
    consumer = consumer_of_demand(demand, option.nodes, state.host, instance.problem.request.options)
    if consumer is None:
        return None
    whole = consumer.whole
    if not whole.fits(state.total_room):
        return _which("", whole, state.total_room, "the host")
    if not state.node_ids:
        return None
    room = list(state.room)
    if consumer.seat is Seat.BOUND:
        for node in consumer.nodes:
            at = state.node_position(node)
            if not consumer.part.fits(room[at]):
                return _which("numa-", consumer.part, room[at], f"pNUMA {node}")
            room[at] = room[at] - consumer.part
        items, divisible = state.items, state.divisible
    else:
        more_items, more_divisible = as_items([consumer], state.node_ids)
        items, divisible = (*state.items, *more_items), (*state.divisible, *more_divisible)
    if fits(tuple(room), items, divisible) is Fit.YES:
        return None
    return Shortage("floating-packing", _floats(consumer, state, tuple(room), items))


def _floats(consumer: Consumer, state: HostState, room: tuple[Amount, ...], items: tuple[Item, ...]) -> str:
    """Say what has to go where when floating VMs do not fit beside or with a VM."""
    sizes = sorted(
        (amount.millicores / 1000 for amount, parts, _ in items for _ in range(parts)), reverse=True
    )
    nodes = "; ".join(
        f"pNUMA {node}: {max(0, left.millicores) / 1000:g} cores, {max(0, left.memory_mib) // 1024} GiB"
        for node, left in zip(state.node_ids, room, strict=True)
    )
    listed = ", ".join(f"{size:g}" for size in sizes[:6]) + (", ..." if len(sizes) > 6 else "")
    if consumer.seat is Seat.BOUND:
        return f"VMs that float between NUMA nodes ({listed} cores) do not fit into what it leaves ({nodes})"
    return f"it and the VMs that float beside it ({listed} cores) do not fit into the NUMA nodes ({nodes})"


def _which(prefix: str, need: Amount, room: Amount, where: str) -> Shortage:
    if need.memory_mib > max(0, room.memory_mib):
        left, needed = max(0, room.memory_mib) // 1024, -(-need.memory_mib // 1024)
        return Shortage(f"{prefix}memory", f"{needed} GiB needed, {where} has {left} GiB left")
    left_cores = max(0, room.millicores) / 1000
    evidence = f"{need.millicores / 1000:g} cores needed, {where} has {left_cores:g} left"
    return Shortage(f"{prefix}cpu", evidence)


def _merge(found: list[Shortage]) -> Shortage:
    """Name the constraint met most often; join its distinct evidence."""
    if not found:
        return Shortage("devices", "no choice of cards")
    counts: dict[str, int] = {}
    for item in found:
        counts[item.constraint] = counts.get(item.constraint, 0) + 1
    chosen = max(sorted(counts), key=lambda name: counts[name])
    evidence = list(dict.fromkeys(item.evidence for item in found if item.constraint == chosen))
    return Shortage(chosen, "; ".join(evidence[:4]))
