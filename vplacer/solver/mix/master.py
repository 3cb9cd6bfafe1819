"""The master of the packing: how many bins of each kind hold which pattern."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from ortools.linear_solver import pywraplp

from vplacer.errors import InternalError
from vplacer.solver.mix.shape import Demand, Pattern
from vplacer.solver.scip import integer_solver

MAX_NODES = 60
"""Branch-and-bound nodes for what the relaxation leaves open: counted, not clocked, for equal answers."""

GOOD_ENOUGH = 0.0005
"""Gap at which that search ends."""

ALMOST = 1e-6


@dataclass(frozen=True, slots=True)
class Column:
    """A pattern of a lot: bins that are alike, by the lot's number."""

    lot: int
    pattern: Pattern


@dataclass(frozen=True, slots=True)
class Duals:
    """What one more VM of each demand, and one more bin of each lot, is worth to the relaxation."""

    demands: tuple[float, ...]
    lots: tuple[float, ...]


class Master:
    """The linear relaxation over the columns known.

    More VMs may have room than are wanted: they are left out when the answer is read.
    """

    def __init__(self, demands: Sequence[Demand], lots: Sequence[int]) -> None:
        """Begin without columns.

        Args:
            demands: what is wanted.
            lots: how many bins there are of each kind.
        """
        self.columns: list[Column] = []
        self._demands, self._lots = tuple(demands), tuple(lots)
        self._known: set[Column] = set()
        self._solver = pywraplp.Solver.CreateSolver("GLOP")
        # With presolve every round begins from nothing instead of from the last one's basis.
        self._solver.SetSolverSpecificParametersAsString("use_preprocessing: false")
        infinity = self._solver.infinity()
        self._objective = self._solver.Objective()
        self._objective.SetMaximization()
        self._covered = []
        for demand in demands:
            placed = self._solver.NumVar(0, demand.wanted, "")
            self._objective.SetCoefficient(placed, demand.value)
            row = self._solver.RowConstraint(0, infinity, "")
            row.SetCoefficient(placed, -1)
            self._covered.append(row)
        self._used = [self._solver.RowConstraint(-infinity, number, "") for number in lots]
        self._counts: list[pywraplp.Variable] = []

    def add(self, column: Column) -> bool:
        """Add a column; False if it is known."""
        if column in self._known:
            return False
        self._known.add(column)
        self.columns.append(column)
        variable = self._solver.NumVar(0, self._solver.infinity(), "")
        self._counts.append(variable)
        self._used[column.lot].SetCoefficient(variable, 1)
        for index, count in column.pattern.counts().items():
            self._covered[index].SetCoefficient(variable, count)
        return True

    def solve(self) -> tuple[float, Duals]:
        """Return the relaxation's value and its duals."""
        status = self._solver.Solve()
        if status != pywraplp.Solver.OPTIMAL:
            raise InternalError("the packing's relaxation has no solution", why=f"GLOP status {status}")
        return self._objective.Value(), Duals(
            tuple(max(0.0, -row.dual_value()) for row in self._covered),
            tuple(max(0.0, row.dual_value()) for row in self._used),
        )

    def whole(self, seed: int) -> list[int]:
        """Return how many bins take each column: the relaxation rounded down, the rest by a small search.

        Args:
            seed: of the search.
        """
        floors = [math.floor(variable.solution_value() + ALMOST) for variable in self._counts]
        bins = list(self._lots)
        wanted = [demand.wanted for demand in self._demands]
        for column, number in zip(self.columns, floors, strict=True):
            bins[column.lot] -= number
            for index, count in column.pattern.counts().items():
                wanted[index] -= number * count
        found = self._search(bins, wanted, seed)
        return [floor + more for floor, more in zip(floors, found, strict=True)]

    def _search(self, bins: Sequence[int], wanted: Sequence[int], seed: int) -> list[int]:
        """Choose columns for the bins left over; ``wanted`` below 0: more have room than are wanted."""
        solver = integer_solver(seed, MAX_NODES, gap=GOOD_ENOUGH)
        infinity = solver.infinity()
        objective = solver.Objective()
        objective.SetMaximization()
        rows = []
        for demand, number in zip(self._demands, wanted, strict=True):
            placed = solver.IntVar(0, max(0, number), "")
            objective.SetCoefficient(placed, demand.value)
            row = solver.RowConstraint(min(0, number), infinity, "")
            row.SetCoefficient(placed, -1)
            rows.append(row)
        used = [solver.RowConstraint(-infinity, number, "") for number in bins]
        counts = []
        for column in self.columns:
            variable = solver.IntVar(0, max(0, bins[column.lot]), "")
            used[column.lot].SetCoefficient(variable, 1)
            for index, count in column.pattern.counts().items():
                rows[index].SetCoefficient(variable, count)
            counts.append(variable)
        if solver.Solve() not in (pywraplp.Solver.OPTIMAL, pywraplp.Solver.FEASIBLE):
            return [0] * len(counts)
        return [round(variable.solution_value()) for variable in counts]
