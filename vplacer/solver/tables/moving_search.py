"""Levels "placed" of a block of hosts some of whose running VMs may move."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from vplacer.solver.tables.column_search import Columns, Relaxed, relax, seat_duals
from vplacer.solver.tables.dive import Dive
from vplacer.solver.tables.evictions import Beginning
from vplacer.solver.tables.fitting import Seats
from vplacer.solver.tables.items import Item
from vplacer.solver.tables.lp import Aim, LightColumn, PatternMaster, Prices, Whole, first_prices
from vplacer.solver.tables.mend import Mender
from vplacer.solver.tables.movers import MovingSite
from vplacer.solver.tables.moving_check import LeavingCheck
from vplacer.solver.tables.moving_parts import MovingParts, host_groups, moving_items
from vplacer.solver.tables.moving_source import Taken
from vplacer.solver.tables.moving_trim import trimmed
from vplacer.solver.tables.placed import TOGETHER_SCALE, weights_by_priority, weights_together
from vplacer.solver.tables.sources import Effort, Source

CLOSE = 1e-3
"""Gap of the relaxation at which it is left: whole columns lose more."""

MOST_ROUNDS = 40


@dataclass(frozen=True)
class MovingAnswer:
    """Columns of hosts, and the prices of the relaxation, of these items."""

    whole: Whole
    prices: Prices
    items: tuple[Item, ...]


class MovingSearch:
    """One search. ``weight``: of each class of new VMs; ``worth``: the most of an item's classes."""

    def __init__(self, site: MovingSite, seed: int, should_stop: Callable[[], bool]) -> None:
        self.site, self.seed, self.should_stop = site, seed, should_stop
        self.classes = site.instance.classes
        found = moving_items(site)
        self.items, self.rows, self.item_of = found.items, found.rows, found.of_kind
        mine = (self.classes[index] for item in self.items for index in item.classes)
        self.weight = weights_together(weights_by_priority(mine))
        self.worth = {
            item.index: max(self.weight[index] for index in item.classes)
            for item in self.items
            if item.classes
        }
        self.groups = host_groups(site)
        self.counts = [len(group.positions) for group in self.groups]
        self.check = LeavingCheck(site, found.items, seed)
        self.parts = MovingParts(site, self.groups, found, seed, self._fits)
        self.sources: list[Source] = [self.parts.moving]
        if self.parts.others.kinds:
            self.sources.append(self.parts.others)
        self.columns = Columns()

    def _fits(self, beginning: Beginning, seats: Seats) -> bool:
        task = self.groups[beginning.host].host.bare
        if task is None:
            return False
        numbers = self.parts.own.of_seatings(task, seats, beginning.member)
        return self.check.plan(self.groups[beginning.host].host, beginning.gone, numbers) is not None

    def run(self, known: MovingAnswer | None = None) -> MovingAnswer:
        """Search all priorities at once.

        ``known``: of another block of hosts, whose prices to begin with if its items are the same.
        """
        aim = Aim(self.weight, 1, TOGETHER_SCALE)
        master = PatternMaster(self.counts, self.items, self.classes, self.rows, aim)
        relaxed = self._relaxed(master, self._start(master, known))
        dive = Dive(master, self.sources, self.columns, self.should_stop, self._open())
        # Seats that nobody takes are in the way of those who have none.
        found = self._mended(trimmed(dive.run(), master.asked, self.parts.moving))
        whole = trimmed(found, master.asked, self.parts.moving)
        return MovingAnswer(whole, relaxed.best, self.items)

    def _start(self, master: PatternMaster, known: MovingAnswer | None) -> Prices:
        """Prices to begin with: those known, else those of nothing moved and what leaving lets in."""
        first = first_prices(master.aim, self.items, self.rows, len(self.counts))
        if known is not None and known.items == self.items:
            row = {name: known.prices.row.get(name, 0) for name in first.row}
            return replace(first, cover=known.prices.cover, cap=known.prices.cap, row=row)
        self.parts.moving.still = True
        still = self._relaxed(master, first)
        self.parts.moving.still = False
        return self._with_leaving(still.duals, master)

    def _open(self) -> list[int]:
        """Hosts that movers may be on."""
        kinds = set(self.site.kinds)
        return [
            number
            for number, group in enumerate(self.groups)
            if group.host.movers or not kinds.isdisjoint(group.host.still.options)
        ]

    def _mended(self, whole: Whole) -> Whole:
        movers = [group.host.movers for group in self.groups]
        moving, seatings = self.parts.moving, self.parts.seatings
        return Mender(whole, self.items, self.worth, movers, moving, seatings, self.holds).run()

    def holds(self, column: LightColumn) -> bool:
        """Whether a host takes a column, by the host model."""
        source = column.source
        if not isinstance(source, Taken):
            return True
        host = self.groups[column.kind].host
        if source.beginning.gone and host.bare is not None:
            numbers = self.parts.own.of_seatings(host.bare, source.seats, source.beginning.member)
            return self.check.plan(host, source.gone, numbers) is not None
        return self.parts.still_takes(column.kind, source.seats)

    def _relaxed(self, master: PatternMaster, start: Prices | None) -> Relaxed:
        return relax(
            master,
            self.sources,
            self.columns,
            start,
            self.should_stop,
            MOST_ROUNDS,
            close=CLOSE,
            most=Effort.NEARLY,
        )

    def _with_leaving(self, prices: Prices, master: PatternMaster) -> Prices:
        """Duals with a first guess of what the seats of movers are worth: what each leaving lets in."""
        gains = self.parts.moving.gains(seat_duals(prices, master))
        cover = list(prices.cover)
        for item, found in gains.items():
            cover[item] = sum(found) // len(found)
        return replace(prices, cover=tuple(cover))
