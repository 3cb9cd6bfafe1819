"""The best of every kind of host for given values of the items, by tables and look-ups."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from vplacer.solver.kinds import HostKind
from vplacer.solver.tables.deeper import Begun, Deeper
from vplacer.solver.tables.filled_table import FilledTable
from vplacer.solver.tables.plain import seated
from vplacer.solver.tables.pooled import Pooled
from vplacer.solver.tables.seatings import Seating
from vplacer.solver.tables.starts import FamilyStarts

Array = npt.NDArray[Any]

Worth = Callable[[int], Array]


@dataclass(frozen=True, slots=True)
class Pattern:
    """What one host of a kind takes: seatings of its family, by number, with counts."""

    family: int
    seatings: tuple[tuple[int, int], ...]


class TablePrices:
    """Prices all kinds of some families."""

    def __init__(self, starts: Sequence[FamilyStarts]) -> None:
        self.starts = tuple(starts)
        self.kinds: tuple[HostKind, ...] = tuple(m.kind for s in starts for m in s.family.members)
        self.first: list[int] = []
        count = 0
        for item in self.starts:
            self.first.append(count)
            count += len(item.family.members)
        self._family = [n for n, s in enumerate(self.starts) for _ in s.family.members]
        self._orders = [_by_kind(item) for item in self.starts]
        self._worth: list[Array] = []
        self._names = [[np.array(names, np.int64) for names in s.names] for s in self.starts]
        self._filled: list[tuple[FilledTable, ...]] = []
        self._deep: dict[int, Begun] = {}
        self.best = np.zeros(count, np.int64)
        self.most = np.zeros(count, np.int64)
        self._rows = np.zeros(count, np.int64)
        self._within: dict[int, tuple[int, ...]] = {}
        self._spare: dict[int, int] = {}
        self._seated: dict[object, tuple[tuple[int, int], ...]] = {}

    def solve(self, worth: Worth, deep: bool) -> Array:
        """Return what each kind is worth at most: the best value known, or more where not all was tried.

        Args:
            worth: values of the seatings of a family, by its number.
            deep: whether several VMs over more than one node are tried too: without, it is only nearly the
                best.
        """
        self._worth = [worth(number) for number in range(len(self.starts))]
        tied = any(
            (values[list(starts.relying)] > 0).any()
            for values, starts in zip(self._worth, self.starts, strict=True)
        )
        filled: dict[tuple[int, bytes], FilledTable] = {}
        self._filled = []
        self._deep, self._within, self._spare = {}, {}, {}
        for number, starts in enumerate(self.starts):
            mine = []
            for table, names in zip(starts.tables, self._names[number], strict=True):
                values = self._worth[number][names]
                key = (id(table), values.tobytes())
                if key not in filled:
                    filled[key] = table.fill(values.tolist(), tied=tied)
                mine.append(filled[key])
            self._filled.append(tuple(mine))
            starts.finer.fill(np.maximum(self._worth[number], 0))
            self._look_up(number, starts)
            if deep and starts.deeper is not None:
                self._look_deeper(number, starts, starts.deeper)
        return self.most

    def _look_deeper(self, number: int, starts: FamilyStarts, deeper: Deeper) -> None:
        at = slice(self.first[number], self.first[number] + len(starts.family.members))
        worth = self._worth[number]
        own = [worth[names].tolist() for names in self._names[number]]
        found, self.most[at] = deeper.best(worth, own, self._filled[number], self.best[at])
        for member, begun in found.items():
            self.best[at.start + member] = begun.value
            self._deep[at.start + member] = begun

    def _look_up(self, number: int, starts: FamilyStarts) -> None:
        order, bounds, kinds = self._orders[number]
        worth = self._worth[number]
        begins = np.array(
            [int(worth[list(begun)].sum()) if begun else 0 for begun in starts.begins], np.int64
        )
        if starts.finer.needed:
            self._look_up_finer(number, starts, begins)
            return
        value = begins[starts.begun[order]]
        for position, table in enumerate(self._filled[number]):
            value = value + table.values[starts.flat[order, position]]
        best = np.maximum.reduceat(value, bounds)
        at = self.first[number]
        self.best[at + kinds] = best
        self.most[at + kinds] = best
        # The first row of the best value of each kind.
        hit = np.nonzero(value == np.repeat(best, np.diff(np.append(bounds, len(value)))))[0]
        owner = starts.kind[order][hit]
        first = np.unique(owner, return_index=True)
        self._rows[at + first[0]] = order[hit[first[1]]]

    def _look_up_finer(self, number: int, starts: FamilyStarts, begins: Array) -> None:
        """Look up rows that stand for several residuals."""
        nothing = np.full(len(starts.family.members), -1, np.int64)
        values = [table.values for table in self._filled[number]]
        # What begins with something that is worth nothing is never better than what does not.
        rows = np.nonzero((begins > 0)[starts.begun] | (starts.begun == 0))[0]
        flats = [starts.flat[rows, position] for position in range(len(values))]
        at = self.first[number]
        best = starts.finer.look_up_best(
            starts.kind[rows], begins[starts.begun[rows]], nothing, starts.base[rows], flats, values
        )
        for member, looked in best.items():
            self.best[at + member] = self.most[at + member] = looked.value
            self._rows[at + member] = rows[looked.row]
            self._within[at + member] = looked.flats
            self._spare[at + member] = looked.spare

    def patterns(self, kinds: Sequence[int]) -> list[Pattern]:
        """Return what makes the best value of each of some kinds."""
        wanted: dict[int, tuple[FilledTable, list[int]]] = {}
        for kind in kinds:
            family = self._family[kind]
            flats = self._flats(kind)
            for table, flat in zip(self._filled[family], flats, strict=True):
                wanted.setdefault(id(table), (table, []))[1].append(flat)
        for table, rows in wanted.values():
            table.trace(rows)
        return [self._pattern(kind) for kind in kinds]

    def _flats(self, kind: int) -> list[int]:
        """Where the nodes of a kind are in its best."""
        if kind in self._deep:
            return list(self._deep[kind].flats)
        flats: list[int] = self.starts[self._family[kind]].flat[self._rows[kind]].tolist()
        return list(self._within.get(kind, flats))

    def _pattern(self, kind: int) -> Pattern:
        number = self._family[kind]
        starts = self.starts[number]
        if kind in self._deep:
            found = Counter(self._deep[kind].names)
            states = self._deep[kind].states
        else:
            row = int(self._rows[kind])
            found = Counter(starts.begins[int(starts.begun[row])])
            states = starts.state[row].tolist()
        for node, table, names, flat, state in zip(
            starts.tables, self._filled[number], starts.names, self._flats(kind), states, strict=True
        ):
            for seating in node.reseated(state, table.traced(flat)):
                found[names[seating]] += 1
        found += Counter(dict(self._plain(kind, starts, found)))
        return Pattern(number, tuple(sorted(found.items())))

    def _plain(
        self, kind: int, starts: FamilyStarts, others: Mapping[int, int]
    ) -> tuple[tuple[int, int], ...]:
        """Seats of VMs over several nodes without devices that are priced by the host's cores alone."""
        if not isinstance(starts.finer, Pooled):
            return ()
        spare = self._deep[kind].spare if kind in self._deep else self._spare.get(kind, 0)
        wanted = starts.finer.plain.taken(spare)
        if not wanted:
            return ()
        key = (kind, tuple(sorted(others.items())), wanted)
        if key not in self._seated:
            found = seated(self.kinds[kind].task.state, starts.family.seatings, others, wanted)
            self._seated[key] = tuple(sorted(found.items()))
        return self._seated[key]

    def open_in(self, families: Collection[int]) -> list[int]:
        """Return the kinds of some families whose best may be better than the last prices say."""
        return [
            first + index
            for number, (first, starts) in enumerate(zip(self.first, self.starts, strict=True))
            for index in sorted(starts.open_kinds if number in families else ())
        ]

    @property
    def pooled(self) -> bool:
        """Whether the cores that floating VMs leave are shared by the nodes of some hosts."""
        return any(isinstance(starts.finer, Pooled) for starts in self.starts)

    def loose_kinds(self) -> list[int]:
        """Return the kinds that may come to more than the best that was found."""
        found: list[int] = np.nonzero(self.most > self.best)[0].tolist()
        return found

    def seatings(self, pattern: Pattern) -> list[tuple[Seating, int]]:
        """Return the seatings of a pattern with their counts."""
        family = self.starts[pattern.family].family
        return [(family.seatings[number], count) for number, count in pattern.seatings]


def _by_kind(starts: FamilyStarts) -> tuple[Array, Array, Array]:
    """Rows ordered by kind, where each kind begins, and the kinds in that order."""
    order = np.argsort(starts.kind, kind="stable")
    kinds, bounds = np.unique(starts.kind[order], return_index=True)
    return order, bounds, kinds
