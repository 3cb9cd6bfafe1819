"""How many VMs of each shape a host still takes, each shape by itself, beside all that is placed there.

Counted at the worst of what is not settled. A card that vSphere chooses may fall into any place it can
come from: where these are several, each of the first spoils a VM in another place, and of the rest as
many spoil one more as a VM takes. VMs that float between NUMA nodes count on the host as a whole, as if
they could be divided: they keep no node from anybody.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from vplacer.constraints.supply import Amount, Consumer, Seat
from vplacer.inventory.pci import PciAddress
from vplacer.solver.future.places import Group, Need, ShapeHere
from vplacer.solver.future.taken import Taken
from vplacer.solver.host_state import HostState
from vplacer.solver.vgpu_patterns import card_patterns

Held = Mapping[PciAddress, tuple[str, ...]]
"""Profiles of the vGPUs on each card."""


@dataclass
class Left:
    """What a host has left.

    ``state``: beside the VMs that the plan cannot touch. ``kept``: whole cards, and ports a function of
    which is held, of VMs that keep their place; ``vgpus``: their vGPUs on each card. ``taken``: what
    placements take, and holders that nobody names the card of. ``rooms``: of each node, beside what is
    bound to it. ``total``: of the host, beside everything.
    """

    state: HostState
    rooms: list[Amount]
    total: Amount
    kept: set[PciAddress] = field(default_factory=set)
    vgpus: dict[PciAddress, list[str]] = field(default_factory=dict)
    taken: list[Taken] = field(default_factory=list)

    def consume(self, consumer: Consumer | None, count: int = 1) -> None:
        """Take the CPU and memory of VMs away."""
        if consumer is None:
            return
        for _ in range(count):
            self.total = self.total - consumer.whole
            for node in consumer.nodes if consumer.seat is Seat.BOUND else ():
                at = self.state.node_position(node)
                self.rooms[at] = self.rooms[at] - consumer.part


def left_of(state: HostState) -> Left:
    """Return what a host has left where nothing is placed and no VM that may go keeps its place."""
    taken = [Taken(frozenset(cards), count) for cards, count in state.unnamed]
    return Left(state, list(state.room), state.total_room, taken=taken)


def mix_points(shapes: tuple[ShapeHere, ...], left: Left) -> int:
    """Return the points of what could still be placed of the mix."""
    return sum(shape.points * count for shape, count in zip(shapes, counts(shapes, left), strict=True))


def counts(shapes: tuple[ShapeHere, ...], left: Left) -> tuple[int, ...]:
    """Return how many VMs of each shape the host still takes, each shape by itself."""
    units = Units(left)
    return tuple(_count(shape, left, units) for shape in shapes)


class Units:
    """What each free card is good for."""

    def __init__(self, left: Left) -> None:
        self.state = left.state
        held = dict(left.state.vgpu_held)
        for address, profiles in left.vgpus.items():
            held[address] = tuple(sorted((*held.get(address, ()), *profiles)))
        self.held: Held = held
        self.cards = {
            address: cell.card
            for cell in left.state.cells
            for address in cell.addresses
            if address not in left.kept and (cell.card.kind == "gpu" or cell.card.passthrough)
        }
        self._known: dict[tuple[PciAddress, str], int] = {}

    def of(self, address: PciAddress, profile: str | None) -> int:
        """Return 1 for a whole card, or how many vGPUs of a profile it still takes."""
        card = self.cards.get(address)
        if card is None:
            return 0
        if profile is None:
            return int(not self.held.get(address))
        key = (address, profile)
        if key not in self._known:
            self._known[key] = vgpus_on(self.state, address, profile, self.held.get(address, ()))
        return self._known[key]


def vgpus_on(state: HostState, address: PciAddress, profile: str, held: tuple[str, ...]) -> int:
    """Return how many vGPUs of a profile a free card takes beside others."""
    card = next(cell.card for cell in state.cells if address in cell.addresses)
    return max(pattern[0] for pattern in card_patterns(state.host, card, held, (profile,)))


def loss(need: Need, taken: Taken, of_card: int) -> int:
    """Return how much of what a need counts each device taken spoils.

    ``of_card``: what its card was good for, where the plan names it.
    """
    if need.profile is None:
        return 1
    if taken.profile is None:
        return of_card if len(taken.cards) == 1 else need.most
    return dict(need.losses).get(taken.profile, need.most)


def touched(need: Need, taken: Taken) -> list[int]:
    """Return the zones of a need in which a device taken may lie."""
    return [number for number, zone in enumerate(need.zones) if not zone.isdisjoint(taken.cards)]


def _count(shape: ShapeHere, left: Left, units: Units) -> int:
    free: list[list[int]] = []
    spoilt = 0
    for need in shape.needs:
        here = [sum(units.of(card, need.profile) for card in zone) for zone in need.zones]
        loose = 0
        for taken in left.taken:
            zones = touched(need, taken)
            if not zones:
                continue
            of_card = units.of(next(iter(taken.cards)), need.profile) if len(taken.cards) == 1 else 0
            lost = taken.count * loss(need, taken, of_card)
            if len(zones) == 1:
                here[zones[0]] -= lost
            else:
                loose += lost
        free.append([max(0, number) // need.count for number in here])
        spoilt += spoilt_by(loose, need.count, shape.place_count)
    number = sum(_of_group(shape, at, group, free, left) for at, group in enumerate(shape.groups))
    number = min(number - spoilt, times(shape.whole, left.total))
    if shape.groups[0].node is None and left.state.node_ids and not shape.divisible:
        number = min(number, sum(times(shape.part, room) for room in left.rooms) // shape.parts)
    return max(0, number)


def spoilt_by(loose: int, count: int, places: int) -> int:
    """Return how many VMs of ``count`` devices each cards may spoil that may lie in several places."""
    return min(loose, places + max(0, loose - places) // count)


def _of_group(shape: ShapeHere, at: int, group: Group, free: list[list[int]], left: Left) -> int:
    """Return how many VMs the places of one group take, by devices, and by the node's CPU and memory."""
    fine = [numbers for need, numbers in zip(shape.needs, free, strict=True) if need.fine]
    rest = [numbers for need, numbers in zip(shape.needs, free, strict=True) if not need.fine]
    if not shape.needs:
        return times(shape.whole, left.total)
    number = sum(min(numbers[place] for numbers in fine) for place in group.places)
    if rest:
        number = min(number, *(numbers[at] for numbers in rest))
    if group.node is not None:
        number = min(number, times(shape.part, left.rooms[left.state.node_position(group.node)]))
    return number


def times(part: Amount, room: Amount) -> int:
    """Return how often an amount fits a room."""
    limits = [
        max(0, have) // each
        for each, have in ((part.millicores, room.millicores), (part.memory_mib, room.memory_mib))
        if each > 0
    ]
    return min(limits, default=0)
