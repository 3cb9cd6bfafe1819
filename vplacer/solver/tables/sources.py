"""Who prices hosts: the tables, for kinds whose nodes do not depend on each other, and CP-SAT for others."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import IntEnum
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from vplacer.solver.rows import Key, RowSet
from vplacer.solver.tables.families import Family, needless_but_for_points
from vplacer.solver.tables.fitting import Seats, fitting
from vplacer.solver.tables.items import Item
from vplacer.solver.tables.lp import LightColumn
from vplacer.solver.tables.prices import Pattern, TablePrices

Array = npt.NDArray[Any]


@dataclass(frozen=True, slots=True)
class Duals:
    """What seats are worth, times the scale: by item, less what rows charge, and each point.

    ``plain``: points that hold only if others leave vSphere no other cards to choose are not looked at, where
    a sure seat is known as well: they seldom come true. ``relying``: whether VMs may rely on others to gain
    points.
    """

    item: tuple[int, ...]
    row: Mapping[str, int]
    point: int
    plain: bool = False
    relying: bool = True


class Effort(IntEnum):
    """What is asked: the cheap sources alone, and nobody relies on others; all, nearly; all, and never less
    than the truth."""

    CHEAP = 0
    NEARLY = 1
    TRUE = 2


class Source(Protocol):
    """Prices some of the kinds."""

    kinds: tuple[int, ...]
    cheap: bool
    """Whether one more price costs little."""
    untold: bool
    """Whether the last prices leave a kind out: then no bound follows from them."""

    def price(self, duals: Duals, deep: bool) -> Array:
        """Return the best value of each of its kinds: never less than the truth if ``deep``, else nearly."""

    def columns(self, numbers: Sequence[int]) -> list[LightColumn | None]:
        """Return the columns of the last prices of some of its kinds, by number; None = it takes nothing."""


class RowTerms:
    """What rows that couple hosts say of a VM of an item placed anew on a host."""

    def __init__(self, rows: RowSet, items: Sequence[Item]) -> None:
        self.rows = {row.name: row for row in rows.rows}
        lead = {item.lead: item.index for item in items}
        self.of_item: list[list[tuple[str, Key]]] = [[] for _ in items]
        for row in rows.rows:
            for key in row.quantities:
                if key[0] in ("seats", "new") and int(key[1]) in lead:
                    self.of_item[lead[int(key[1])]].append((row.name, key))

    def on(self, item: int, host: str) -> dict[str, int]:
        """Coefficient of each row."""
        found: dict[str, int] = {}
        for name, key in self.of_item[item]:
            weight = self.rows[name].coefficient(host, key)
            if weight:
                found[name] = found.get(name, 0) + weight
        return found

    def of_seats(self, seats: Iterable[tuple[int, int]], host: str) -> tuple[tuple[str, int], ...]:
        """What (item, count) on a host add to each row; zeros left out."""
        found: dict[str, int] = {}
        for item, count in seats:
            for name, weight in self.on(item, host).items():
                found[name] = found.get(name, 0) + weight * count
        return tuple(sorted((name, weight) for name, weight in found.items() if weight))


def terms_by_host(rows: RowSet) -> dict[str, object]:
    """What rows say of single hosts, leaving names of hosts out: equal for hosts of one cluster."""
    found: dict[str, dict[object, int]] = defaultdict(dict)
    for row in rows.rows:
        for (host, key), weight in row.at.items():
            found[host][row.name, key] = weight
    return {host: frozenset(terms.items()) for host, terms in found.items()}


class TableSource:
    """Prices by tables."""

    cheap = True
    untold = False

    def __init__(
        self,
        prices: TablePrices,
        numbers: Sequence[int],
        terms: RowTerms,
        fits: Callable[[int, Seats], bool],
    ) -> None:
        """Take the prices.

        Args:
            prices: of some kinds.
            numbers: positions of these among all kinds.
            terms: what rows say of an item on a host.
            fits: whether a kind, by its number here, takes some seatings: asked where seatings do not say
                all that they depend on.
        """
        self.prices = prices
        self._fits = fits
        self.kinds = tuple(numbers)
        self.row_terms = terms
        self._terms = [
            {
                item: terms.on(item, starts.family.members[0].kind.task.state.host.moid)
                for item in {seating.item for seating in starts.family.seatings}
            }
            for starts in prices.starts
        ]
        self._item = [
            np.array([s.item for s in starts.family.seatings], np.int64) for starts in prices.starts
        ]
        self._points = [
            np.array([s.points for s in starts.family.seatings], np.int64) for starts in prices.starts
        ]
        self._needless = [_needless(starts.family) for starts in prices.starts]
        self._short: set[tuple[int, Pattern]] = set()
        self._made: dict[tuple[int, Pattern], LightColumn | None] = {}

    def price(self, duals: Duals, deep: bool) -> Array:
        """Return the best value of each kind."""
        return self.prices.solve(lambda family: self._worth(family, duals), deep)

    def _worth(self, family: int, duals: Duals) -> Array:
        """What each seating of a family is worth."""
        item = np.array(duals.item, np.int64)
        seats = self.prices.starts[family].family.seatings
        value = item[self._item[family]] + self._points[family] * duals.point
        if any(self._terms[family].values()):
            charges = [
                sum(duals.row[name] * weight for name, weight in self._terms[family][s.item].items())
                for s in seats
            ]
            value = value - np.array(charges, np.int64)
        every, seldom = self._needless[family]
        if not duals.point:
            value[every] = 0
        elif duals.plain:
            value[seldom] = 0
        if not duals.relying:
            value[list(self.prices.starts[family].gaining)] = 0
        return value

    @property
    def hopeful(self) -> bool:
        """Whether some seats have points that seldom come true."""
        return any(len(seldom) for _, seldom in self._needless)

    def open_at(self, duals: Duals) -> list[int]:
        """Kinds whose best may be better than their price: VMs worth something may be divided."""
        worth_it = {
            number
            for number, starts in enumerate(self.prices.starts)
            if starts.open_kinds
            and any(
                value > 0 and seating.splits
                for value, seating in zip(
                    self._worth(number, duals).tolist(), starts.family.seatings, strict=True
                )
            )
        }
        return self.prices.open_in(worth_it)

    @property
    def pooled(self) -> bool:
        """Whether the cores that floating VMs leave are shared by the nodes of some hosts."""
        return self.prices.pooled

    def unsure(self, numbers: Sequence[int]) -> list[int]:
        """Those of some kinds whose last price may be above what the host takes; their columns are known."""
        loose = set(self.prices.loose_kinds())
        patterns = self.prices.patterns(numbers)
        return [n for n, p in zip(numbers, patterns, strict=True) if n in loose or (n, p) in self._short]

    def doubtful(self) -> list[int]:
        """Kinds whose last price is above what the host takes, as far as that is known."""
        numbers = range(len(self.kinds))
        patterns = self.prices.patterns(numbers)
        return [n for n, pattern in zip(numbers, patterns, strict=True) if (n, pattern) in self._short]

    def wide(self) -> list[int]:
        """Kinds of which not all was tried for the last prices, those that promise most beyond first."""
        beyond = self.prices.most - self.prices.best
        return sorted(self.prices.loose_kinds(), key=lambda number: (-int(beyond[number]), number))

    def columns(self, numbers: Sequence[int]) -> list[LightColumn | None]:
        """Return the columns of the last prices."""
        found = []
        for number, pattern in zip(numbers, self.prices.patterns(numbers), strict=True):
            key = (number, pattern)
            if key not in self._made:
                self._made[key] = self._column(number, pattern)
            found.append(self._made[key])
        return found

    def _column(self, number: int, pattern: Pattern) -> LightColumn | None:
        wanted = self.prices.seatings(pattern)
        kept = fitting(self.prices.kinds[number].task.state, wanted)
        if not all(seating.sure for seating, _ in kept) and not self._fits(number, kept):
            kept = [(seating, count) for seating, count in kept if seating.sure]
        if sum(count for _, count in kept) < sum(count for _, count in wanted):
            self._short.add((number, pattern))
        if not kept:
            return None
        seats: dict[int, int] = {}
        points = 0
        for seating, count in kept:
            seats[seating.item] = seats.get(seating.item, 0) + count
            points += seating.points * count
        host = self.prices.kinds[number].task.state.host.moid
        terms = self.row_terms.of_seats(seats.items(), host)
        return LightColumn(self.kinds[number], tuple(sorted(seats.items())), points, terms, tuple(kept))


def _needless(family: Family) -> tuple[Array, Array]:
    """Seatings that nobody needs but for their points: all, and those that vSphere seldom keeps."""
    every = needless_but_for_points(family)
    seldom = [n for n in every if family.seatings[n].drawn and not family.seatings[n].sure]
    return np.array(every, np.int64), np.array(seldom, np.int64)


def asked(sources: Sequence[Source], effort: Effort) -> list[Source]:
    """Return the sources that are asked."""
    return [source for source in sources if source.cheap or effort > Effort.CHEAP]


def best_of(sources: Sequence[Source], duals: Duals, kinds: int, effort: Effort) -> Array:
    """Return the best value of every kind, nothing for those whose source is not asked."""
    if effort is Effort.CHEAP:
        duals = replace(duals, relying=False)
    best = np.zeros(kinds, np.int64)
    for source in asked(sources, effort):
        best[list(source.kinds)] = source.price(duals, effort is Effort.TRUE)
    return best
