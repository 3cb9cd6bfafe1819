"""Packs demands into bins: column generation with exact prices from tables, then whole numbers.

Work is counted (rounds, branch-and-bound nodes), so that the same input gives the same answer.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from vplacer.solver.mix.fill import fill, insert
from vplacer.solver.mix.master import Column, Master
from vplacer.solver.mix.price_table import Grid, PriceTable
from vplacer.solver.mix.shape import Bin, Demand, Pattern, Seat

CELLS_OF_CORES = 256
CELLS_OF_MEMORY = 384
"""The largest bin in cells of the grid. Finer costs time in proportion and gains little."""

MAX_ROUNDS = 150
CLOSE = 0.002
"""Gap of the relaxation at which pricing ends."""

SMOOTHING = 0.7
"""How far the prices asked for stay with those of the best bound: without it they swing."""

FIRST_DUAL = 0.5
"""What a VM is first taken to be worth, as a part of its value: the rest is for cores and memory."""


@dataclass(frozen=True, slots=True)
class Packing:
    """What each bin holds, and how the relaxation ended.

    ``value``: of what is placed. ``relaxation``: the linear one's, on the grid; ``rounds``: of pricing.
    """

    seats: tuple[tuple[Seat, ...], ...]
    placed: tuple[int, ...]
    value: int
    relaxation: float
    rounds: int


def pack(
    bins: Sequence[Bin],
    demands: Sequence[Demand],
    *,
    seed: int = 0,
    should_stop: Callable[[], bool] = lambda: False,
) -> Packing:
    """Fill the bins with as much value as can be found.

    Args:
        bins: the empty bins; the answer is in their order.
        demands: what is wanted, of what value.
        seed: of the search for whole numbers.
        should_stop: asked before every round of pricing.
    """
    kinds = sorted(set(bins))
    members = {kind: [number for number, item in enumerate(bins) if item == kind] for kind in kinds}
    master = Master(demands, [len(members[kind]) for kind in kinds])
    relaxation, rounds = _generate(
        master, kinds, [len(members[kind]) for kind in kinds], demands, should_stop
    )
    wanted = {index: demand.wanted for index, demand in enumerate(demands)}
    contents = _contents(master, kinds, members, seed)
    filled = [fill(item, contents[number], demands, wanted) for number, item in enumerate(bins)]
    insert(filled, demands, wanted)
    placed = [0] * len(demands)
    for item in filled:
        for seat in item.seats:
            placed[seat.demand] += 1
    return Packing(
        seats=tuple(tuple(item.seats) for item in filled),
        placed=tuple(placed),
        value=sum(number * demand.value for number, demand in zip(placed, demands, strict=True)),
        relaxation=relaxation,
        rounds=rounds,
    )


def _contents(
    master: Master, kinds: Sequence[Bin], members: dict[Bin, list[int]], seed: int
) -> dict[int, Pattern]:
    """Give every bin its pattern; bins that the master leaves empty get none."""
    contents = {number: Pattern((), ()) for numbers in members.values() for number in numbers}
    free = {lot: iter(members[kind]) for lot, kind in enumerate(kinds)}
    for column, count in zip(master.columns, master.whole(seed), strict=True):
        for _ in range(count):
            contents[next(free[column.lot])] = column.pattern
    return contents


def _generate(
    master: Master,
    kinds: Sequence[Bin],
    counts: Sequence[int],
    demands: Sequence[Demand],
    should_stop: Callable[[], bool],
) -> tuple[float, int]:
    """Add columns until the relaxation is close to its bound; return its value and the rounds it took."""
    tables = _tables(kinds, demands)
    asked = [FIRST_DUAL * demand.value for demand in demands]
    lots = [0.0] * len(kinds)
    bound = float("inf")
    centre: list[float] = asked
    value, rounds = 0.0, 0
    while rounds < MAX_ROUNDS and not should_stop():
        rounds += 1
        smooth = [SMOOTHING * c + (1 - SMOOTHING) * a for c, a in zip(centre, asked, strict=True)]
        grown = False
        for duals in (smooth, asked):
            found, columns = _price(tables, duals)
            here = sum(
                demand.wanted * max(0.0, demand.value - dual)
                for demand, dual in zip(demands, duals, strict=True)
            ) + sum(number * worth for number, worth in zip(counts, found, strict=True))
            if here < bound:
                bound, centre = here, list(duals)
            for column in columns:
                worth = sum(asked[i] * n for i, n in column.pattern.counts().items())
                if worth > lots[column.lot] + 1e-3 and master.add(column):
                    grown = True
            if grown or duals == asked:
                break
        if not grown:
            break
        value, prices = master.solve()
        asked, lots = list(prices.demands), list(prices.lots)
        if value >= (1 - CLOSE) * bound:
            break
    return value, rounds


def _price(
    tables: Sequence[tuple[list[int], PriceTable]], duals: Sequence[float]
) -> tuple[list[float], list[Column]]:
    """Return what the best content of each lot is worth, and the columns."""
    found: dict[int, float] = {}
    columns = []
    for lots, table in tables:
        for lot, priced in zip(lots, table.price(duals), strict=True):
            found[lot] = priced.worth
            columns.append(Column(lot, priced.pattern))
    return [found[lot] for lot in sorted(found)], columns


def _tables(kinds: Sequence[Bin], demands: Sequence[Demand]) -> list[tuple[list[int], PriceTable]]:
    """Return a table for each family of bins that the same demands may go into, with the lots it prices."""
    grid = Grid(
        -(-max(item.cores for item in kinds) // CELLS_OF_CORES),
        -(-max(item.memory for item in kinds) // CELLS_OF_MEMORY),
    )
    families: dict[tuple[bool, ...], list[int]] = {}
    for lot, item in enumerate(kinds):
        families.setdefault(tuple(demand.goes_into(item.kind) for demand in demands), []).append(lot)
    return [(lots, PriceTable([kinds[lot] for lot in lots], demands, grid)) for lots in families.values()]
