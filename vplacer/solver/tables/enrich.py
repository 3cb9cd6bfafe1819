"""More patterns near the best: those that are best at slightly other duals.

A relaxation needs few columns a host; whole answers need some choice for the hosts that it splits.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace

from vplacer.solver.tables.column_search import Columns, seat_duals
from vplacer.solver.tables.lp import PatternMaster, Prices
from vplacer.solver.tables.sources import Source

TIMES = 5
SHAKE = 0.05
"""How much, relative, each item's dual is changed at most."""


def enrich(
    master: PatternMaster, sources: Sequence[Source], columns: Columns, duals: Prices, seed: int
) -> None:
    """Add the best columns at some shaken duals to a master."""
    chooser = random.Random(seed)
    exact = seat_duals(duals, master)
    for _ in range(TIMES):
        item = tuple(round(value * chooser.uniform(1 - SHAKE, 1 + SHAKE)) for value in exact.item)
        for source in sources:
            if not source.cheap:
                continue
            source.price(replace(exact, item=item), deep=False)
            for column in source.columns([n for n, kind in enumerate(source.kinds) if master.counts[kind]]):
                if columns.add(column) and column is not None:
                    master.add(column)
