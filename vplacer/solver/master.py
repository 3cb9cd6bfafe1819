"""The master of the column generation: its linear relaxation (GLOP) and its integer form (SCIP)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ortools.linear_solver import pywraplp

from vplacer.errors import InternalError
from vplacer.solver.column import Column
from vplacer.solver.host_plan import HostPlan
from vplacer.solver.kinds import HostKind
from vplacer.solver.rows import RowSet
from vplacer.solver.scip import integer_solver

MAX_NODES = 400
"""Branch-and-bound nodes of the integer master; neighbourhoods improve what it leaves."""

SCALE = 1_000_000
"""Duals are rounded to 1/SCALE, so that prices and the bound are exact integer arithmetic. Fine enough for
what a host is worth in thousandths of a GPU."""


@dataclass(frozen=True)
class Duals:
    """Rounded duals times SCALE: of rows, and of the levels already fixed."""

    rows: Mapping[str, int]
    levels: Mapping[str, int]
    kinds: tuple[int, ...]


@dataclass(frozen=True)
class KindColumn:
    """A column of a host kind."""

    kind: int
    column: Column

    @property
    def identity(self) -> tuple[int, HostPlan]:
        """What tells columns apart."""
        return (self.kind, self.column.plan)


class Relaxation:
    """The linear relaxation over the columns known, for one level's objective."""

    def __init__(
        self, kinds: Sequence[HostKind], rows: RowSet, level: str, targets: Mapping[str, int]
    ) -> None:
        self.kinds = kinds
        self.rows = rows
        self.level = level
        self.targets = targets
        self.solver = pywraplp.Solver.CreateSolver("GLOP")
        infinity = self.solver.infinity()
        self.kind_rows = [self.solver.Constraint(kind.count, kind.count) for kind in kinds]
        self.row_rows = {
            row.name: self.solver.Constraint(
                -infinity if row.low is None else row.low, infinity if row.high is None else row.high
            )
            for row in rows.rows
        }
        self.target_rows = {name: self.solver.Constraint(value, infinity) for name, value in targets.items()}
        self.objective = self.solver.Objective()
        self.objective.SetMaximization()
        for name, most in rows.auxiliaries.items():
            variable = self.solver.NumVar(0, most, name)
            for row in rows.rows:
                if row.auxiliary.get(name):
                    self.row_rows[row.name].SetCoefficient(variable, row.auxiliary[name])

    def add(self, item: KindColumn) -> None:
        """Add a column."""
        column = item.column
        variable = self.solver.NumVar(0, self.solver.infinity(), "")
        self.kind_rows[item.kind].SetCoefficient(variable, 1)
        host = self.kinds[item.kind].task.state.host.moid
        for name, weight in row_weights(self.rows, host, column).items():
            self.row_rows[name].SetCoefficient(variable, weight)
        for name, constraint in self.target_rows.items():
            if column.levels.get(name):
                constraint.SetCoefficient(variable, column.levels[name])
        if column.levels.get(self.level):
            self.objective.SetCoefficient(variable, column.levels[self.level])

    def solve(self) -> Duals:
        """Solve and return rounded duals, with the signs that a bound needs."""
        status = self.solver.Solve()
        if status != pywraplp.Solver.OPTIMAL:
            raise InternalError("the master's relaxation has no solution", why=f"GLOP status {status}")
        rows = {}
        for row in self.rows.rows:
            dual = round(self.row_rows[row.name].dual_value() * SCALE)
            if (dual > 0 and row.high is None) or (dual < 0 and row.low is None):
                dual = 0
            rows[row.name] = dual
        self._settle(rows)
        levels = {
            name: min(0, round(constraint.dual_value() * SCALE))
            for name, constraint in self.target_rows.items()
        }
        kinds = tuple(round(constraint.dual_value() * SCALE) for constraint in self.kind_rows)
        return Duals(rows, levels, kinds)

    def _worth(self, auxiliary: str, rows: Mapping[str, int]) -> int:
        return -sum(rows[row.name] * row.auxiliary.get(auxiliary, 0) for row in self.rows.rows)

    def _settle(self, rows: dict[str, int]) -> None:
        """Take rounding off duals that make a large auxiliary look worth something: it is not.

        Any duals of the right sign give a bound; these give one that is not spoilt by rounding.
        """
        for name, most in self.rows.auxiliaries.items():
            if most <= 1:
                continue
            for row in self.rows.rows:
                worth = self._worth(name, rows)
                if worth > 0 and row.auxiliary.get(name, 0) < 0 and rows[row.name] > 0:
                    rows[row.name] -= min(rows[row.name], -(-worth // -row.auxiliary[name]))

    def constant(self, duals: Duals) -> int:
        """The part of the Lagrangian value that no column changes, times SCALE."""
        value = 0
        for row in self.rows.rows:
            dual = duals.rows[row.name]
            if dual > 0 and row.high is not None:
                value += dual * row.high
            elif dual < 0 and row.low is not None:
                value += dual * row.low
        for name, most in self.rows.auxiliaries.items():
            value += max(0, self._worth(name, duals.rows)) * most
        return value + sum(duals.levels[name] * target for name, target in self.targets.items())


def solve_integral(
    kinds: Sequence[HostKind],
    rows: RowSet,
    columns: Sequence[KindColumn],
    level: str,
    targets: Mapping[str, int],
    surplus: Mapping[int, Mapping[str, int]],
    seed: int,
) -> tuple[int, ...] | None:
    """Choose whole columns, best for a level; None = nothing found within the nodes allowed.

    Args:
        kinds: host kinds.
        rows: rows over quantities.
        columns: the columns known.
        level: the level to maximise.
        targets: levels fixed before, and their values.
        surplus: classes of which more may be taken than is asked for, to be dropped afterwards, and
            what a dropped one may cost each level at most.
        seed: random seed.

    Returns:
        How often each column is taken.
    """
    solver = integer_solver(seed, MAX_NODES, stalled=MAX_NODES // 4)
    infinity = solver.infinity()
    counts = [solver.IntVar(0, kinds[c.kind].count, "") for c in columns]
    extra = {index: solver.IntVar(0, infinity, "") for index in surplus}
    of_kind = [solver.Constraint(kind.count, kind.count) for kind in kinds]
    bounds = {
        row.name: solver.Constraint(
            -infinity if row.low is None else row.low, infinity if row.high is None else row.high
        )
        for row in rows.rows
    }
    fixed = {name: solver.Constraint(target, infinity) for name, target in targets.items()}
    objective = solver.Objective()
    objective.SetMaximization()
    for variable, item in zip(counts, columns, strict=True):
        of_kind[item.kind].SetCoefficient(variable, 1)
        for name, weight in row_weights(rows, kinds[item.kind].task.state.host.moid, item.column).items():
            bounds[name].SetCoefficient(variable, weight)
        for name, constraint in fixed.items():
            constraint.SetCoefficient(variable, item.column.levels.get(name, 0))
        objective.SetCoefficient(variable, item.column.levels.get(level, 0))
    for index, variable in extra.items():
        for row in rows.rows:
            if each := row.everywhere.get(("seats", index), 0):
                bounds[row.name].SetCoefficient(variable, -each)
        for name, constraint in fixed.items():
            constraint.SetCoefficient(variable, -surplus[index].get(name, 0))
        objective.SetCoefficient(variable, -surplus[index].get(level, 0))
    for name, most in rows.auxiliaries.items():
        variable = solver.IntVar(0, most, name)
        for row in rows.rows:
            if row.auxiliary.get(name):
                bounds[row.name].SetCoefficient(variable, row.auxiliary[name])
    if solver.Solve() not in (pywraplp.Solver.OPTIMAL, pywraplp.Solver.FEASIBLE):
        return None
    return tuple(round(variable.solution_value()) for variable in counts)


def row_weights(rows: RowSet, host: str, column: Column) -> dict[str, int]:
    """What a column on a host adds to each row; zeros left out."""
    weights = {
        row.name: sum(row.coefficient(host, key) * column.quantities.get(key, 0) for key in row.quantities)
        for row in rows.rows
    }
    return {name: weight for name, weight in weights.items() if weight}
