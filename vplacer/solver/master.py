"""The master of the column generation: its linear relaxation (GLOP) and its integer form (CP-SAT)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ortools.linear_solver import pywraplp
from ortools.sat.python import cp_model

from vplacer.errors import InternalError
from vplacer.solver.column import Column
from vplacer.solver.cpsat import run
from vplacer.solver.host_plan import HostPlan
from vplacer.solver.kinds import HostKind
from vplacer.solver.rows import Row, RowSet

SCALE = 1_000
"""Duals are rounded to 1/SCALE, so that prices and the bound are exact integer arithmetic."""


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
        self.rows_by_key: dict[Any, list[Row]] = {}
        for row in rows.rows:
            for key in row.quantities():
                self.rows_by_key.setdefault(key, []).append(row)
        for name in rows.auxiliaries:
            variable = self.solver.NumVar(0, 1, name)
            for row in rows.rows:
                if row.auxiliary.get(name):
                    self.row_rows[row.name].SetCoefficient(variable, row.auxiliary[name])

    def add(self, item: KindColumn) -> None:
        """Add a column."""
        column = item.column
        variable = self.solver.NumVar(0, self.solver.infinity(), "")
        self.kind_rows[item.kind].SetCoefficient(variable, 1)
        host = self.kinds[item.kind].task.state.host.moid
        weights: dict[str, int] = {}
        for key, value in column.quantities.items():
            for row in self.rows_by_key.get(key, ()):
                weights[row.name] = weights.get(row.name, 0) + row.coefficient(host, key) * value
        for name, weight in weights.items():
            if weight:
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
        levels = {
            name: min(0, round(constraint.dual_value() * SCALE))
            for name, constraint in self.target_rows.items()
        }
        kinds = tuple(round(constraint.dual_value() * SCALE) for constraint in self.kind_rows)
        return Duals(rows, levels, kinds)

    def constant(self, duals: Duals) -> int:
        """The part of the Lagrangian value that no column changes, times SCALE."""
        value = 0
        for row in self.rows.rows:
            dual = duals.rows[row.name]
            if dual > 0 and row.high is not None:
                value += dual * row.high
            elif dual < 0 and row.low is not None:
                value += dual * row.low
        for name in self.rows.auxiliaries:
            worth = -sum(duals.rows[row.name] * row.auxiliary.get(name, 0) for row in self.rows.rows)
            value += max(0, worth)
        return value + sum(duals.levels[name] * target for name, target in self.targets.items())


@dataclass(frozen=True)
class Integral:
    """An integer answer of the master: how often each column is taken."""

    counts: tuple[int, ...]
    work: float


def solve_integral(
    kinds: Sequence[HostKind],
    rows: RowSet,
    columns: Sequence[KindColumn],
    level: str,
    targets: Mapping[str, int],
    surplus: Mapping[int, Mapping[str, int]],
    *,
    seed: int,
    work: float,
    should_stop: Callable[[], bool],
) -> Integral | None:
    """Choose whole columns, best for a level; None = nothing found within the work.

    Args:
        kinds: host kinds.
        rows: rows over quantities.
        columns: the columns known.
        level: the level to maximise.
        targets: levels fixed before, and their values.
        surplus: classes of which more may be taken than is asked for, to be dropped afterwards, and
            what a dropped one may cost each level at most.
        seed: random seed.
        work: deterministic time.
        should_stop: asked now and then.
    """
    model = cp_model.CpModel()
    counts = [model.new_int_var(0, kinds[c.kind].count, f"c{i}") for i, c in enumerate(columns)]
    extra = {index: model.new_int_var(0, 10_000, f"s{index}") for index in surplus}
    for kind in kinds:
        model.add(sum(v for v, c in zip(counts, columns, strict=True) if c.kind == kind.index) == kind.count)
    auxiliaries = {name: model.new_bool_var(name) for name in rows.auxiliaries}
    for row in rows.rows:
        terms: list[Any] = [weight * auxiliaries[name] for name, weight in row.auxiliary.items()]
        keys = row.quantities()
        for variable, item in zip(counts, columns, strict=True):
            host = kinds[item.kind].task.state.host.moid
            taken = sum(row.coefficient(host, k) * item.column.quantities.get(k, 0) for k in keys)
            if taken:
                terms.append(taken * variable)
        terms += [
            -weight * extra[index] for index in extra if (weight := row.everywhere.get(("seats", index)))
        ]
        if not terms:
            continue
        if row.low is not None:
            model.add(sum(terms) >= row.low)
        if row.high is not None:
            model.add(sum(terms) <= row.high)

    def value(name: str) -> Any:
        taken = sum(c.column.levels.get(name, 0) * v for v, c in zip(counts, columns, strict=True))
        return taken - sum(surplus[index].get(name, 0) * variable for index, variable in extra.items())

    for name, target in targets.items():
        model.add(value(name) >= target)
    model.maximize(value(level))
    result = run(model, seed=seed, work=work, should_stop=should_stop)
    if result.value is None:
        return None
    return Integral(tuple(result.solver.value(v) for v in counts), result.work)
