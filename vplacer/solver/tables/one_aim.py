"""The search for one aim, of all hosts: a relaxation, its bound, and whole columns."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import gcd

from vplacer.solver.tables.column_search import CLOSE, MOST_ROUNDS, Columns, Relaxed, identity, relax
from vplacer.solver.tables.enrich import enrich
from vplacer.solver.tables.lp import Aim, PatternMaster, Prices, Whole, first_prices
from vplacer.solver.tables.proof import Proof
from vplacer.solver.tables.search_parts import SearchParts
from vplacer.solver.tables.sources import Effort
from vplacer.solver.tables.trim import Trimmer
from vplacer.solver.tables.whole import choose_whole, worth_of

SAMPLE = 10
"""One kind of host in so many is looked at first: good duals to begin with, cheaply."""

LEAST_SAMPLED = 300
"""Kinds of hosts below which all are looked at at once."""

ROUGHLY = 1e-3
"""Gap at which the first search, of all priorities at once, is left: each level is searched after it."""

LEAST_ROUNDS = 6
"""Rounds of the first search that are made even if it is to stop: much of what fits is found by then."""

MOST_PROOFS = 4
"""Times that a bound is proved, while proofs find columns."""

LEAST_RISE = 0.1
"""How much of what is left to the bound a proof's columns bring, at least, if another is to follow."""

MOST_DEAR = 2
"""Rounds at the true prices where some points seldom come true."""


@dataclass(frozen=True)
class Found:
    """What one aim came to: the bound, and the columns taken."""

    bound: int | None
    whole: Whole


class AimSearch:
    """Searches for one aim after the other, with the columns known from those before."""

    def __init__(self, parts: SearchParts, work: float, should_stop: Callable[[], bool]) -> None:
        self.parts, self.should_stop = parts, should_stop
        self.columns = Columns()
        self._proof = Proof(parts, self.columns, work, should_stop)
        self._trimmer = Trimmer(parts.kinds, parts.items, parts.terms)

    def run(self, aim: Aim, held: Whole | None = None, *, first: bool = False) -> Found:
        """Search for one aim: bound and whole columns, from those held.

        The first begins without columns, and ends roughly.
        """
        parts = self.parts
        start = first_prices(aim, parts.items, parts.rows, len(parts.counts)) if first else None
        if first and len(parts.kinds) >= LEAST_SAMPLED and not self.should_stop():
            start = self._sampled(aim, start)
        master = PatternMaster(parts.counts, parts.items, parts.classes, parts.rows, aim)
        for column in self.columns.items:
            master.add(column)
        # There each host is looked at more closely when the bound is proved.
        close, least = (ROUGHLY, LEAST_ROUNDS) if first else (CLOSE, 1)
        relaxed = self._relaxed(master, start, close, least)
        bound, relaxed = self._proved(master, relaxed, close, ROUGHLY / 2 if first else 0)
        enough = None
        if bound is not None:
            step = aim.scale * (gcd(*aim.weight.values()) if aim.weight else 1)
            enough = bound * (1 - close) if first else bound // step * step
        counts = self._chosen(master, held or [], relaxed, enough)
        taken = [(column, count) for column, count in zip(master.columns, counts, strict=True) if count]
        taken = self._trimmer.trim(taken, master.asked)
        for column, _ in taken:
            self.columns.add(column)
        return Found(None if bound is None else bound // aim.scale, taken)

    def _hopeful(self, aim: Aim) -> bool:
        """Whether tables promise points that seldom come true: the host model must look at them anyway."""
        return self.parts.tables.hopeful and not aim.weight

    def _relaxed(
        self, master: PatternMaster, start: Prices | None, close: float = CLOSE, least: int = 1
    ) -> Relaxed:
        """Solve the relaxation; see `relax`."""
        tables = self.parts.tables
        return relax(
            master,
            self.parts.sources,
            self.columns,
            start,
            self.should_stop,
            close=close,
            least=least,
            most=Effort.NEARLY if tables.pooled and master.aim.weight else Effort.TRUE,
            frugal=tables.pooled,
            dearest=MOST_DEAR if self._hopeful(master.aim) else MOST_ROUNDS,
            bare=tables.hopeful,
        )

    def _proved(
        self, master: PatternMaster, relaxed: Relaxed, close: float, loose: float
    ) -> tuple[int | None, Relaxed]:
        """The bound, proved again while proofs find columns that bring something, and the last relaxation.

        Args:
            master: the master.
            relaxed: the first relaxation.
            close: gap, relative, at which no other proof follows.
            loose: part of the value by which the bound may be too high.
        """
        bound = None
        hopeful = self._hopeful(master.aim)
        for _ in range(MOST_PROOFS):
            known, before = len(master.columns), relaxed.value
            proved = self._proof.bound(master, relaxed, loose)
            bound = proved if bound is None else bound if proved is None else min(bound, proved)
            value = master.solve().value
            near = bound is not None and value >= bound * (1 - close)
            rises = not hopeful or bound is None or value - before >= LEAST_RISE * (bound - value)
            if near or not rises or len(master.columns) == known or self.should_stop():
                break
            # What the host model found instead of what tables promised changes the duals.
            relaxed = self._relaxed(master, None)
        return bound, relaxed

    def _chosen(
        self, master: PatternMaster, held: Whole, relaxed: Relaxed, enough: float | None
    ) -> Sequence[int]:
        """How often each column is taken; more columns are made where those known do not come to enough."""
        pooled, seed = self.parts.tables.pooled, self.parts.seed
        solution = master.solution()
        counts: Sequence[int] = ()
        if pooled:
            counts = choose_whole(master, solution, _counts_of(master, held), seed, thorough=True)
            if self.should_stop() or (enough is not None and worth_of(master, counts) >= enough):
                return counts
        if not self.should_stop():
            enrich(master, self.parts.sources, self.columns, relaxed.duals, seed)
        solution += [0.0] * (len(master.columns) - len(solution))
        return choose_whole(master, solution, _counts_of(master, held), seed, thorough=pooled)

    def _sampled(self, aim: Aim, start: Prices | None) -> Prices:
        """Duals of a part of the hosts, asked for the same part of the VMs."""
        parts = self.parts
        counts = [count if number % SAMPLE == 0 else 0 for number, count in enumerate(parts.counts)]
        share = sum(counts) / sum(parts.counts)
        fewer = [
            replace(cls, members=cls.members[: max(1, round(cls.count * share))]) for cls in parts.classes
        ]
        master = PatternMaster(counts, parts.items, fewer, parts.rows, aim)
        return relax(
            master, parts.sources, self.columns, start, self.should_stop, close=ROUGHLY, most=Effort.CHEAP
        ).best


def _counts_of(master: PatternMaster, held: Whole) -> list[int]:
    """How often each column of a master is held."""
    found: Counter[object] = Counter()
    for column, count in held:
        found[identity(column)] += count
    return [found.pop(identity(column), 0) for column in master.columns]
