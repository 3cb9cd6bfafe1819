"""Levels "placed" and "locality" of an instance of many hosts, by patterns: values, bounds, plans."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import gcd
from typing import Any

import numpy as np
import numpy.typing as npt

from vplacer.solver.bounds import plain_bounds
from vplacer.solver.host_plan import HostPlan
from vplacer.solver.instance import Instance
from vplacer.solver.kinds import HostKind
from vplacer.solver.pricing import MAX_WORK_A_PRICE
from vplacer.solver.rows import RowSet
from vplacer.solver.tables.column_search import (
    CLOSE,
    MOST_ROUNDS,
    Columns,
    Relaxed,
    best_known,
    identity,
    relax,
    seat_duals,
)
from vplacer.solver.tables.cpsat_source import CpSatSource, merged
from vplacer.solver.tables.decomposes import decomposes
from vplacer.solver.tables.enrich import enrich
from vplacer.solver.tables.families import build_families
from vplacer.solver.tables.fitting import Seats
from vplacer.solver.tables.host_seats import HostSeats, deal, host_plan
from vplacer.solver.tables.items import build_items
from vplacer.solver.tables.lp import Aim, PatternMaster, Prices, Whole, first_prices
from vplacer.solver.tables.own_options import OwnOptions
from vplacer.solver.tables.placed import weight_placed, weights_by_priority
from vplacer.solver.tables.prices import TablePrices
from vplacer.solver.tables.sources import (
    Duals,
    Effort,
    RowTerms,
    Source,
    TableSource,
    best_of,
    terms_by_host,
)
from vplacer.solver.tables.starts import StartsBuilder
from vplacer.solver.tables.trim import Trimmer
from vplacer.solver.tables.whole import choose_whole, worth_of

Array = npt.NDArray[Any]

LEAST_HOSTS = 40
"""Hosts below which exact models of a few hosts at a time find the best answer by themselves."""

PRIORITY_STEP = 16
"""How much more a priority counts than the next in the first search, which looks at all of them at once."""

SAMPLE = 10
"""One kind of host in so many is looked at first: good duals to begin with, cheaply."""

LEAST_SAMPLED = 300
"""Kinds of hosts below which all are looked at at once."""

ROUGHLY = 1e-3
"""Gap at which the first search, of all priorities at once, is left: each level is searched after it."""

LEAST_ROUNDS = 6
"""Rounds of the first search that are made even if it is to stop: much of what fits is found by then."""

SLACK = 0.25
"""Part of the least that matters, by which a proved bound may be too high."""

MOST_PROOFS = 4
"""Times that a bound is proved, while proofs find columns."""

LEAST_RISE = 0.1
"""How much of what is left to the bound a proof's columns bring, at least, if another is to follow."""

MOST_DEAR = 2
"""Rounds at the true prices where some points seldom come true."""

MOST_WIDE = 40
"""Kinds of which the tables did not come to an end that a proof asks the host model for."""

WORK_A_PROOF = 0.005
"""Work of one price of the host model beside what CP-SAT counts."""

WORK_WHERE_VMS_FLOAT = 4.0
"""Work for the price of one host of many nodes on which VMs float: few are hard, and each is worth much."""

PLACED_SCALE = 16
LEVEL_SCALE = 1 << 10
"""Of the search of one priority, where a point, the least there is, decides between equals and no more."""

LOCALITY_SCALE = 1 << 20
"""Finer than that of weights: a point may be worth very many of them."""


@dataclass(frozen=True)
class TableAnswer:
    """Plans by host position; values and bounds of the levels looked at, in the maximised sense."""

    plans: Mapping[int, HostPlan]
    values: Mapping[str, int]
    bounds: Mapping[str, int | None]
    stopped: bool


def takes(instance: Instance) -> bool:
    """Whether the search is for such an instance: many hosts, and all VMs are new."""
    return len(instance.tasks) >= LEAST_HOSTS and all(cls.vm is None for cls in instance.classes)


class TableSearch:
    """One search."""

    def __init__(
        self,
        instance: Instance,
        kinds: Sequence[HostKind],
        seed: int,
        work: float,
        should_stop: Callable[[], bool],
    ) -> None:
        self.left = work
        self.instance, self.kinds, self.seed, self.should_stop = instance, kinds, seed, should_stop
        self.classes = instance.classes
        self.items = build_items(instance)
        own = {f"count:{index}" for item in self.items for index in item.classes}
        self.rows = RowSet(
            tuple(row for row in instance.rows.rows if row.name not in own), instance.rows.auxiliaries
        )
        self.columns = Columns()
        self.sources = self._sources()
        self.counts = [kind.count for kind in kinds]

    def _sources(self) -> list[Source]:
        terms = RowTerms(self.rows, self.items)
        self.trimmer = Trimmer(self.kinds, self.items, terms)
        numbers = {id(kind): number for number, kind in enumerate(self.kinds)}
        by_table = [kind for kind in self.kinds if decomposes(kind.task)]
        families = build_families(self.instance, by_table, self.items, terms_by_host(self.rows))
        starts = StartsBuilder().build(families)
        prices = TablePrices(starts)
        tabled = {id(kind) for kind in prices.kinds}
        others = [kind for kind in self.kinds if id(kind) not in tabled]
        self.own = OwnOptions(self.instance, self.items, starts)
        self.prover = self._cpsat(prices.kinds, numbers, terms)
        at = [numbers[id(kind)] for kind in prices.kinds]
        self.tables = TableSource(prices, at, terms, self._fits)
        found: list[Source] = [self.tables]
        self.others = [self._cpsat(others, numbers, terms)] if others else []
        found += self.others
        return found

    def _cpsat(self, kinds: Sequence[HostKind], numbers: Mapping[int, int], terms: RowTerms) -> CpSatSource:
        return CpSatSource(
            kinds,
            [numbers[id(kind)] for kind in kinds],
            self.items,
            merged(self.classes, self.items),
            self.instance.problem.request.options,
            terms,
            self.seed,
        )

    def _fits(self, number: int, seats: Seats) -> bool:
        """Whether a kind priced by a table takes some seatings."""
        kind = self.kinds[self.prover.kinds[number]]
        return self.prover.fits(number, self.own.of_seatings(kind.task, seats))

    def run(self) -> TableAnswer:
        """Search level by level."""
        plain = plain_bounds(self.instance)
        weights = weights_by_priority(self.classes)
        factor = {p: PRIORITY_STEP ** (len(weights) - 1 - n) for n, p in enumerate(weights)}
        weight = {index: factor[p] * each for p, mine in weights.items() for index, each in mine.items()}
        # Where floating VMs share the cores of hosts, points between equals cost more than they bring.
        point = 0 if self.tables.pooled else 1
        together = self._aimed(Aim(weight, point, PLACED_SCALE), first=True)
        held = together.whole
        bounds: dict[str, int | None] = {}
        values: dict[str, int] = {}
        settled: list[tuple[Mapping[int, int], int]] = []
        over = together.bound
        for priority, mine in weights.items():
            name = f"placed:{priority}"
            step = gcd(*mine.values())
            bound = plain.get(name, 0)
            if over is not None:
                bound = min(bound, over // factor[priority] // step * step)
            if self._placed(held, mine) < bound and not self.should_stop():
                found = self._aimed(Aim(mine, point, LEVEL_SCALE, tuple(settled)), held)
                if found.bound is not None:
                    bound = min(bound, found.bound // step * step)
                held = self._better(held, found.whole, settled, mine)
            value, bounds[name] = self._placed(held, mine), bound
            if over is not None:
                over -= factor[priority] * value
            settled.append(({index: each // step for index, each in mine.items()}, value // step))
        if any(level.id == "locality" for level in self.instance.levels):
            bound = plain["locality"]
            if self._points(held) < bound and not self.should_stop():
                found = self._aimed(Aim({}, LOCALITY_SCALE, LOCALITY_SCALE, tuple(settled)), held)
                if found.bound is not None:
                    bound = min(bound, found.bound)
                held = self._better(held, found.whole, settled, None)
            values["locality"], bounds["locality"] = self._points(held), bound
        # The search of a later level may have come upon more of an earlier one.
        values |= {f"placed:{priority}": self._placed(held, mine) for priority, mine in weights.items()}
        plans = self._plans(held)
        stopped = any(bounds[name] != value for name, value in values.items())
        return TableAnswer(plans, values, bounds, stopped)

    def _better(
        self,
        held: Whole,
        found: Whole,
        settled: Sequence[tuple[Mapping[int, int], int]],
        weight: Mapping[int, int] | None,
    ) -> Whole:
        """The answer found, if it is better at a level and keeps those settled; else the one held.

        ``weight``: of the level's classes; None = points of locality.
        """

        def value(whole: Whole) -> int:
            return self._points(whole) if weight is None else self._placed(whole, weight)

        kept = all(self._placed(found, classes) >= reach for classes, reach in settled)
        return found if kept and value(found) > value(held) else held

    def _aimed(self, aim: Aim, held: Whole | None = None, *, first: bool = False) -> _Found:
        """Search for one aim: bound and whole columns, from those held.

        The first begins without columns, and ends roughly.
        """
        start = first_prices(aim, self.items, self.rows, len(self.counts)) if first else None
        if first and len(self.kinds) >= LEAST_SAMPLED and not self.should_stop():
            start = self._sampled(aim, start)
        master = PatternMaster(self.counts, self.items, self.classes, self.rows, aim)
        for column in self.columns.items:
            master.add(column)
        # There each host is looked at more closely when the bound is proved.
        close = ROUGHLY if first else CLOSE
        most = Effort.NEARLY if self.tables.pooled and aim.weight else Effort.TRUE
        # What tables promise then, the host model must look at anyway.
        hopeful = self.tables.hopeful and not aim.weight
        dearest = MOST_DEAR if hopeful else MOST_ROUNDS
        relaxed = relax(
            master,
            self.sources,
            self.columns,
            start,
            self.should_stop,
            close=close,
            least=LEAST_ROUNDS if first else 1,
            most=most,
            frugal=self.tables.pooled,
            dearest=dearest,
            bare=self.tables.hopeful,
        )
        bound = None
        for _ in range(MOST_PROOFS):
            known, before = len(master.columns), relaxed.value
            proved = self._proved(master, relaxed, ROUGHLY / 2 if first else 0)
            bound = proved if bound is None else bound if proved is None else min(bound, proved)
            value = master.solve().value
            near = bound is not None and value >= bound * (1 - close)
            rises = not hopeful or bound is None or value - before >= LEAST_RISE * (bound - value)
            if near or not rises or len(master.columns) == known or self.should_stop():
                break
            # What the host model found instead of what tables promised changes the duals.
            relaxed = relax(
                master,
                self.sources,
                self.columns,
                None,
                self.should_stop,
                most=most,
                frugal=self.tables.pooled,
                dearest=dearest,
                bare=self.tables.hopeful,
            )
        enough = None
        if bound is not None:
            step = aim.scale * (gcd(*aim.weight.values()) if aim.weight else 1)
            enough = bound * (1 - close) if first else bound // step * step
        counts = self._chosen(master, held or [], relaxed, enough)
        taken = [(column, count) for column, count in zip(master.columns, counts, strict=True) if count]
        taken = self.trimmer.trim(taken, master.asked)
        for column, _ in taken:
            self.columns.add(column)
        return _Found(None if bound is None else bound // aim.scale, taken)

    def _chosen(
        self, master: PatternMaster, held: Whole, relaxed: Relaxed, enough: float | None
    ) -> Sequence[int]:
        """How often each column is taken; more columns are made where those known do not come to enough."""
        pooled = self.tables.pooled
        solution = master.solution()
        counts: Sequence[int] = ()
        if pooled:
            counts = choose_whole(master, solution, _counts_of(master, held), self.seed, thorough=True)
            if self.should_stop() or (enough is not None and worth_of(master, counts) >= enough):
                return counts
        if not self.should_stop():
            enrich(master, self.sources, self.columns, relaxed.duals, self.seed)
        solution += [0.0] * (len(master.columns) - len(solution))
        return choose_whole(master, solution, _counts_of(master, held), self.seed, thorough=pooled)

    def _proved(self, master: PatternMaster, relaxed: Relaxed, loose: float) -> int | None:
        """The best bound, with the host model's prices where the tables are not sure of theirs.

        The points that were let in to choose between equals are left out. Columns found on the way are
        kept. None = there is not enough work left.

        Args:
            master: the master.
            relaxed: what the relaxation came to.
            loose: part of the value by which the bound may be too high.
        """
        if not relaxed.told and self.should_stop():
            return None
        duals = seat_duals(relaxed.best, master, Effort.TRUE, bare=self.tables.hopeful)
        worth, told = relaxed.worth.copy(), relaxed.told
        doubtful: set[int] = set()
        if master.aim.weight and (duals.point or self.tables.pooled):
            # Of few kinds each is of many hosts, and mostly empty: the model takes long over one.
            if len(self.kinds) >= LEAST_SAMPLED and not self.tables.pooled:
                doubtful.update(self.tables.doubtful())
            duals = replace(duals, point=0)
            worth = best_of(self.sources, duals, len(self.counts), Effort.TRUE)
            told = not any(source.untold for source in self.sources)
        open_kinds = set(self.tables.open_at(duals))
        wide = self.tables.wide()[:MOST_WIDE] if self.tables.hopeful else []
        unsure = sorted({*open_kinds, *doubtful, *self.tables.doubtful(), *wide})
        if self.tables.pooled:
            unsure = sorted({*open_kinds, *self._unsure(master, relaxed.best, duals, worth, loose)})
        if unsure and self.left < WORK_A_PROOF * len(unsure):
            return None
        before = self.prover.work
        work = WORK_WHERE_VMS_FLOAT if self.tables.pooled else MAX_WORK_A_PRICE
        for number in unsure:
            price = self.prover.price_one(number, duals, work)
            if price is not None:
                at = self.prover.kinds[number]
                worth[at] = price if number in open_kinds else min(worth[at], price)
            elif number in open_kinds:
                told = False
        for column in self.prover.columns(unsure):
            if self.columns.add(column) and column is not None:
                master.add(column)
        self.left -= self.prover.work - before + WORK_A_PROOF * len(unsure)
        if not told:
            return None
        value = sum(int(w) * count for w, count in zip(worth, self.counts, strict=True))
        return value + master.constant(relaxed.best)

    def _unsure(
        self, master: PatternMaster, prices: Prices, duals: Duals, worth: Array, loose: float
    ) -> list[int]:
        """Kinds, by number in the tables, whose worth may be more than they take, and matters.

        Where floating VMs share the cores of a host with all its nodes. Columns found on the way are kept.
        """
        mine = list(self.tables.kinds)
        over = worth[mine] - best_known(master, prices, duals.point)[mine]
        excess = np.maximum(0, over) * np.array(self.counts)[mine]
        # What is lost by rounding anyway need not be told apart.
        step = gcd(*master.aim.weight.values()) if master.aim.weight else 1
        slack = max(SLACK * step * master.scale, loose * master.solve().value)
        order = np.argsort(excess, kind="stable")
        matters = np.sort(order[np.cumsum(excess[order]) > slack]).tolist()
        for column in self.tables.columns(matters):
            if self.columns.add(column) and column is not None:
                master.add(column)
        return self.tables.unsure(matters)

    def _sampled(self, aim: Aim, start: Prices | None) -> Prices:
        """Duals of a part of the hosts, asked for the same part of the VMs."""
        counts = [count if number % SAMPLE == 0 else 0 for number, count in enumerate(self.counts)]
        share = sum(counts) / sum(self.counts)
        fewer = [
            replace(cls, members=cls.members[: max(1, round(cls.count * share))]) for cls in self.classes
        ]
        master = PatternMaster(counts, self.items, fewer, self.rows, aim)
        return relax(
            master, self.sources, self.columns, start, self.should_stop, close=ROUGHLY, most=Effort.CHEAP
        ).best

    def _placed(self, held: Whole, weight: Mapping[int, int]) -> int:
        """Weight of the classes placed by some columns."""
        return weight_placed(self.items, self.classes, held, weight)

    def _points(self, held: Whole) -> int:
        """Points of locality."""
        return sum(column.points * count for column, count in held)

    def _plans(self, held: Whole) -> dict[int, HostPlan]:
        """Plans of all hosts."""
        waiting = {number: list(kind.positions) for number, kind in enumerate(self.kinds)}
        hosts = []
        for column, count in held:
            for _ in range(count):
                position = waiting[column.kind].pop(0)
                hosts.append(HostSeats(position, self.own.seats(self.instance.tasks[position], column)))
        dealt = deal(hosts, self.items, self.classes)
        plans = {}
        for position, task in enumerate(self.instance.tasks):
            chosen = dealt.get(position, [])
            needs: Counter[str] = Counter()
            for index, number, count in chosen:
                for use in task.options[index][number].uses:
                    if use.resource == "vgpu":
                        needs[use.profile or ""] += use.count * count
            plans[position] = host_plan(chosen, task.state, dict(needs))
        return plans


@dataclass(frozen=True)
class _Found:
    """What one aim came to: the bound, and the columns taken."""

    bound: int | None
    whole: Whole


def _counts_of(master: PatternMaster, held: Whole) -> list[int]:
    """How often each column of a master is held."""
    found: Counter[object] = Counter()
    for column, count in held:
        found[identity(column)] += count
    return [found.pop(identity(column), 0) for column in master.columns]
