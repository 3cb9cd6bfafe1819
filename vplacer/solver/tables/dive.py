"""Whole columns from a relaxation by fixing some hosts at a time, and pricing the others anew in between."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

import numpy as np

from vplacer.errors import InternalError
from vplacer.solver.tables.column_search import Columns, seat_duals
from vplacer.solver.tables.lp import PatternMaster, Prices, Whole
from vplacer.solver.tables.sources import Effort, Source, best_of

SHARE = 0.3
"""Share of the hosts left that is fixed at once, beside those whose column is whole already."""

WHOLE = 0.98
ROUNDS = 1
"""Pricing rounds between two fixings."""

DEAR = 2
"""What a mover without a seat costs, as a multiple of the most that any VM counts."""


class Dive:
    """One dive; the master is used up by it."""

    def __init__(
        self,
        master: PatternMaster,
        sources: Sequence[Source],
        columns: Columns,
        should_stop: Callable[[], bool],
        wanted: Collection[int],
    ) -> None:
        """Begin a dive that fixes some hosts, by number."""
        self.master, self.columns, self.should_stop = master, columns, should_stop
        self.sources = [source for source in sources if source.cheap]
        self.left = list(master.counts)
        self.wanted = sorted(wanted)
        self.kept: dict[int, int] = {}
        most = max(master.aim.weight.values(), default=1)
        for item in master.items:
            if item.moving is not None:
                missing = master.solver.NumVar(0, master.infinity, "")
                master.of_item[item.index].SetCoefficient(missing, 1)
                master.objective.SetCoefficient(missing, -float(DEAR * most))

    def run(self) -> Whole:
        """Return columns and how many hosts take each; movers may be left without a seat."""
        while any(self.left[host] for host in self.wanted) and not self.should_stop():
            prices = self._solved()
            for _ in range(ROUNDS):
                if prices is None or not self._price(prices):
                    break
                prices = self._solved()
            if prices is None:
                break
            self._fix()
        return [(self.master.columns[number], count) for number, count in sorted(self.kept.items())]

    def _solved(self) -> Prices | None:
        """Solve the master; from the start where GLOP gets lost on its way. None: it has no answer."""
        for settings in ("use_preprocessing: false", "use_preprocessing: true", "use_dual_simplex: true"):
            self.master.solver.SetSolverSpecificParametersAsString(settings)
            try:
                return self.master.solve()
            except InternalError:
                continue
        return None

    def _price(self, prices: Prices) -> int:
        """Add the columns that hosts left would take."""
        duals = seat_duals(prices, self.master)
        worth = best_of(self.sources, duals, len(self.left), Effort.CHEAP)
        charge = np.array(prices.kind)
        added = 0
        for source in self.sources:
            mine = np.array(source.kinds)
            wanted = np.nonzero((worth[mine] > charge[mine] + 1) & (np.array(self.left)[mine] > 0))[0]
            for column in source.columns(wanted.tolist()):
                if column is not None and self.columns.add(column):
                    self.master.add(column)
                    added += 1
        return added

    def _fix(self) -> None:
        """Fix hosts: those whose columns are whole, and those that are nearly."""
        best: dict[int, tuple[float, int | None]] = {}
        used = [0.0] * len(self.left)
        for number, (column, value) in enumerate(
            zip(self.master.columns, self.master.solution(), strict=True)
        ):
            host = column.kind
            if not self.left[host]:
                continue
            free = value - self.kept.get(number, 0)
            used[host] += free
            if free > best.get(host, (0.0, None))[0]:
                best[host] = (free, number)
        chosen: list[tuple[float, int, int | None]] = []
        for host in self.wanted:
            left = self.left[host]
            if left:
                value, column_number = best.get(host, (0.0, None))
                none = left - used[host]
                if none > value:
                    value, column_number = none, None
                chosen.append((-min(value, 1.0), host, column_number))
        chosen.sort(key=lambda c: (c[0], c[1]))
        most = max(1, int(SHARE * len(chosen)))
        for place, (value, host, column_number) in enumerate(chosen):
            if place >= most and -value < WHOLE:
                break
            self._keep(host, column_number, best.get(host, (0.0, None))[0], used[host])

    def _keep(self, host: int, number: int | None, value: float, used: float) -> None:
        if number is None:
            count = max(1, int(self.left[host] - used + 1 - WHOLE))
        else:
            count = min(self.left[host], max(1, int(value + 1 - WHOLE)))
            self.kept[number] = self.kept.get(number, 0) + count
            self.master.keep(number, self.kept[number])
        self.left[host] -= count
        if number is None or not self.left[host]:
            kept = sum(n for at, n in self.kept.items() if self.master.columns[at].kind == host)
            self.master.close(host, kept + self.left[host])
