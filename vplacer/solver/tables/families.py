"""Hosts that differ only in what is left of them are one family: the same seatings, other residuals."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from vplacer.constraints.supply import overcommit_of
from vplacer.inventory.pci import PciAddress
from vplacer.request.demand import BoundBy, RequestOptions
from vplacer.solver.barred import Barred
from vplacer.solver.host_state import HostState
from vplacer.solver.instance import Instance
from vplacer.solver.kinds import HostKind
from vplacer.solver.option import Option
from vplacer.solver.tables.items import Item
from vplacer.solver.tables.seatings import Part, Seating, Slot, seatings_of, slots_of
from vplacer.solver.tables.settling import Settling
from vplacer.solver.tables.vgpu_room import vgpu_room


@dataclass(frozen=True)
class Member:
    """A kind of host in its family: free devices per node position and slot."""

    kind: HostKind
    slots: tuple[Slot, ...]
    sizes: Mapping[tuple[int, Slot], int]


@dataclass(frozen=True)
class Family:
    """Kinds of hosts with the same seatings, as far as what is free allows each.

    ``only``: seatings, by number, that only some members have although others have the devices too (what
    a label or the platform may choose depends on all that is free), and which members. What rows say of
    single hosts is the same for all of them.
    """

    members: tuple[Member, ...]
    seatings: tuple[Seating, ...]
    only: Mapping[int, frozenset[int]]

    def part(self, numbers: Sequence[int]) -> Family:
        """Return the family with some of its members only, by number; the seatings stay the same."""
        at = {number: new for new, number in enumerate(numbers)}
        only = {
            name: frozenset(at[number] for number in members if number in at)
            for name, members in self.only.items()
        }
        return Family(tuple(self.members[number] for number in numbers), self.seatings, only)


def build_families(
    instance: Instance, kinds: Sequence[HostKind], items: Sequence[Item], terms: Mapping[str, object]
) -> tuple[Family, ...]:
    """Group kinds of hosts into families.

    Args:
        instance: the instance.
        kinds: kinds whose hosts decompose into nodes.
        items: the items.
        terms: by host moid, what rows say of single hosts; hosts that are not named share it.
    """
    ratios = instance.problem.request.options
    barred = Barred(instance.problem, tuple(instance.classes[item.lead] for item in items))
    groups: dict[object, list[HostKind]] = defaultdict(list)
    for kind in kinds:
        state = kind.task.state
        key = (id(state.topology), _sizes_key(state, ratios), barred.on(state))
        groups[key].append(kind)
    families: list[Family] = []
    for members in groups.values():
        whole = _Builder(instance, members, items).build()
        families += _by_terms(whole, terms)
    return tuple(families)


def _by_terms(family: Family, terms: Mapping[str, object]) -> list[Family]:
    """Split a family by what rows say of its hosts; the seatings, and so the tables, stay the same."""
    groups: dict[object, list[int]] = defaultdict(list)
    for number, member in enumerate(family.members):
        groups[terms.get(member.kind.task.state.host.moid)].append(number)
    return [family.part(numbers) for numbers in groups.values()]


def _sizes_key(state: HostState, options: RequestOptions) -> object:
    """All that the size of a VM on a host depends on."""
    host = state.host
    nodes = tuple((node.id, node.core_count) for node in host.numa_nodes)
    return (
        overcommit_of(options, host.cluster),
        host.core_count,
        host.thread_count,
        host.hyperthreading_active,
        host.cpu_hz,
        nodes,
        host.vgpu_profiles,
        host.vgpu_types,
    )


def needless_but_for_points(family: Family) -> list[int]:
    """Return the seatings, by number, that only some hosts have and all of these have a sure one for.

    That is of the same item and takes the same, for fewer points or without a condition.
    """
    alike: dict[object, list[int]] = defaultdict(list)
    for number, seating in enumerate(family.seatings):
        alike[seating.item, seating.parts, seating.tokens].append(number)
    found = []
    for number, mine in sorted(family.only.items()):
        seating = family.seatings[number]
        left = set(mine)
        for other in alike[seating.item, seating.parts, seating.tokens]:
            known = family.seatings[other]
            if known.sure and (not seating.sure or (known.points, other) < (seating.points, number)):
                left -= family.only.get(other, left)
        if not left:
            found.append(number)
    return found


Seat = tuple[tuple[Part, ...], tuple[tuple[str, int], ...]]
"""Parts and vGPUs of a seating."""


class _Builder:
    """Builds the families of hosts with one topology."""

    def __init__(self, instance: Instance, kinds: list[HostKind], items: Sequence[Item]) -> None:
        self.instance = instance
        self.items = items
        least = _least_addresses([kind.task.state for kind in kinds])
        same: dict[object, tuple[Slot, ...]] = {}
        self.members = tuple(_member(kind, least, same) for kind in kinds)
        places = sorted({place for member in self.members for place in member.sizes}, key=str)
        self.column = {place: number for number, place in enumerate(places)}
        self.free = np.array(
            [[member.sizes.get(place, 0) for place in places] for member in self.members], np.int32
        ).reshape(len(self.members), len(places))
        self._rooms: dict[tuple[int, tuple[str, ...]], tuple[tuple[int, ...], ...]] = {}
        self._settling = Settling(instance.classes, instance.problem.request.options)
        self._said: dict[tuple[int, int, int], tuple[Seating, ...]] = {}

    def build(self) -> Family:
        """Return the family."""
        seatings: list[Seating] = []
        only: dict[int, frozenset[int]] = {}
        whole = self._largest()
        for item in self.items:
            listed = [member.kind.task.options.get(item.lead) for member in self.members]
            if not any(listed):
                continue
            if any(_steered(options) for options in {id(o): o for o in listed if o}.values()):
                self._add_steered(item, seatings, only)
            else:
                seatings += {s.what: s for number in whole for s in self._own(item, number)}.values()
        return Family(self.members, tuple(seatings), only)

    def _own(self, item: Item, number: int) -> tuple[Seating, ...]:
        """The seatings of an item on one kind, from its own options."""
        member = self.members[number]
        options = member.kind.task.options.get(item.lead, ())
        key = (item.index, id(options), id(member.slots))
        if key not in self._said:
            cls = self.instance.classes[item.lead]
            state = member.kind.task.state
            self._said[key] = tuple(
                seatings_of(
                    item.index, cls, options, state, member.slots, self.instance.problem.request.options
                )
            )
        return self._said[key]

    def _add_steered(self, item: Item, seatings: list[Seating], only: dict[int, frozenset[int]]) -> None:
        """Add the seatings of a steered item, and note those that not all have whose devices suffice.

        Where members differ in a seating's points alone, all have it with the fewest.
        """
        sure: dict[Seat, dict[int, Seating]] = defaultdict(dict)
        others: dict[Seat, list[tuple[int, Seating]]] = defaultdict(list)
        for number in range(len(self.members)):
            for seating in self._own(item, number):
                place = (seating.parts, seating.tokens)
                sure.setdefault(place, {})
                if not seating.sure:
                    if self._may_hold(item, number, seating):
                        others[place].append((number, seating))
                elif number not in sure[place] or seating.points > sure[place][number].points:
                    sure[place][number] = seating
        for place, has in sure.items():
            variants: dict[object, dict[int, Seating]] = defaultdict(dict)
            least = min(has.values(), key=lambda s: s.points, default=None)
            everywhere = least is not None and not (self._room_for(least) - has.keys())
            if least is not None and everywhere:
                seatings.append(least)
            for number, seating in [*has.items(), *others[place]]:
                known = has.get(number) if not seating.sure else least if everywhere else None
                if known is None or seating.points > known.points:
                    told = replace(seating, settles=self._settles(number, seating))
                    variants[told.points, told.sure, told.settles][number] = told
            for alike in variants.values():
                only[len(seatings)] = frozenset(alike)
                seatings.append(alike[min(alike)])

    def _may_hold(self, item: Item, number: int, seating: Seating) -> bool:
        """Whether what an unsure seating counts on may come true on a member."""
        task = self.members[number].kind.task
        option = task.options[item.lead][seating.number]
        return self._settling.may_hold(option, item.lead, task)

    def _settles(self, number: int, seating: Seating) -> tuple[tuple[int, Slot], ...]:
        """What a seating settles on a member, and what of the same labels is used up there by itself.

        Said like this most members settle the same.
        """
        if not seating.settles:
            return ()
        sizes = self.members[number].sizes
        position = seating.settles[0][0]
        labels = {_label(slot) for _, slot in seating.loose}
        takes = {
            slot: count for part in seating.parts if part.position == position for slot, count in part.takes
        }
        return tuple(
            place
            for place in self.column
            if place in seating.settles
            or (
                place[0] == position
                and _label(place[1]) in labels
                and sizes.get(place, 0) == takes.get(place[1], 0)
            )
        )

    def _room_for(self, seating: Seating) -> set[int]:
        """Which members have the devices that a seating takes."""
        room = np.ones(len(self.members), bool)
        for part in seating.parts:
            for slot, count in part.takes:
                column = self.column.get((part.position, slot))
                if column is None:
                    return set()
                room &= self.free[:, column] >= count
        found = {int(number) for number in np.nonzero(room)[0]}
        if seating.tokens:
            found = {number for number in found if self._seats(number, dict(seating.tokens))}
        return found

    def _seats(self, number: int, tokens: dict[str, int]) -> bool:
        """Whether a member's cards take some vGPUs together."""
        state = self.members[number].kind.task.state
        names = tuple(sorted(tokens))
        key = (id(state), names)
        if key not in self._rooms:
            self._rooms[key] = vgpu_room(state, names)
        return any(
            all(have >= tokens[name] for have, name in zip(room, names, strict=True))
            for room in self._rooms[key]
        )

    def _largest(self) -> list[int]:
        """Members of which no other has as much of everything free: theirs are all the seatings there are."""
        rows, first = np.unique(self.free, axis=0, return_index=True)
        kept = [int(at) for row, at in zip(rows, first, strict=True) if int((rows >= row).all(1).sum()) == 1]
        return sorted(kept)


def _label(slot: Slot) -> object:
    """The label of the whole cards of a slot; not of their functions, which nobody else chooses by it."""
    return slot[3] if slot[0] != "function" else ()


def _steered(options: Sequence[Option]) -> bool:
    """Whether somebody else chooses a card: then what is free elsewhere matters too."""
    return any(use.bound_by is not BoundBy.STATIC for option in options for use in option.uses)


def _least_addresses(states: list[HostState]) -> dict[PciAddress, PciAddress]:
    """The smallest address among those that share a cell on some host."""
    parent: dict[PciAddress, PciAddress] = {}

    def root(address: PciAddress) -> PciAddress:
        while parent[address] != address:
            address = parent[address]
        return address

    for addresses in {cell.addresses for state in states for cell in state.cells}:
        for address in addresses:
            parent.setdefault(address, address)
        first = root(addresses[0])
        for address in addresses[1:]:
            other = root(address)
            low, high = min(first, other), max(first, other)
            parent[high] = low
            first = low
    return {address: root(address) for address in parent}


def _member(
    kind: HostKind, least: dict[PciAddress, PciAddress], same: dict[object, tuple[Slot, ...]]
) -> Member:
    """Return a kind as a member; members with the same cells share the tuple of ``slots``, by ``same``."""
    state = kind.task.state
    slots = slots_of(state, least)
    slots = same.setdefault((slots, tuple(cell.card.node for cell in state.cells)), slots)
    sizes: dict[tuple[int, Slot], int] = defaultdict(int)
    for cell, slot in zip(state.cells, slots, strict=True):
        node = cell.card.node
        position = state.node_position(node) if node is not None and node in state.node_ids else -1
        sizes[position, slot] += cell.size
        if cell.virtual_functions:
            sizes[position, ("function", *slot)] += cell.virtual_functions
    return Member(kind, slots, dict(sizes))
