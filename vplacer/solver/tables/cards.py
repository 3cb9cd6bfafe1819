"""Cards that a host's vGPUs share: which still choose their profile, and what the others take.

In same-size mode the first vGPU fixes what a card takes. A host whose cards are all like that is a number
of cards that choose, and slots per profile on the others. VMs use slots first; whenever these are used up
they open a card, whose slots serve nobody else. Nothing is lost by that: the order of the VMs makes no
difference.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import product

from vplacer.solver.host_state import HostState
from vplacer.solver.tables.slots import Opening, State, taken
from vplacer.solver.tables.vgpu_room import largest, vgpu_room
from vplacer.solver.vgpu_patterns import patterns_of_cells

MOST_SPLITS = 2_000
"""Ways to split the vGPUs of a host over its nodes beyond which it is priced by itself."""

MOST_WHOLE_SPLITS = 400
"""The same where every choice of the cards is a way by itself."""

Share = tuple[int, ...]
"""What a node has of the shared cards: slots per profile, and cards that choose last."""


@dataclass(frozen=True, slots=True)
class CardRoom:
    """What the cards of a host take.

    ``free``: cards that take one profile, whichever comes first; ``gives``: how many of each profile such a
    card takes, empty if there is none. ``left``: what the others take of each profile.
    """

    free: int
    gives: tuple[int, ...]
    left: tuple[int, ...]


def card_room(state: HostState, profiles: tuple[str, ...]) -> CardRoom | None:
    """Return what the cards take; None where a card may mix profiles, or several sorts of cards choose."""
    free, left = 0, (0,) * len(profiles)
    gives: tuple[int, ...] = ()
    for cell, patterns in patterns_of_cells(state, profiles):
        if cell.card.kind != "gpu" or not cell.card.vgpu:
            continue
        mine = card_choices(tuple(patterns))
        if mine is None or (sum(map(bool, mine)) > 1 and gives not in ((), mine)):
            return None
        if sum(map(bool, mine)) > 1:
            free, gives = free + 1, mine
        else:
            left = tuple(a + b for a, b in zip(left, mine, strict=True))
    return CardRoom(free, gives, left)


@lru_cache(maxsize=1024)
def card_choices(patterns: tuple[tuple[int, ...], ...]) -> tuple[int, ...] | None:
    """Return how many of each profile alone a card takes; None if it takes several profiles together."""
    found = [0] * len(patterns[0])
    for pattern in largest(patterns):
        if sum(map(bool, pattern)) > 1:
            return None
        found = [max(a, b) for a, b in zip(found, pattern, strict=True)]
    return tuple(found)


class SharedCards:
    """The shared cards of the hosts of one family.

    ``gives``: slots per profile of a card that chooses; empty if none does, or not all alike.
    """

    def __init__(
        self, states: Sequence[HostState], profiles: tuple[str, ...], *, choosing: bool = True
    ) -> None:
        """Take the hosts; without ``choosing`` every choice of the cards is a way to begin with."""
        self.profiles = profiles
        self._states = tuple(states)
        self._rooms = [card_room(state, profiles) if profiles else None for state in states]
        sorts = {room.gives for room in self._rooms if room is not None and room.free}
        self.gives: tuple[int, ...] = sorts.pop() if choosing and len(sorts) == 1 else ()

    def openings(self, slots: Sequence[object]) -> tuple[Opening, ...]:
        """Return which slots of a node are opened from its cards."""
        if not self.gives:
            return ()
        at = {slot: number for number, slot in enumerate(slots)}
        return tuple(
            Opening(at["token", name], at["cards",], gives)
            for name, gives in zip(self.profiles, self.gives, strict=True)
            if gives
        )

    def splits(self, number: int, nodes: int) -> list[tuple[Share, ...]]:
        """Return the ways to share out the cards of a host over its nodes; none = too many.

        Args:
            number: of the host.
            nodes: how many share them.
        """
        if not self.profiles:
            return [((0,),) * nodes]
        room = self._rooms[number]
        if room is not None and nodes <= 2 and (self.gives or not room.free):
            return card_splits(room, nodes)
        return _whole_splits(vgpu_room(self._states[number], self.profiles), nodes)


def card_splits(room: CardRoom, nodes: int) -> list[tuple[Share, ...]]:
    """Return the ways to share out cards over one node or two; none = too many.

    Slots on cards that do not choose are cut in any way, and so is the number of the others. Of the cards
    that one profile opens, no more than one need serve both nodes: with two, vGPUs can change places until
    one of the cards serves one node alone. And one that serves both is needed only where neither node has
    so many slots of the profile that it could have that card for itself.
    """
    if nodes == 1:
        return [((*room.left, room.free),)]
    gives = room.gives or (0,) * len(room.left)
    choices = []
    count = room.free + 1
    for left, given in zip(room.left, gives, strict=True):
        apart = [(first, left - first, 0) for first in range(left + 1)]
        both = [(first, left + given - first, 1) for first in range(left + 1, given)]
        choices.append(apart + both)
        count *= len(apart)
    if count > MOST_SPLITS:
        return []
    found = set()
    for chosen in product(*choices):
        cards = room.free - sum(both for _, _, both in chosen)
        for first in range(cards + 1):
            found.add(((*(c[0] for c in chosen), first), (*(c[1] for c in chosen), cards - first)))
    return sorted(found) if len(found) <= MOST_SPLITS else []


def _whole_splits(rooms: Sequence[tuple[int, ...]], nodes: int) -> list[tuple[Share, ...]]:
    """Ways to share out vGPUs over nodes where each of some counts per profile is what the cards take."""
    found: set[tuple[Share, ...]] = set()
    for whole in rooms:
        choices = [_cuts(count, nodes) for count in whole]
        size = 1
        for cuts in choices:
            size *= len(cuts)
        if size > MOST_WHOLE_SPLITS:
            return []
        for chosen in product(*choices):
            found.add(tuple((*(cut[n] for cut in chosen), 0) for n in range(nodes)))
        if len(found) > MOST_WHOLE_SPLITS:
            return []
    return sorted(found)


def _cuts(count: int, parts: int) -> list[tuple[int, ...]]:
    if parts == 1:
        return [(count,)]
    return [(first, *rest) for first in range(count + 1) for rest in _cuts(count - first, parts - 1)]


@lru_cache(maxsize=8192)
def reached(share: Share, gives: tuple[int, ...], most: int) -> frozenset[Share]:
    """Return the states that a share of the cards comes to; not all if there are more than ``most``."""
    openings = tuple(Opening(slot, len(share) - 1, count) for slot, count in enumerate(gives) if count)
    found: set[State] = {share}
    todo = [share]
    while todo and len(found) <= most:
        state = todo.pop()
        for slot in range(len(share) - 1):
            after = taken(state, ((slot, 1),), openings)
            if after is not None and after not in found:
                found.add(after)
                todo.append(after)
    return frozenset(found)
