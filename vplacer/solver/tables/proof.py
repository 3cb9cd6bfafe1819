"""The bound of a search for one aim: by the tables, and the host model where these are not sure."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from math import gcd
from typing import Any

import numpy as np
import numpy.typing as npt

from vplacer.solver.pricing import MAX_WORK_A_PRICE
from vplacer.solver.tables.column_search import Columns, Relaxed, best_known, seat_duals
from vplacer.solver.tables.cpsat_source import CpSatSource
from vplacer.solver.tables.lp import PatternMaster, Prices
from vplacer.solver.tables.search_parts import SearchParts
from vplacer.solver.tables.sources import Duals, Effort, TableSource, best_of

Array = npt.NDArray[Any]

FEW_KINDS = 300
"""Kinds of hosts below which each is of many hosts."""

SLACK = 0.25
"""Part of the least that matters, by which a proved bound may be too high."""

MOST_WIDE = 40
"""Kinds of which the tables did not come to an end that a proof asks the host model for."""

WORK_A_PROOF = 0.005
"""Work of one price of the host model beside what CP-SAT counts."""

WORK_WHERE_VMS_FLOAT = 4.0
"""Work for the price of one host of many nodes on which VMs float: few are hard, and each is worth much."""


class Proof:
    """Proves bounds of one search, as long as there is work left.

    Columns found on the way are kept.
    """

    def __init__(
        self, parts: SearchParts, columns: Columns, work: float, should_stop: Callable[[], bool]
    ) -> None:
        self.parts, self.columns, self.should_stop = parts, columns, should_stop
        self.left = work
        self._model: CpSatSource = parts.prover
        self._tables: TableSource = parts.tables

    def bound(self, master: PatternMaster, relaxed: Relaxed, loose: float) -> int | None:
        """Return the best bound, with the host model's prices where the tables are not sure of theirs.

        The points that were let in to choose between equals are left out. None = there is not enough work
        left.

        Args:
            master: the master.
            relaxed: what the relaxation came to.
            loose: part of the value by which the bound may be too high.
        """
        if not relaxed.told and self.should_stop():
            return None
        duals = seat_duals(relaxed.best, master, Effort.TRUE, bare=self._tables.hopeful)
        worth, told = relaxed.worth.copy(), relaxed.told
        doubtful: set[int] = set()
        if master.aim.weight and (duals.point or self._tables.pooled):
            # Of few kinds each is of many hosts, mostly empty: the model takes long over one.
            if len(self.parts.kinds) >= FEW_KINDS and not self._tables.pooled:
                doubtful.update(self._tables.doubtful())
            duals = replace(duals, point=0)
            worth = best_of(self.parts.sources, duals, len(self.parts.counts), Effort.TRUE)
            told = not any(source.untold for source in self.parts.sources)
        open_kinds = set(self._tables.open_at(duals))
        if self._tables.pooled:
            unsure = sorted({*open_kinds, *self._unsure(master, relaxed.best, duals, worth, loose)})
        else:
            wide = self._tables.wide()[:MOST_WIDE] if self._tables.hopeful else []
            unsure = sorted({*open_kinds, *doubtful, *self._tables.doubtful(), *wide})
        if unsure and self.left < WORK_A_PROOF * len(unsure):
            return None
        told = self._ask(unsure, open_kinds, duals, worth) and told
        for column in self._model.columns(unsure):
            if self.columns.add(column) and column is not None:
                master.add(column)
        if not told:
            return None
        value = sum(int(w) * count for w, count in zip(worth, self.parts.counts, strict=True))
        return value + master.constant(relaxed.best)

    def _ask(self, unsure: list[int], open_kinds: set[int], duals: Duals, worth: Array) -> bool:
        """Ask the host model what some kinds, by number in the tables, are worth; whether all needed is told.

        Args:
            unsure: the kinds.
            open_kinds: those whose price by the tables may be below the truth.
            duals: what seats are worth.
            worth: of each kind of all; what is told goes there.
        """
        told = True
        before = self._model.work
        work = WORK_WHERE_VMS_FLOAT if self._tables.pooled else MAX_WORK_A_PRICE
        for number in unsure:
            price = self._model.price_one(number, duals, work)
            if price is not None:
                at = self._model.kinds[number]
                worth[at] = price if number in open_kinds else min(worth[at], price)
            elif number in open_kinds:
                told = False
        self.left -= self._model.work - before + WORK_A_PROOF * len(unsure)
        return told

    def _unsure(
        self, master: PatternMaster, prices: Prices, duals: Duals, worth: Array, loose: float
    ) -> list[int]:
        """Kinds, by number in the tables, whose worth may be more than they take, and matters.

        Where floating VMs share the cores of a host with all its nodes.
        """
        mine = list(self._tables.kinds)
        over = worth[mine] - best_known(master, prices, duals.point)[mine]
        excess = np.maximum(0, over) * np.array(self.parts.counts)[mine]
        # What is lost by rounding anyway need not be told apart.
        step = gcd(*master.aim.weight.values()) if master.aim.weight else 1
        slack = max(SLACK * step * master.scale, loose * master.solve().value)
        order = np.argsort(excess, kind="stable")
        matters = np.sort(order[np.cumsum(excess[order]) > slack]).tolist()
        for column in self._tables.columns(matters):
            if self.columns.add(column) and column is not None:
                master.add(column)
        return self._tables.unsure(matters)
