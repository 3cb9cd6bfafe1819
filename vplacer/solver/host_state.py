"""What a host still has, once every VM that the plan cannot touch has taken its part."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from vplacer.constraints.holdings import (
    VF,
    VGPU,
    AssignableDevice,
    Claim,
    cards_of_host,
    holdings_on,
    vm_holdings,
)
from vplacer.constraints.loads import supply_of, vm_consumer
from vplacer.constraints.packing import Divisible, Fit, Item, fits
from vplacer.constraints.state import Problem, of_one_host
from vplacer.constraints.supply import Amount, Consumer, HostSupply, Seat, consumer_of_vm, host_supply, total
from vplacer.inventory.host import Host
from vplacer.inventory.pci import PciAddress
from vplacer.inventory.vm import Vm
from vplacer.request.demand import RequestOptions
from vplacer.solver.cells import Cell, build_cells
from vplacer.topology.claims import narrowed
from vplacer.topology.host_topology import HostTopology


@dataclass(frozen=True, slots=True)
class ActiveVm:
    """A running VM on the host that the plan may change, as it consumes today."""

    class_index: int
    vm: Vm
    consumer: Consumer | None
    holdings: tuple[Claim, ...]


@dataclass(frozen=True, slots=True)
class HostState:
    """One host as the solver sees it.

    ``room``: per node (order of ``node_ids``), what VMs the plan cannot touch leave when bound to it;
    may be negative. ``items`` and ``divisible``: those among them that float. ``total_room``: the
    host's total less all of them. ``cells``: cards not surely held by one of them; ``scarce``: for
    each such VM whose card is not known, the cells one of whose cards it holds. ``unnamed``: the same
    by address, cards that others hold included. ``vgpu_held``: profiles on each card.
    ``held_beside``: devices that are no card here (a disk controller, say), that one of them holds, and
    that are reset together with others. ``overfull``: today's VMs do not fit by this arithmetic.
    """

    host: Host
    topology: HostTopology
    supply: HostSupply
    node_ids: tuple[int, ...]
    room: tuple[Amount, ...]
    items: tuple[Item, ...]
    divisible: tuple[Divisible, ...]
    total_room: Amount
    cells: tuple[Cell, ...]
    scarce: tuple[tuple[tuple[int, ...], int], ...]
    unnamed: tuple[tuple[tuple[PciAddress, ...], int], ...]
    vgpu_held: tuple[tuple[PciAddress, tuple[str, ...]], ...]
    held_beside: tuple[PciAddress, ...]
    actives: tuple[ActiveVm, ...]
    overfull: bool
    standing_count: int

    def sure_size(self, cells: Iterable[int]) -> int:
        """Cards of some cells that are free whichever cards the VMs of ``scarce`` hold."""
        wanted = set(cells)
        size = sum(self.cells[cell].size for cell in wanted)
        for group, count in self.scarce:
            size -= min(count, sum(self.cells[cell].size for cell in wanted.intersection(group)))
        return max(0, size)

    def node_position(self, node: int) -> int:
        """Position of a node id in ``room``."""
        return self.node_ids.index(node)


def as_items(
    consumers: list[Consumer], node_ids: tuple[int, ...]
) -> tuple[tuple[Item, ...], tuple[Divisible, ...]]:
    """Turn floating consumers into items and divisible amounts over node positions."""
    position = {node: index for index, node in enumerate(node_ids)}
    items: list[Item] = []
    divisible: list[Divisible] = []
    for consumer in consumers:
        allowed = tuple(sorted(position[node] for node in consumer.nodes))
        if consumer.seat is Seat.ITEM:
            items.append((consumer.part, consumer.parts, allowed))
        elif consumer.seat is Seat.DIVISIBLE:
            divisible.append((consumer.whole, allowed))
    key = _item_key
    return tuple(sorted(items, key=key)), tuple(
        sorted(divisible, key=lambda d: (d[0].millicores, d[0].memory_mib, d[1]))
    )


def _item_key(item: Item) -> tuple[int, int, int, tuple[int, ...]]:
    return (item[0].millicores, item[0].memory_mib, item[1], item[2])


def bound_per_node(consumers: list[Consumer], node_ids: tuple[int, ...]) -> tuple[Amount, ...]:
    """Sum what bound consumers take of each node."""
    taken = {node: [0, 0] for node in node_ids}
    for consumer in consumers:
        if consumer.seat is Seat.BOUND:
            for node in consumer.nodes:
                if node in taken:
                    taken[node][0] += consumer.part.millicores
                    taken[node][1] += consumer.part.memory_mib
    return tuple(Amount(*taken[node]) for node in node_ids)


def build_host_state(
    problem: Problem, host: Host, standing: tuple[Vm, ...], actives: tuple[tuple[int, Vm], ...]
) -> HostState:
    """Build the state of a host.

    Args:
        problem: inventory, topologies and options.
        host: the host.
        standing: VMs on it that the plan cannot touch.
        actives: (class index, VM) of those it may.
    """
    topology = problem.topologies[host.moid]
    own = host is problem.inventory.host_by_moid.get(host.moid)
    supply = supply_of(problem, host.moid) if own else host_supply(host, problem.request.options)
    node_ids = tuple(node.id for node in supply.nodes)
    consumers = [c for vm in standing if (c := _consumer(problem, host, vm, own)) is not None]
    bound = bound_per_node(consumers, node_ids)
    room = tuple(node.amount - taken for node, taken in zip(supply.nodes, bound, strict=True))
    items, divisible = as_items(consumers, node_ids)
    total_room = supply.total - total(c.whole for c in consumers)
    active_vms = tuple(
        ActiveVm(index, vm, _consumer(problem, host, vm, own), vm_holdings(problem, vm.moid))
        for index, vm in actives
    )
    cards = _cards(problem, host, standing)
    cells = build_cells(cards.cards, topology)
    cell_of = {address: cell.index for cell in cells for address in cell.addresses}
    scarce = tuple(
        (tuple(sorted({cell_of[address] for address in candidates if address in cell_of})), count)
        for candidates, count in cards.scarce
    )
    return HostState(
        host=host,
        topology=topology,
        supply=supply,
        node_ids=node_ids,
        room=room,
        items=items,
        divisible=divisible,
        total_room=total_room,
        cells=cells,
        scarce=scarce,
        unnamed=cards.scarce,
        vgpu_held=cards.vgpu_held,
        held_beside=tuple(
            address
            for group in topology.ownership_groups
            for address in group
            if address in cards.held and topology.device(address) is None
        ),
        actives=active_vms,
        overfull=_overfull(supply, consumers, active_vms, room, items, divisible),
        standing_count=len(standing),
    )


def _consumer(problem: Problem, host: Host, vm: Vm, own: bool) -> Consumer | None:
    """What a VM takes; ``own``: the host is the inventory's, not one as it might be."""
    if own and vm.host == host.moid:
        return vm_consumer(problem, vm.moid)
    return consumer_of_vm(vm, host, problem.request.options)


def untouched_state(problem: Problem, host: str) -> HostState:
    """Return the state of a host on which the plan may change no VM.

    It is computed once for all requests with the same options.
    """
    return problem.derive_fact(_untouched, host, problem.request.options)


@of_one_host
def _untouched(problem: Problem, moid: str, _options: RequestOptions) -> HostState:
    here = problem.inventory.vms_by_host.get(moid, ())
    standing = tuple(vm for vm in here if not vm.template)
    return build_host_state(problem, problem.inventory.host_by_moid[moid], standing, ())


def _overfull(
    supply: HostSupply,
    consumers: list[Consumer],
    actives: tuple[ActiveVm, ...],
    room: tuple[Amount, ...],
    items: tuple[Item, ...],
    divisible: tuple[Divisible, ...],
) -> bool:
    """Whether today's VMs do not fit.

    ``room``: what the bound ones of ``consumers`` leave of each node; ``items``, ``divisible``: the others.
    """
    more = [active.consumer for active in actives if active.consumer is not None]
    if not total(c.whole for c in (*consumers, *more)).fits(supply.total):
        return True
    node_ids = tuple(node.id for node in supply.nodes)
    if more:
        room = tuple(r - taken for r, taken in zip(room, bound_per_node(more, node_ids), strict=True))
        items, divisible = as_items(consumers + more, node_ids)
    if any(left.millicores < 0 or left.memory_mib < 0 for left in room):
        return True
    return bool(node_ids) and fits(room, items, divisible) is not Fit.YES


def _less(card: AssignableDevice, functions: int) -> AssignableDevice:
    """A port of which VMs hold functions."""
    return replace(card, sriov_free_vfs=max(0, card.sriov_free_vfs - functions), passthrough=False)


@dataclass(frozen=True, slots=True)
class _Cards:
    cards: tuple[AssignableDevice, ...]
    scarce: tuple[tuple[tuple[PciAddress, ...], int], ...]
    vgpu_held: tuple[tuple[PciAddress, tuple[str, ...]], ...]
    held: frozenset[PciAddress]


def _cards(problem: Problem, host: Host, standing: tuple[Vm, ...]) -> _Cards:
    """Sort the host's cards by what untouchable VMs hold of them, and VMs that are not known to be on it.

    A VM that holds a whole card nobody names takes one of its candidates from everybody else; a
    virtual function or vGPU nobody names the port or card of counts on each it may be on.
    """
    held: set[PciAddress] = set()
    vgpus: dict[PciAddress, list[str]] = {}
    unsure: dict[tuple[PciAddress, ...], int] = {}
    functions: dict[PciAddress, int] = {}
    for holding in narrowed(holdings_on(problem, host, standing)):
        if holding.kind == VF:
            ports = (holding.address,) if holding.address is not None else holding.candidates
            for port in ports:
                functions[port] = functions.get(port, 0) + 1
        elif holding.kind == VGPU and holding.group is None and holding.profile is not None:
            cards_of = (holding.address,) if holding.address is not None else holding.candidates
            for card in cards_of:
                vgpus.setdefault(card, []).append(holding.profile)
        elif holding.address is not None:
            held.add(holding.address)
        elif holding.candidates:
            unsure[holding.candidates] = unsure.get(holding.candidates, 0) + 1
    cards = tuple(
        _less(card, functions[card.address]) if card.address in functions else card
        for card in cards_of_host(problem, host).devices
        if card.unusable is None and card.address not in held
    )
    return _Cards(
        cards,
        tuple(sorted(unsure.items())),
        tuple(sorted((address, tuple(sorted(profiles))) for address, profiles in vgpus.items())),
        frozenset(held),
    )
