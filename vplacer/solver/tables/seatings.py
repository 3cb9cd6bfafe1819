"""The options of a host said by node and slot, so that hosts of one family speak of the same things.

A slot is a set of interchangeable cards of a family; a host of the family has some of them free.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from vplacer.constraints.supply import Amount, Seat, consumer_of_demand
from vplacer.inventory.pci import PciAddress
from vplacer.request.demand import BoundBy, RequestOptions
from vplacer.solver.classes import DemandClass
from vplacer.solver.host_state import HostState
from vplacer.solver.option import Option, takes_function

Slot = tuple[object, ...]
"""What tells a slot: its smallest address in the family and what may differ between its hosts."""

Place = tuple[int, Slot]
"""A slot, and the position of its node."""


@dataclass(frozen=True, slots=True)
class Part:
    """What a seating takes of one node (position): devices per slot, cores and memory."""

    position: int
    takes: tuple[tuple[Slot, int], ...]
    amount: Amount


@dataclass(frozen=True, slots=True)
class Seating:
    """One way for an item to sit on a host.

    ``tokens``: vGPUs per profile, seated on whichever card has room. ``number``: of the option it
    comes from. ``sure``: the parts say all; False = the host model knows of more conditions.
    ``splits``: the VM may also lie on several nodes at once, as no seating says. ``drawn``: vSphere chooses
    cards of it from all that match. ``loose``: cards of these slots are chosen by a label or the platform.
    ``settles``: slots of one node that VMs whose cards are chosen by name must use up, which is then all that
    the host model knows beside the parts.
    """

    item: int
    parts: tuple[Part, ...]
    tokens: tuple[tuple[str, int], ...]
    points: int
    number: int
    sure: bool = True
    splits: bool = False
    drawn: bool = False
    loose: tuple[Place, ...] = ()
    settles: tuple[Place, ...] = ()

    @property
    def what(self) -> object:
        """What it takes, whichever option it comes from."""
        return (self.item, self.parts, self.tokens, self.points)


def slots_of(state: HostState, least: dict[PciAddress, PciAddress]) -> tuple[Slot, ...]:
    """Return the slot of each cell of a host.

    Args:
        state: the host.
        least: the smallest address of those that some host of the family has in one cell with it.
    """
    return tuple(
        (
            str(least[cell.addresses[0]]),
            cell.card.kind,
            cell.card.passthrough,
            cell.card.label,
            cell.card.vgpu,
            cell.card.mode,
            cell.card.sriov_free_vfs,
        )
        for cell in state.cells
    )


def seatings_of(
    item: int,
    cls: DemandClass,
    listed: Sequence[Option],
    state: HostState,
    slots: tuple[Slot, ...],
    options: RequestOptions,
) -> list[Seating]:
    """Say the options of an item on a host by node and slot.

    A VM that floats is seated on each choice of nodes that it may float to: its home is not fixed, but
    somewhere it must fit.
    """
    found = []
    rooms: dict[tuple[int, ...], tuple[list[tuple[int, ...]], Amount, bool]] = {}
    for number, option in enumerate(listed):
        if option.nodes not in rooms:
            rooms[option.nodes] = _room(cls, option.nodes, state, options)
        homes, amount, splits = rooms[option.nodes]
        devices, tokens, plain = _devices(option, state, slots)
        drawn = any(use.cells and use.bound_by is BoundBy.PLATFORM for use in option.uses)
        sure = plain and not option.settles and not option.alone
        loose = _loose(option, state, slots)
        settles = _settles(option, state, slots) if plain and option.settles else ()
        for home in homes:
            parts = tuple(
                Part(
                    position,
                    _in_order(devices.get(position)),
                    amount if position in home else Amount(0, 0),
                )
                for position in sorted({*home, *devices})
            )
            found.append(
                Seating(item, parts, tokens, option.points, number, sure, splits, drawn, loose, settles)
            )
    return found


def _loose(option: Option, state: HostState, slots: tuple[Slot, ...]) -> tuple[Place, ...]:
    """The slots of whole cards that an option takes and that somebody else chooses."""
    found: set[Place] = set()
    for use in option.uses:
        if use.bound_by is not BoundBy.STATIC:
            found |= {
                (cell_position(state, cell), slots[cell])
                for cell, _ in use.cells
                if not takes_function(use, state.cells[cell])
            }
    return tuple(sorted(found, key=str))


def _settles(option: Option, state: HostState, slots: tuple[Slot, ...]) -> tuple[Place, ...]:
    """The slots that must be used up by cards chosen by name; none if more than that is asked, or less.

    Less: there is another way to take the cards out of the choice, or one slot holds others too.
    """
    if option.alone or not all(
        use.bound_by is BoundBy.LABEL and use.resource == "card" for use in option.uses
    ):
        return ()
    labels = {state.cells[cell].card.label for use in option.uses for cell, _ in use.cells}
    taken: Counter[int] = Counter()
    for use in option.uses:
        taken.update(dict(use.cells))
    gone = {cell for cell in option.settles if state.cells[cell].size > taken[cell]}
    places = {(cell_position(state, cell), slots[cell]) for cell in gone}
    for number, cell in enumerate(state.cells):
        inside = (cell_position(state, number), slots[number]) in places
        if inside and (cell.card.vgpu or cell.card.label not in labels):
            return ()
        if inside and number not in gone and cell.size > taken[number]:
            return ()
    if len({position for position, _ in places}) != 1 or min(places, key=str)[0] < 0:
        return ()
    return tuple(sorted(places, key=str))


def cell_position(state: HostState, cell: int) -> int:
    """Return the position of the node that a cell is on, -1 if that is unknown."""
    node = state.cells[cell].card.node
    return state.node_position(node) if node is not None and node in state.node_ids else -1


def _room(
    cls: DemandClass, nodes: tuple[int, ...], state: HostState, options: RequestOptions
) -> tuple[list[tuple[int, ...]], Amount, bool]:
    """Positions of nodes that a VM may lie on, what it takes of each, and whether it may lie on others."""
    consumer = consumer_of_demand(cls.demand, nodes, state.host, options)
    if consumer is None:
        return [()], Amount(0, 0), False
    if consumer.seat is Seat.BOUND:
        return [tuple(state.node_position(node) for node in consumer.nodes)], consumer.part, False
    homes = _homes(state, consumer.parts)
    return homes, consumer.part, len(homes) > 1 and consumer.seat is Seat.DIVISIBLE


def _in_order(devices: dict[Slot, int] | None) -> tuple[tuple[Slot, int], ...]:
    if not devices:
        return ()
    return tuple(sorted(devices.items(), key=str) if len(devices) > 1 else devices.items())


def _homes(state: HostState, parts: int) -> list[tuple[int, ...]]:
    from itertools import combinations

    positions = [state.node_position(node.id) for node in state.host.numa_nodes if node.core_count > 0]
    return list(combinations(positions, parts))


def _devices(
    option: Option, state: HostState, slots: tuple[Slot, ...]
) -> tuple[dict[int, dict[Slot, int]], tuple[tuple[str, int], ...], bool]:
    """Devices per node position and slot, vGPUs per profile, and whether that says all."""
    found: dict[int, dict[Slot, int]] = {}
    tokens: dict[str, int] = {}
    plain = True
    for use in option.uses:
        if use.resource == "vgpu":
            tokens[use.profile or ""] = tokens.get(use.profile or "", 0) + use.count
            continue
        for index, count in use.cells:
            cell = state.cells[index]
            slot = slots[index]
            if takes_function(use, cell):
                slot = ("function", *slot)
                plain = plain and not cell.card.passthrough
            here = found.setdefault(cell_position(state, index), {})
            here[slot] = here.get(slot, 0) + count
    return found, tuple(sorted(tokens.items())), plain
