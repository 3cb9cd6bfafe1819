"""From a relaxation to whole columns: keep what is whole already, choose anew for the hosts that are not."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ortools.linear_solver import pywraplp

from vplacer.solver.tables.lp import LightColumn, PatternMaster

MOST_NODES = 400
"""Branch-and-bound nodes; limits of work, not seconds: the same answer on every run."""

FREED = 150
"""Kinds freed beside those that the relaxation splits: the ones that have the most columns."""

WHOLE = 1e-6


def choose_whole(master: PatternMaster, solution: Sequence[float], seed: int) -> tuple[int, ...]:
    """Return how often each column is taken, near a relaxed solution; all zero if nothing was found."""
    found = _Rounding(master, solution).solve(seed)
    if found is None:
        # What was kept may stand in the way of rows that must be met.
        found = _Rounding(master, [0.0] * len(solution)).solve(seed)
    return found or (0,) * len(solution)


def choose_near(master: PatternMaster, solution: Sequence[float], seed: int) -> tuple[int, ...] | None:
    """Return how often each column is taken, near a relaxed solution; None if that was not found."""
    return _Rounding(master, solution).solve(seed)


class _Rounding:
    """The integer programme over the kinds that a relaxed solution leaves open."""

    def __init__(self, master: PatternMaster, solution: Sequence[float]) -> None:
        self.master = master
        self.kept = [int(value + WHOLE) for value in solution]
        left = list(master.counts)
        split: set[int] = set()
        for column, value, kept in zip(master.columns, solution, self.kept, strict=True):
            left[column.kind] -= kept
            if value - kept > WHOLE:
                split.add(column.kind)
        used = [0.0] * len(left)
        for column, value in zip(master.columns, solution, strict=True):
            used[column.kind] += value
        split |= {kind for kind, count in enumerate(master.counts) if count - used[kind] > WHOLE}
        self.free = self._freed(split, solution)
        for number, column in enumerate(master.columns):
            if column.kind in self.free:
                left[column.kind] += self.kept[number]
                self.kept[number] = 0
        self.left = left

    def _freed(self, split: set[int], solution: Sequence[float]) -> set[int]:
        """The split kinds, and the kinds with the most columns beside them."""
        if not any(solution):
            return set(range(len(self.master.counts)))
        number: dict[int, int] = {}
        for column in self.master.columns:
            number[column.kind] = number.get(column.kind, 0) + 1
        others = sorted((kind for kind in number if kind not in split), key=lambda k: (-number[k], k))
        return split | set(others[:FREED])

    def solve(self, seed: int) -> tuple[int, ...] | None:
        """Return how often each column is taken, None if nothing was found within the nodes."""
        solver = pywraplp.Solver.CreateSolver("SCIP")
        solver.SetSolverSpecificParametersAsString(
            f"limits/nodes = {MOST_NODES}\nlimits/stallnodes = {MOST_NODES // 4}\n"
            f"randomization/randomseedshift = {seed}\n"
        )
        rows = self._rows(solver)
        infinity = solver.infinity()
        of_kind = {kind: solver.Constraint(-infinity, self.left[kind]) for kind in self.free}
        variables = {
            number: self._column(solver, column, of_kind, rows)
            for number, column in enumerate(self.master.columns)
            if column.kind in self.free and self.left[column.kind] > 0
        }
        if solver.Solve() not in (pywraplp.Solver.OPTIMAL, pywraplp.Solver.FEASIBLE):
            return None
        chosen = {number: round(variable.solution_value()) for number, variable in variables.items()}
        return tuple(kept + chosen.get(number, 0) for number, kept in enumerate(self.kept))

    def _rows(self, solver: pywraplp.Solver) -> _Rows:
        """Write all rows less what the kept columns take of them, and what is placed of each class."""
        master = self.master
        infinity = solver.infinity()
        seated = [0] * len(master.items)
        in_rows = dict.fromkeys((row.name for row in master.rows.rows), 0)
        for column, kept in zip(master.columns, self.kept, strict=True):
            for item, count in column.seats if kept else ():
                seated[item] += count * kept
            for name, weight in column.terms if kept else ():
                in_rows[name] += weight * kept
        of_item = [
            solver.Constraint(-count, asked - count if master.capped else infinity)
            for count, asked in zip(seated, master.asked, strict=True)
        ]
        of_row = {
            row.name: solver.Constraint(
                -infinity if row.low is None else row.low - in_rows[row.name],
                infinity if row.high is None else row.high - in_rows[row.name],
            )
            for row in master.rows.rows
        }
        objective = solver.Objective()
        objective.SetMaximization()
        least = [solver.Constraint(reach, infinity) for _, reach in master.aim.least]
        for entry in master.items:
            for index in entry.classes:
                variable = solver.NumVar(0, master.limits[index], "")
                of_item[entry.index].SetCoefficient(variable, -1)
                objective.SetCoefficient(variable, master.aim.weight.get(index, 0))
                for constraint, (weights, _) in zip(least, master.aim.least, strict=True):
                    constraint.SetCoefficient(variable, weights.get(index, 0))
        for name, most in master.rows.auxiliaries.items():
            variable = solver.IntVar(0, most, name)
            for row in master.rows.rows:
                if row.auxiliary.get(name):
                    of_row[row.name].SetCoefficient(variable, row.auxiliary[name])
        return _Rows(of_item, of_row, objective)

    def _column(
        self,
        solver: pywraplp.Solver,
        column: LightColumn,
        of_kind: dict[int, pywraplp.Constraint],
        rows: _Rows,
    ) -> pywraplp.Variable:
        variable = solver.IntVar(0, self.left[column.kind], "")
        of_kind[column.kind].SetCoefficient(variable, 1)
        for item, count in column.seats:
            rows.of_item[item].SetCoefficient(variable, count)
        for name, weight in column.terms:
            rows.of_row[name].SetCoefficient(variable, weight)
        if self.master.aim.point:
            rows.objective.SetCoefficient(variable, self.master.aim.point * column.points / self.master.scale)
        return variable


@dataclass(frozen=True)
class _Rows:
    """Rows of the integer programme that columns add to."""

    of_item: list[pywraplp.Constraint]
    of_row: dict[str, pywraplp.Constraint]
    objective: pywraplp.Objective
