"""Promises on which VMs of a family rely: that cards chosen by name use up some slots of a node.

A label that several free cards carry gives any of them. Who wants one of them for sure counts on the others
being taken by name: see `Promise`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from vplacer.solver.tables.families import Family
from vplacer.solver.tables.seatings import Place, Seating
from vplacer.solver.tables.slots import JOINS, RELIES, UNTIED, Promise, Takes

MOST_PROMISES = 8
"""Promises of one node beyond which none is kept track of: then the host model is asked."""


@dataclass(frozen=True, slots=True)
class NodePromises:
    """The promises of one node: ``places`` of each, and the slot of the first."""

    position: int
    places: tuple[tuple[Place, ...], ...]
    first: int

    def at(self, slots: Sequence[object]) -> tuple[Promise, ...]:
        """Return them by number of the node's slots."""
        at = {slot: number for number, slot in enumerate(slots)}
        return tuple(
            Promise(self.first + number, tuple(sorted(at[slot] for _, slot in places if slot in at)))
            for number, places in enumerate(self.places)
        )

    def kept(self, seating: Seating) -> bool:
        """Whether a seating relies on one of them."""
        return bool(seating.settles) and seating.settles in self.places

    def takes(self, seating: Seating) -> Takes:
        """Return what a seating takes of the slots of the promises."""
        loose = {place for place in seating.loose if place[0] == self.position}
        found = []
        for number, places in enumerate(self.places):
            own = not loose.isdisjoint(places)
            if seating.settles == places:
                found.append((self.first + number, RELIES if own else JOINS))
            elif own:
                found.append((self.first + number, UNTIED))
        return tuple(found)


def node_promises(seatings: Sequence[Seating], position: int, slots: int) -> NodePromises:
    """Return the promises of a node.

    Args:
        seatings: of the family.
        position: of the node.
        slots: how many slots of devices it has.
    """
    found = {s.settles for s in seatings if s.settles and s.settles[0][0] == position}
    places = tuple(sorted(found, key=str)) if len(found) <= MOST_PROMISES else ()
    return NodePromises(position, places, slots)


def gaining(family: Family, relying: Sequence[int]) -> tuple[int, ...]:
    """Return those of some seatings that hosts also have without relying on anybody, for fewer points."""
    plain: dict[object, list[frozenset[int] | None]] = {}
    for number, seating in enumerate(family.seatings):
        if seating.sure:
            plain.setdefault((seating.item, seating.parts, seating.tokens), []).append(
                family.only.get(number)
            )
    found = []
    for number in relying:
        seating = family.seatings[number]
        everyone = frozenset(range(len(family.members)))
        mine = family.only.get(number, everyone)
        others = plain.get((seating.item, seating.parts, seating.tokens), [])
        if any(only is None or mine <= only for only in others):
            found.append(number)
    return tuple(found)
