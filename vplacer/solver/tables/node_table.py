"""The best value of every residual of one kind of NUMA node, for given values of the seatings.

``W[state][cores][memory]`` = the greatest value of VMs that fit a node with that device state and so
many units of cores and memory left. Sizes are rounded down to whole units, rooms as well: what fits
exactly fits in units too, so that a table is never below the truth (an upper bound), and equal to it
where all sizes are multiples of the units.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from vplacer.errors import InternalError
from vplacer.solver.tables.filled_table import FilledTable, Kept
from vplacer.solver.tables.slots import (
    Opening,
    Promise,
    State,
    Takes,
    broken,
    devices,
    fixed,
    most_devices,
    relied_on,
    taken,
)
from vplacer.solver.tables.symmetry import canonical, symmetries

Ints = npt.NDArray[Any]

NEVER = -(1 << 60)
"""Worth of a residual in which a promise cannot be kept any more: no VMs make up for it."""

_Look = tuple[int, int, int, int]


@dataclass(frozen=True, slots=True)
class NodeSeating:
    """One way for an item to sit on a node. ``takes``: (slot, count), sorted."""

    item: int
    takes: Takes
    millicores: int
    memory_mib: int
    points: int


@dataclass(frozen=True, slots=True)
class Units:
    """Size of one step of a table's axes."""

    millicores: int
    memory_mib: int


@dataclass
class NodeTable:
    """One kind of node.

    ``most``: the largest residual, in units, that is looked up. ``canonical``: for each state, the number
    of the one that stands for all like it: the table has only these. ``openings``: which slots are opened
    from others; ``promises``: on which VMs may rely. ``_sorts``: seatings by what they take, those taken by
    the same VMs together. ``_relied``: whether somebody relies on a promise, by state; ``_broken``: and it is
    not kept yet.
    """

    seatings: tuple[NodeSeating, ...]
    units: Units
    most: tuple[int, int]
    states: tuple[State, ...]
    index: dict[State, int]
    canonical: Ints
    orders: tuple[tuple[int, ...], ...] = ()
    openings: tuple[Opening, ...] = ()
    promises: tuple[Promise, ...] = ()
    _sorts: tuple[tuple[int, ...], ...] = ()
    _after: tuple[tuple[tuple[int, int], ...], ...] = ()
    _relied: tuple[bool, ...] = ()
    _broken: tuple[bool, ...] = ()
    _beside: dict[Takes, Ints] = field(default_factory=dict)
    _alike: dict[_Look, list[int]] = field(default_factory=dict)

    def flat(self, state: Any, cores: Any, memory: Any) -> Any:
        """Return the position of a residual in ``values``: of one, or of an array of them."""
        return (self.canonical[state] * (self.most[0] + 1) + cores) * (self.most[1] + 1) + memory

    def after(self, takes: Takes) -> Ints:
        """Return, for each state, the state after some devices are taken; -1 where it cannot give them."""
        known = self._beside.get(takes)
        if known is None:
            found = [taken(state, takes, self.openings, self.promises) for state in self.states]
            known = np.array([-1 if f is None else self.index.get(f, -1) for f in found], np.int32)
            self._beside[takes] = known
        return known

    def fill(self, worth: Sequence[int], *, tied: bool = True) -> FilledTable:
        """Return the best value of every residual.

        Args:
            worth: value of each seating; those not above zero are never placed.
            tied: also of those in which somebody relies on a promise; else nothing is told of them.
        """
        kept = [self._undominated(members, worth) for members in self._sorts]
        # Where somebody relies on others, these come even if they are worth nothing.
        tied = tied and bool(self.promises)
        every = [self._undominated(m, worth, NEVER) for m in self._sorts[1:]] if tied else []
        every = [*kept[:1], *every]
        width, height = self.most[0] + 1, self.most[1] + 1
        kind = self._number_type(kept, tied=tied)
        base = self._without_devices(kept[0], kind)
        table = np.empty((len(self._after), width, height), kind)
        room = np.empty((width, height), kind)
        shifted: dict[tuple[int, int, bool], Ints] = {}
        for state, after in enumerate(self._after):
            here = table[state]
            relied = self._relied[state]
            if relied and not tied:
                here[...] = 0
                continue
            here[...] = NEVER if self._broken[state] else base
            groups = every if relied else kept
            for group, then in after:
                if not groups[group]:
                    continue
                if (group, then, relied) not in shifted:
                    shifted[group, then, relied] = _shifted(groups[group], table[then], room)
                np.maximum(here, shifted[group, then, relied], out=here)
        choices = tuple(every if tied and relied else kept for relied in self._relied)
        return FilledTable(table.reshape(-1), self.most, self._after, choices, self._broken)

    @property
    def broken(self) -> Ints:
        """Whether a promise that somebody relies on is not kept yet, by state."""
        return np.array(self._broken, bool)[self.canonical]

    def reseated(self, state: int, seatings: Sequence[int]) -> tuple[int, ...]:
        """Return seatings like those given that a state, not one like it, has the devices for.

        A trace is told in the state that stands for all like it.
        """
        if not seatings:
            return ()
        if not self._alike:
            for number, seating in enumerate(self.seatings):
                self._alike.setdefault(_look(seating), []).append(number)
        order = sorted(seatings, key=lambda n: (-sum(c for _, c in self.seatings[n].takes), n))
        found = self._reseat(self.states[state], order)
        if found is None:
            raise InternalError("a traced pattern has no seats in the state it was traced for")
        return tuple(sorted(found))

    def _reseat(self, state: State, order: Sequence[int]) -> list[int] | None:
        if not order:
            return None if broken(state, self.promises) else []
        for number in self._alike[_look(self.seatings[order[0]])]:
            after = taken(state, self.seatings[number].takes, self.openings, self.promises)
            if after is not None:
                rest = self._reseat(after, order[1:])
                if rest is not None:
                    return [number, *rest]
        return None

    def _undominated(self, members: tuple[int, ...], worth: Sequence[int], least: int = 0) -> list[Kept]:
        """Those worth more than ``least`` that no other of the group makes needless."""
        sized = []
        for number in members:
            seating = self.seatings[number]
            cores = seating.millicores // self.units.millicores
            memory = seating.memory_mib // self.units.memory_mib
            if worth[number] > least and cores <= self.most[0] and memory <= self.most[1]:
                sized.append((cores, memory, worth[number], number))
        sized.sort(key=lambda s: (-s[2], s[0], s[1], s[3]))
        kept: list[Kept] = []
        for one in sized:
            if not any(k[0] <= one[0] and k[1] <= one[1] for k in kept):
                kept.append(one)
        return kept

    def _number_type(self, kept: list[list[Kept]], *, tied: bool) -> type[np.int32] | type[np.int64]:
        """The smaller number type that no sum of values on a node can overflow."""
        every = [one for group in kept for one in group]
        most = max((value for _, _, value, _ in every), default=0)
        least = min((cores for cores, _, _, _ in every), default=1)
        small = most * (self.most[0] // max(1, least) + 1) < 2**31
        return np.int32 if small and not (tied and self.promises) else np.int64

    def _without_devices(self, kept: list[Kept], kind: type[np.int32] | type[np.int64]) -> Ints:
        """The best of VMs that take no device: any number of each."""
        width, height = self.most[0] + 1, self.most[1] + 1
        base = np.zeros((width, height), kind)
        for cores, memory, value, _ in kept:
            for row in range(cores, width):
                here = base[row, memory:]
                np.maximum(here, base[row - cores, : height - memory] + kind(value), out=here)
        return base


def _shifted(kept: list[Kept], after: Ints, room: Ints) -> Ints:
    """The best that begins with one of some seatings and goes on in the state after it."""
    width, height = after.shape
    best = np.full((width, height), NEVER if after.dtype == np.int64 else 0, after.dtype)
    for cores, memory, value, _ in kept:
        left = room[: width - cores, : height - memory]
        np.add(after[: width - cores, : height - memory], after.dtype.type(value), out=left)
        np.maximum(best[cores:, memory:], left, out=best[cores:, memory:])
    return best


def build_table(
    seatings: tuple[NodeSeating, ...],
    starts: Iterable[State],
    most: tuple[int, int],
    units: Units,
    beside: Iterable[Takes] = (),
    openings: tuple[Opening, ...] = (),
    promises: tuple[Promise, ...] = (),
) -> NodeTable:
    """Build the table of a kind of node, without values yet.

    Args:
        seatings: the ways to sit on it.
        starts: device states that hosts have.
        most: the largest millicores and MiB that a residual has.
        beside: what VMs that are no seatings of the node alone may take of it.
        units: steps of the axes; no seating takes less than one step of cores.
        openings: which slots are opened from others.
        promises: on which VMs may rely; hosts begin with nobody relying on any.
    """
    members: dict[Takes, list[int]] = {(): []}
    for number, seating in enumerate(seatings):
        members.setdefault(seating.takes, []).append(number)
    contents = {
        take: frozenset(_look(seatings[number]) for number in numbers) for take, numbers in members.items()
    }
    others = set(beside)
    states = _closure(set(starts), [*contents, *others], openings, promises)
    slots = len(states[0]) if states else 0
    orders, stand_in = _stand_ins(contents, slots, openings, promises)
    stands = [stand_in(state) for state in states]
    # What is left after anything is taken comes before.
    kept = sorted(set(stands), key=lambda state: (most_devices(state, openings), state))
    number_of = {state: number for number, state in enumerate(kept)}
    sort_of = {content: n for n, content in enumerate(dict.fromkeys(contents.values()))}
    members_of = {sort_of[contents[take]]: tuple(numbers) for take, numbers in reversed(members.items())}
    afters = []
    for state in kept:
        here = set()
        for take, content in contents.items():
            after = taken(state, take, openings, promises) if take else None
            if after is not None:
                here.add((sort_of[content], number_of[stand_in(after)]))
        afters.append(tuple(sorted(here)))
    return NodeTable(
        seatings=seatings,
        units=units,
        most=(most[0] // units.millicores, most[1] // units.memory_mib),
        states=states,
        index={state: number for number, state in enumerate(states)},
        canonical=np.array([number_of[state] for state in stands], np.int64),
        orders=tuple(orders),
        openings=openings,
        promises=promises,
        _sorts=tuple(members_of[n] for n in range(len(members_of))),
        _after=tuple(afters),
        _relied=tuple(relied_on(state, promises) for state in kept),
        _broken=tuple(broken(state, promises) for state in kept),
    )


def _stand_ins(
    contents: Mapping[Takes, frozenset[_Look]],
    slots: int,
    openings: Sequence[Opening],
    promises: Sequence[Promise],
) -> tuple[list[tuple[int, ...]], Callable[[State], State]]:
    """In which orders slots change places where nobody relies on a promise, and what stands for a state."""
    orders = symmetries(_untied(contents, promises), slots, fixed(openings, promises))
    # Where somebody relies on a promise, slots change places with what is promised of them.
    promised: dict[Takes, frozenset[_Look]] = {promise.look: frozenset() for promise in promises}
    tied = symmetries({**contents, **promised}, slots, fixed(openings)) if promises else orders

    def stand_in(state: State) -> State:
        return canonical(state, tied if relied_on(state, promises) else orders)

    return orders, stand_in


def _untied(
    contents: Mapping[Takes, frozenset[_Look]], promises: Sequence[Promise]
) -> dict[Takes, frozenset[_Look]]:
    """What takes each set of devices, as long as nobody relies on a promise."""
    found: dict[Takes, frozenset[_Look]] = {}
    for take, content in contents.items():
        plain = devices(take, promises)
        found[plain] = found.get(plain, frozenset()) | content
    return found


def _look(seating: NodeSeating) -> _Look:
    return (seating.item, seating.millicores, seating.memory_mib, seating.points)


def _closure(
    starts: set[State], takes: Sequence[Takes], openings: Sequence[Opening], promises: Sequence[Promise]
) -> tuple[State, ...]:
    """All states that are reached by taking devices."""
    found = set(starts)
    todo = list(found)
    while todo:
        state = todo.pop()
        for take in takes:
            after = taken(state, take, openings, promises)
            if after is not None and after not in found:
                found.add(after)
                todo.append(after)
    return tuple(sorted(found, key=lambda state: (sum(state), state)))
