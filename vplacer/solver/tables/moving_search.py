"""Levels "placed" of many hosts some of whose running VMs may move."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from vplacer.solver.tables.column_search import Columns, Relaxed, relax, seat_duals
from vplacer.solver.tables.dive import Dive
from vplacer.solver.tables.evictions import Beginning
from vplacer.solver.tables.fitting import Seats
from vplacer.solver.tables.lp import Aim, LightColumn, PatternMaster, Prices, Whole, first_prices
from vplacer.solver.tables.mend import Mender
from vplacer.solver.tables.movers import MovingSite
from vplacer.solver.tables.moving_check import LeavingCheck
from vplacer.solver.tables.moving_parts import MovingParts, host_groups, moving_items
from vplacer.solver.tables.moving_source import LIMITS, Taken
from vplacer.solver.tables.moving_trim import trimmed
from vplacer.solver.tables.placed import weights_by_priority
from vplacer.solver.tables.search import PLACED_SCALE, PRIORITY_STEP
from vplacer.solver.tables.sources import Effort, Source

Array = npt.NDArray[Any]

CLOSE = 1e-3
"""Gap of the relaxation at which it is left: whole columns lose more."""

MOST_ROUNDS = 40

CHARGED = 3
"""Rounds in which movers of hosts without columns of those who leave are charged."""


@dataclass(frozen=True)
class MovingAnswer:
    """Columns of hosts, and the most that priorities can come to together, each by its factor; None = unknown.

    ``prices``: those of the bound.
    """

    whole: Whole
    bound: int | None
    factor: Mapping[int, int]
    prices: Prices


class MovingSearch:
    """One search. ``proves``: whether all that may move are in the site, so that there is a bound."""

    def __init__(self, site: MovingSite, seed: int, should_stop: Callable[[], bool], *, proves: bool) -> None:
        self.site, self.seed, self.should_stop, self.proves = site, seed, should_stop, proves
        self.classes = site.instance.classes
        found = moving_items(site)
        self.items, self.rows, self.item_of = found.items, found.rows, found.of_kind
        self.weights = weights_by_priority(self.classes[i] for item in self.items for i in item.classes)
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

    def run(self, known: Prices | None = None) -> MovingAnswer:
        """Search all priorities at once, and tell what that proves of each.

        ``known``: prices of another block of hosts with the same items, to begin with.
        """
        factor = {p: PRIORITY_STEP ** (len(self.weights) - 1 - n) for n, p in enumerate(self.weights)}
        weight = {index: factor[p] * each for p, mine in self.weights.items() for index, each in mine.items()}
        aim = Aim(weight, 1, PLACED_SCALE)
        master = PatternMaster(self.counts, self.items, self.classes, self.rows, aim)
        relaxed = self._relaxed(master, self._start(master, known))
        bound = self._proved(master, relaxed) if self.proves and not self.should_stop() else None
        dive = Dive(master, self.sources, self.columns, self.should_stop, self._open())
        # Seats that nobody takes are in the way of those who have none.
        found = self._mended(trimmed(dive.run(), master.asked, self.parts.moving), aim)
        whole = trimmed(found, master.asked, self.parts.moving)
        return MovingAnswer(whole, None if bound is None else bound // aim.scale, factor, relaxed.best)

    def _start(self, master: PatternMaster, known: Prices | None) -> Prices:
        """Prices to begin with: those known, else those of nothing moved and what leaving lets in."""
        first = first_prices(master.aim, self.items, self.rows, len(self.counts))
        if known is not None and len(known.cover) == len(first.cover):
            row = {name: known.row.get(name, 0) for name in first.row}
            return replace(first, cover=known.cover, cap=known.cap, row=row)
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

    def _mended(self, whole: Whole, aim: Aim) -> Whole:
        worth = {
            item.index: max(aim.weight.get(index, 0) for index in item.classes)
            for item in self.items
            if item.classes
        }
        self.worth = worth
        movers = [group.host.movers for group in self.groups]
        mender = Mender(whole, self.items, worth, movers, self.parts.moving, self.parts.seatings, self.holds)
        return mender.run()

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

    def _proved(self, master: PatternMaster, relaxed: Relaxed) -> int | None:
        """The best bound, whoever leaves: limits of moves, and what moves cost, are left out."""
        rows = {name: 0 if name in LIMITS else dual for name, dual in relaxed.best.row.items()}
        prices = self._charged_beyond(replace(relaxed.best, row=rows), master)
        duals = replace(seat_duals(prices, master), point=0)
        parts = self.parts
        worth = np.zeros(len(self.counts), np.int64)
        if parts.others.kinds:
            np.maximum.at(worth, list(parts.others.kinds), parts.others.price(duals, True))
            if parts.others.untold:
                return None
        open_members = set(parts.prices.open_kinds)
        most = parts.moving.most(duals)
        for number in sorted(open_members & set(parts.moving.decisive)):
            price = parts.prover.price_one(number, duals)
            if price is None:
                return None
            most[number] = price - parts.moving.charged(number, duals)
        np.maximum.at(
            worth, parts.moving.host[list(parts.moving.decisive)], most[list(parts.moving.decisive)]
        )
        for host, bound in parts.beyond.items():
            found = bound.most(duals)
            if found is None:
                return None
            worth[host] = max(worth[host], found)
        value = sum(int(w) * count for w, count in zip(worth, self.counts, strict=True))
        return value + master.constant(prices)

    def _charged_beyond(self, prices: Prices, master: PatternMaster) -> Prices:
        """Charge movers of hosts that only a linear bound speaks of what their seats cost there.

        Nobody leaves these hosts in any column, so the master charges nothing.
        """
        elsewhere = {self.item_of[m.kind] for begun in self.parts.began for m in begun.gone}
        cover = list(prices.cover)
        for _ in range(CHARGED):
            duals = replace(seat_duals(replace(prices, cover=tuple(cover)), master), point=0)
            costs: dict[int, list[int]] = defaultdict(list)
            for bound in self.parts.beyond.values():
                for item, cost in bound.costs(duals):
                    costs[item].append(cost)
            for item, found in costs.items():
                if item not in elsewhere:
                    cover[item] = sum(found) // len(found)
        return replace(prices, cover=tuple(cover))
