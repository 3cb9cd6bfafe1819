"""Column generation over patterns: duals, prices, columns, and the bound that every round proves."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from vplacer.solver.tables.lp import LightColumn, PatternMaster, Prices
from vplacer.solver.tables.sources import Duals, Effort, Source, asked, best_of

Array = npt.NDArray[Any]

MOST_ROUNDS = 80
SMOOTHING = 0.5
"""How much of the duals of the best bound is mixed in: less swinging, fewer rounds."""

CLOSE = 1e-4
"""Gap of the relaxation, relative, at which it is good enough: whole columns lose more."""


@dataclass
class Relaxed:
    """What a relaxation came to.

    ``value``: times the scale. ``duals``: the last; ``best``: those of the least bound. ``worth``: the best
    of each kind at these; ``told``: truly, and of every kind.
    """

    value: float
    duals: Prices
    best: Prices
    worth: Array
    told: bool


def identity(column: LightColumn) -> tuple[object, ...]:
    """Return what tells a column from others, as far as a master sees them."""
    return (column.kind, column.seats, column.points, column.terms)


@dataclass
class Columns:
    """All columns known, without duplicates."""

    items: list[LightColumn] = field(default_factory=list)
    known: set[tuple[object, ...]] = field(default_factory=set)

    def add(self, column: LightColumn | None) -> bool:
        """Keep a column; False if there is none or it is known."""
        if column is None:
            return False
        key = identity(column)
        if key in self.known:
            return False
        self.known.add(key)
        self.items.append(column)
        return True


def relax(
    master: PatternMaster,
    sources: Sequence[Source],
    columns: Columns,
    start: Prices | None,
    should_stop: Callable[[], bool],
    rounds: int = MOST_ROUNDS,
    close: float = CLOSE,
    most: Effort = Effort.TRUE,
    least: int = 1,
    *,
    frugal: bool = False,
    dearest: int = MOST_ROUNDS,
    bare: bool = False,
) -> Relaxed:
    """Generate columns until the relaxation is solved closely.

    When all that is quickly found is found, what takes more effort is looked for.

    Args:
        master: the master, with the columns known so far.
        sources: who prices the kinds.
        columns: where new ones are kept.
        start: duals to begin with; None = those of the master's columns.
        should_stop: ends the search after a round.
        rounds: at most.
        close: gap, relative, at which it is solved closely enough.
        most: the greatest effort; below true, the bound is none.
        least: rounds that are made even if the search is to stop.
        frugal: columns are asked of those kinds alone that come to more than is known of them at the same
            duals: for kinds of which a column takes long to make.
        dearest: rounds at the true prices at most.
        bare: the true prices are those without points, where these only choose between equals.
    """
    duals = start if start is not None else master.solve()
    priced = _Priced(master, sources, columns, frugal=frugal, bare=bare)
    value, used = 0.0 if start is not None else duals.value, 0
    effort, dear = Effort.CHEAP, 0
    while used < rounds:
        used += 1
        dear += effort is Effort.TRUE
        added, best = priced.add(duals, effort)
        enough = not added or dear == dearest or best.bound - value <= close * abs(best.bound)
        if (used >= least and should_stop()) or (enough and effort is most):
            break
        if added:
            duals = master.solve()
            value = duals.value
        if enough:
            effort = Effort(effort + 1)
            priced.best = None
    found = priced.best
    if found is None or (effort is not most and not should_stop()):
        found = priced.at(found.prices if found is not None else duals, most)
    return Relaxed(value, duals, found.prices, found.worth, found.told)


@dataclass(frozen=True)
class _Bound:
    """What some duals prove, times the scale, and what each kind is worth then; ``told``: see `Relaxed`."""

    bound: int
    prices: Prices
    worth: Array
    told: bool


class _Priced:
    """Prices at duals of one effort. ``best``: those of the least bound so far."""

    def __init__(
        self,
        master: PatternMaster,
        sources: Sequence[Source],
        columns: Columns,
        *,
        frugal: bool,
        bare: bool,
    ) -> None:
        self._master, self._sources, self._columns = master, sources, columns
        self._frugal, self._bare = frugal, bare
        self._counts = np.array(master.counts, np.int64)
        self.best: _Bound | None = None

    def add(self, duals: Prices, effort: Effort) -> tuple[int, _Bound]:
        """Add the columns that a master would take at its duals; return how many, and the least bound.

        They are looked for at duals nearer to the best first.
        """
        added = 0
        best = self.best
        mixed = duals if best is None or effort is Effort.TRUE else _mixed(best.prices, duals)
        for tried in (mixed, duals):
            now = self.at(tried, effort)
            if best is None or now.bound < best.bound:
                best = self.best = now
            above = np.array(duals.kind) + 1 if tried is duals else np.zeros(len(self._counts))
            if self._frugal and tried is not duals:
                above = best_known(self._master, tried, self._master.aim.point) + 1
            sources = asked(self._sources, effort)
            added = _add(self._master, sources, self._columns, now.worth, duals, above)
            if added or tried is duals:
                break
        assert best is not None
        return added, best

    def at(self, tried: Prices, effort: Effort) -> _Bound:
        """Price all kinds."""
        duals = seat_duals(tried, self._master, effort, bare=self._bare)
        worth = best_of(self._sources, duals, len(self._counts), effort)
        told = effort is Effort.TRUE and not any(source.untold for source in self._sources)
        bound = int(self._counts @ worth) + self._master.constant(tried)
        return _Bound(bound, tried, worth, told)


def seat_duals(
    prices: Prices, master: PatternMaster, effort: Effort = Effort.NEARLY, *, bare: bool = False
) -> Duals:
    """What seats are worth at some duals; if bare, truly without points that only choose between equals."""
    point = 0 if bare and effort is Effort.TRUE and master.aim.weight else master.aim.point
    # Where points only decide between equals, who relies on others for them makes no difference.
    relying = not master.aim.weight
    return Duals(prices.item, prices.row, point, plain=effort < Effort.TRUE, relying=relying)


def _add(
    master: PatternMaster,
    sources: Sequence[Source],
    columns: Columns,
    worth: Array,
    duals: Prices,
    above: Array,
) -> int:
    """Add the columns of the last prices that the master would take; return how many.

    ``above``: columns are asked of the kinds whose price is above this.
    """
    added = 0
    charge = np.array(duals.kind)
    used = np.array(master.counts) > 0
    for source in sources:
        mine = np.array(source.kinds)
        wanted = np.nonzero((worth[mine] > above[mine]) & used[mine])[0]
        for column in source.columns([int(number) for number in wanted]):
            if column is None or _reduced(column, duals, master) <= charge[column.kind] + 1:
                continue
            if columns.add(column):
                master.add(column)
                added += 1
    return added


def _reduced(column: LightColumn, duals: Prices, master: PatternMaster) -> int:
    """What a column is worth at the duals, its host's own charge not taken off."""
    item_worth = duals.item
    value = sum(item_worth[item] * count for item, count in column.seats)
    value -= sum(duals.row[name] * weight for name, weight in column.terms)
    return value + column.points * master.aim.point


def best_known(master: PatternMaster, duals: Prices, point: int) -> Array:
    """What the best column known of each kind is worth at some duals, its host's own charge not taken off."""
    columns = master.columns
    sizes = [len(column.seats) for column in columns]
    seats = np.array([seat for column in columns for seat in column.seats], np.int64).reshape(-1, 2)
    value = np.array([column.points * point for column in columns], np.int64)
    owner = np.repeat(np.arange(len(columns)), sizes)
    np.add.at(value, owner, np.array(duals.item)[seats[:, 0]] * seats[:, 1])
    for number, column in enumerate(columns):
        for name, weight in column.terms:
            value[number] -= duals.row[name] * weight
    found = np.zeros(len(master.counts), np.int64)
    np.maximum.at(found, np.array([column.kind for column in columns], np.int64), value)
    return found


def _mixed(best: Prices, last: Prices) -> Prices:
    def mix(a: int, b: int) -> int:
        return round(SMOOTHING * a + (1 - SMOOTHING) * b)

    return Prices(
        cover=tuple(mix(a, b) for a, b in zip(best.cover, last.cover, strict=True)),
        cap=tuple(mix(a, b) for a, b in zip(best.cap, last.cap, strict=True)),
        row={name: mix(best.row[name], last.row[name]) for name in last.row},
        least=tuple(mix(a, b) for a, b in zip(best.least, last.least, strict=True)),
        kind=last.kind,
        value=last.value,
    )
