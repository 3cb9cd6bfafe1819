"""Prices hosts some of whose VMs may move: the best over who leaves, what leaves charged its dual."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from vplacer.constraints.checks.change_limits import MOVES, POWER_CYCLES
from vplacer.solver.tables.evictions import Beginning, seat_of
from vplacer.solver.tables.lp import LightColumn
from vplacer.solver.tables.movers import Mover
from vplacer.solver.tables.seatings import Seating
from vplacer.solver.tables.sources import Duals, TableSource

Array = npt.NDArray[Any]

MOVE_WEIGHT = 300
"""Points that a unit of a move's cost counts: stopping and moving a VM, as much as 0.2 GPUs of the lowest
priority. The relaxation is left near its best, and what moves for less is not worth it."""

LIMITS = {f"limit:{MOVES}": False, f"limit:{POWER_CYCLES}": True}
"""Rows of limits; whether only VMs that are stopped for it count."""


@dataclass(frozen=True, slots=True)
class Taken:
    """What makes a column of a host: how it begins, who leaves it, what is seated."""

    beginning: Beginning
    gone: tuple[Mover, ...]
    seats: tuple[tuple[Seating, int], ...]


class MovingSource:
    """Prices hosts, each by the members of families that are its beginnings.

    ``still``: nobody leaves.
    """

    cheap = True
    untold = False

    def __init__(
        self,
        tables: TableSource,
        beginnings: Sequence[Beginning],
        item_of: Mapping[int, int],
        rows: Collection[str],
    ) -> None:
        """Take the tables.

        Args:
            tables: prices of all members.
            beginnings: of each of these.
            item_of: item of each kind of mover.
            rows: names of the rows there are.
        """
        self.tables, self.beginnings, self.item_of = tables, tuple(beginnings), item_of
        self.host = np.array([b.host for b in beginnings], np.int64)
        self.kinds = tuple(sorted(set(self.host.tolist())))
        self.still = False
        self._limits = [name for name in LIMITS if name in rows]
        pairs = [(n, self.item_of[m.kind]) for n, begun in enumerate(self.beginnings) for m in begun.gone]
        charged = np.array(pairs, np.int64).reshape(len(pairs), 2)
        self._owner, self._item = charged[:, 0], charged[:, 1]
        self._size = np.array([sum(m.cost * MOVE_WEIGHT for m in b.gone) for b in beginnings], np.int64)
        self._counts = {
            name: np.array([sum(m.cold or not LIMITS[name] for m in b.gone) for b in beginnings], np.int64)
            for name in self._limits
        }
        self._leaves = np.array([bool(b.gone) for b in beginnings])
        self._chosen: Array = np.zeros(0, np.int64)
        self._made: dict[tuple[int, int], LightColumn | None] = {}
        self._seats: dict[str, object] = {}

    def price(self, duals: Duals, deep: bool) -> Array:
        """Return the best value of each host; nobody leaving and nothing seated is worth nothing."""
        worth = self.tables.price(duals, deep) - self._charge(duals)
        worth = worth - duals.point * self._size
        for name in self._limits:
            worth = worth - duals.row[name] * self._counts[name]
        if self.still:
            worth = np.where(self._leaves, np.iinfo(np.int64).min // 4, worth)
        return self._best(worth)

    def gains(self, duals: Duals) -> dict[int, list[int]]:
        """Return, by item of movers, what hosts come to more when one of them leaves."""
        worth = self.tables.price(duals, False)
        still = {b.host: number for number, b in enumerate(self.beginnings) if not b.gone}
        found: dict[int, list[int]] = {}
        for number, beginning in enumerate(self.beginnings):
            if len(beginning.gone) == 1 and beginning.host in still:
                gain = int(worth[number] - worth[still[beginning.host]])
                found.setdefault(self.item_of[beginning.gone[0].kind], []).append(max(0, gain))
        return found

    def terms_of(self, column: LightColumn, seats: Sequence[tuple[Seating, int]]) -> dict[str, int]:
        """Return what some seats on the host of a column add to rows."""
        source = column.source
        assert isinstance(source, Taken)
        host = source.beginning.member.kind.task.state.host.moid
        count: Counter[int] = Counter()
        for seating, number in seats:
            count[seating.item] += number
        return dict(self.tables.row_terms.of_seats(count.items(), host))

    def _charge(self, duals: Duals) -> Array:
        charged = np.zeros(len(self.beginnings), np.int64)
        np.add.at(charged, self._owner, np.array(duals.item, np.int64)[self._item])
        return charged

    def _best(self, worth: Array) -> Array:
        order = np.lexsort((np.arange(len(worth)), -worth, self.host))
        first = np.unique(self.host[order], return_index=True)[1]
        self._chosen = order[first]
        best: Array = np.maximum(worth[self._chosen], 0)
        return best

    def columns(self, numbers: Sequence[int]) -> list[LightColumn | None]:
        """Return the columns of the last prices of some hosts, by number here."""
        members = [int(self._chosen[number]) for number in numbers]
        found = []
        for member, column in zip(members, self.tables.columns(members), strict=True):
            key = (member, id(column))
            if key not in self._made:
                self._made[key] = self._column(self.beginnings[member], column)
            found.append(self._made[key])
        return found

    def _column(self, beginning: Beginning, column: LightColumn | None) -> LightColumn | None:
        if column is None:
            return None
        seats: tuple[tuple[Seating, int], ...] = column.source  # type: ignore[assignment]
        return self.column(beginning, beginning.gone, seats, dict(column.terms))

    def column(
        self,
        beginning: Beginning,
        gone: Sequence[Mover],
        seats: Sequence[tuple[Seating, int]],
        terms: Mapping[str, int],
    ) -> LightColumn | None:
        """Make a column; who leaves and is seated again where it was has stayed."""
        left = dict(seats)
        leaving = []
        for mover in gone:
            same = self._same_seat(mover, beginning, left)
            if same is None:
                leaving.append(mover)
                continue
            left[same] -= 1
            if not left[same]:
                del left[same]
        count: Counter[int] = Counter()
        points = 0
        for seating, number in left.items():
            count[seating.item] += number
            points += seating.points * number
        for mover in leaving:
            count[self.item_of[mover.kind]] -= 1
            points -= mover.cost * MOVE_WEIGHT
        every = dict(terms)
        for name in self._limits:
            every[name] = sum(mover.cold or not LIMITS[name] for mover in leaving)
        if not left:
            return None
        return LightColumn(
            beginning.host,
            tuple(sorted((item, n) for item, n in count.items() if n)),
            points,
            tuple(sorted((name, weight) for name, weight in every.items() if weight)),
            Taken(beginning, tuple(leaving), tuple(left.items())),
        )

    def _seat(self, mover: Mover, beginning: Beginning) -> object:
        """Where a mover sits today, None where no seating says it."""
        if mover.demand not in self._seats:
            found = seat_of(mover, beginning.member)  # any member of the host without movers
            self._seats[mover.demand] = None if found is None else (found.parts, found.tokens)
        return self._seats[mover.demand]

    def _same_seat(self, mover: Mover, beginning: Beginning, seats: Mapping[Seating, int]) -> Seating | None:
        mine = self._seat(mover, beginning)
        item = self.item_of[mover.kind]
        for seating in seats:
            if seating.item == item and (seating.parts, seating.tokens) == mine:
                return seating
        return None
