"""Column generation over patterns: duals, prices, columns, and the bound that every round proves."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from vplacer.solver.tables.lp import LightColumn, PatternMaster, Prices
from vplacer.solver.tables.sources import Duals, Source, best_of

MOST_ROUNDS = 80
SMOOTHING = 0.5
"""How much of the duals of the best bound is mixed in: less swinging, fewer rounds."""

CLOSE = 1e-4
"""Gap of the relaxation, relative, at which it is good enough: whole columns lose more."""


@dataclass
class Relaxed:
    """What a relaxation came to: its bound times the scale, the last duals, and those of the best bound."""

    bound: int
    value: float
    rounds: int
    duals: Prices
    best: Prices


@dataclass
class Columns:
    """All columns known, without duplicates."""

    items: list[LightColumn] = field(default_factory=list)
    known: set[tuple[object, ...]] = field(default_factory=set)

    def add(self, column: LightColumn | None) -> bool:
        """Keep a column; False if there is none or it is known."""
        if column is None:
            return False
        key = (column.kind, column.seats, column.points, column.terms)
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
    deep_too: bool = True,
) -> Relaxed:
    """Generate columns until the relaxation is solved closely.

    Args:
        master: the master, with the columns known so far.
        sources: who prices the kinds.
        columns: where new ones are kept.
        start: duals to begin with; None = those of the master's columns.
        should_stop: ends the search after a round.
        rounds: at most.
        close: gap, relative, at which it is solved closely enough.
        deep_too: whether what is dear to price is priced too; without, the bound is none.
    """
    counts = np.array(master.counts, np.int64)
    duals = start if start is not None else master.solve()
    near: tuple[int, Prices] | None = None
    best: tuple[int, Prices] | None = None
    value, used = 0.0 if start is not None else duals.value, 0
    deep = False
    while used < rounds:
        used += 1
        added = 0
        for tried in (duals if near is None or deep else _mixed(near[1], duals), duals):
            worth = best_of(sources, seat_duals(tried, master), len(counts), deep=deep)
            reached = int(counts @ worth) + master.constant(tried)
            if near is None or reached < near[0]:
                near = (reached, tried)
            if deep and (best is None or reached < best[0]):
                best = (reached, tried)
            asked = [source for source in sources if deep or source.cheap]
            added = _add(master, asked, columns, worth, duals, tried is duals)
            if added or tried is duals:
                break
        if deep and (not added or (best is not None and best[0] - value <= close * abs(best[0]))):
            break
        if should_stop():
            break
        if added:
            duals = master.solve()
            value = duals.value
        # When all that is quickly found is found, look for what is not.
        deep = not added or near is None or near[0] - value <= close * abs(near[0])
        if deep and not deep_too:
            break
    if best is None:
        tried = near[1] if near is not None else duals
        worth = best_of(sources, seat_duals(tried, master), len(counts), deep=deep_too)
        best = (int(counts @ worth) + master.constant(tried), tried)
    return Relaxed(best[0], value, used, duals, best[1])


def seat_duals(prices: Prices, master: PatternMaster) -> Duals:
    """What seats are worth at some duals."""
    return Duals(prices.item, prices.row, master.aim.point)


def _add(
    master: PatternMaster,
    sources: Sequence[Source],
    columns: Columns,
    worth: np.ndarray,
    duals: Prices,
    own: bool,
) -> int:
    """Add the columns of the last prices that the master would take; return how many."""
    added = 0
    charge = np.array(duals.kind)
    used = np.array(master.counts) > 0
    for source in sources:
        mine = np.array(source.kinds)
        wanted = np.nonzero((worth[mine] > (charge[mine] + 1 if own else 0)) & used[mine])[0]
        for column in source.columns([int(number) for number in wanted]):
            if column is None or (not own and _reduced(column, duals, master) <= charge[column.kind] + 1):
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
