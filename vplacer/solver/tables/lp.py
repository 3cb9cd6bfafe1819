"""The master over patterns: how many hosts of a kind take which, as a linear programme (GLOP).

Rows: hosts of each kind; for each item, no more placed than seated; the rows that couple hosts. Duals
are rounded to whole numbers, so that prices and bounds are exact.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from ortools.linear_solver import pywraplp

from vplacer.errors import InternalError
from vplacer.solver.classes import DemandClass
from vplacer.solver.rows import RowSet
from vplacer.solver.tables.items import Item


@dataclass(frozen=True, slots=True)
class Aim:
    """What is maximised: ``weight`` of each class placed, and so much for each point of locality.

    ``scale``: duals are rounded to 1/scale; ``point`` is in such parts. ``least``: for each level settled
    before, the weights of classes and what they must reach.
    """

    weight: Mapping[int, int]
    point: int
    scale: int
    least: tuple[tuple[Mapping[int, int], int], ...] = ()


@dataclass(frozen=True, slots=True)
class LightColumn:
    """What one host of a kind takes, as far as the master sees it.

    ``seats``: (item, count). ``terms``: what it adds to each coupling row. ``source``: what made it.
    """

    kind: int
    seats: tuple[tuple[int, int], ...]
    points: int
    terms: tuple[tuple[str, int], ...]
    source: object


Whole = list[tuple[LightColumn, int]]
"""Columns, and how many hosts take each."""


@dataclass(frozen=True)
class Prices:
    """Rounded duals, times the scale.

    ``cover``: what a seat of an item is worth because it may be asked for; ``cap``: what it costs because
    no more may be seated than are asked for.
    """

    cover: tuple[int, ...]
    cap: tuple[int, ...]
    row: Mapping[str, int]
    least: tuple[int, ...]
    kind: tuple[float, ...]
    value: float

    @cached_property
    def item(self) -> tuple[int, ...]:
        """What a seat of each item is worth."""
        return tuple(cover - cap for cover, cap in zip(self.cover, self.cap, strict=True))


def first_prices(aim: Aim, items: Sequence[Item], rows: RowSet, kinds: int) -> Prices:
    """Return duals to begin with: somewhat less than what each item may count."""
    most = [max((aim.weight.get(index, 0) for index in item.classes), default=0) for item in items]
    return Prices(
        cover=tuple(weight * aim.scale * 6 // 10 for weight in most),
        cap=(0,) * len(items),
        row=dict.fromkeys((row.name for row in rows.rows), 0),
        least=(0,) * len(aim.least),
        kind=(0.0,) * kinds,
        value=0.0,
    )


class PatternMaster:
    """The linear programme; columns are added as they are found."""

    def __init__(
        self,
        counts: Sequence[int],
        items: Sequence[Item],
        classes: Sequence[DemandClass],
        rows: RowSet,
        aim: Aim,
    ) -> None:
        """Write the programme without columns.

        Args:
            counts: hosts of each kind.
            items: the items.
            classes: all classes.
            rows: rows that couple hosts.
            aim: what is maximised.
        """
        self.limits = {i: classes[i].count for item in items for i in item.classes}
        self.counts, self.items, self.classes = counts, items, classes
        self.rows, self.aim, self.scale = rows, aim, aim.scale
        self.solver = pywraplp.Solver.CreateSolver("GLOP")
        # Without preprocessing the last basis is used again.
        self.solver.SetSolverSpecificParametersAsString("use_preprocessing: false")
        infinity = self.solver.infinity()
        self.infinity = infinity
        self.of_kind = [self.solver.Constraint(-infinity, count) for count in counts]
        self.of_item = [self.solver.Constraint(0, infinity) for _ in items]
        self.asked = [sum(self.limits[index] for index in item.classes) for item in items]
        # Where seats count by themselves there must be no more of them than are asked for.
        self.capped = not aim.weight
        self.of_cap = [self.solver.Constraint(-infinity, n if self.capped else infinity) for n in self.asked]
        self.of_row = {
            row.name: self.solver.Constraint(
                -infinity if row.low is None else row.low, infinity if row.high is None else row.high
            )
            for row in rows.rows
        }
        self.of_least = [self.solver.Constraint(value, infinity) for _, value in aim.least]
        self.objective = self.solver.Objective()
        self.objective.SetMaximization()
        self._solved = False
        self.columns: list[LightColumn] = []
        self.variables: list[pywraplp.Variable] = []
        self.placed: dict[int, pywraplp.Variable] = {}
        for item in items:
            for index in item.classes:
                variable = self.solver.NumVar(0, self.limits[index], "")
                self.placed[index] = variable
                self.of_item[item.index].SetCoefficient(variable, -1)
                self.objective.SetCoefficient(variable, aim.weight.get(index, 0))
                for constraint, (weights, _) in zip(self.of_least, aim.least, strict=True):
                    constraint.SetCoefficient(variable, weights.get(index, 0))
        self.auxiliary = {}
        for name, most in rows.auxiliaries.items():
            variable = self.solver.NumVar(0, most, name)
            self.auxiliary[name] = variable
            for row in rows.rows:
                if row.auxiliary.get(name):
                    self.of_row[row.name].SetCoefficient(variable, row.auxiliary[name])

    def add(self, column: LightColumn) -> None:
        """Add a column."""
        variable = self.solver.NumVar(0, self.infinity, "")
        self.of_kind[column.kind].SetCoefficient(variable, 1)
        for item, count in column.seats:
            self.of_item[item].SetCoefficient(variable, count)
            if self.capped:
                self.of_cap[item].SetCoefficient(variable, count)
        for name, weight in column.terms:
            self.of_row[name].SetCoefficient(variable, weight)
        if self.aim.point and column.points:
            self.objective.SetCoefficient(variable, self.aim.point * column.points / self.scale)
        self.columns.append(column)
        self.variables.append(variable)
        self._solved = False

    def keep(self, number: int, count: int) -> None:
        """Take a column at least so often."""
        self.variables[number].SetLb(count)
        self._solved = False

    def close(self, kind: int, count: int) -> None:
        """Let so many hosts of a kind take columns, no more."""
        self.of_kind[kind].SetUb(count)
        self._solved = False

    def solve(self) -> Prices:
        """Solve; return rounded duals with the signs that a bound needs."""
        status = self.solver.Solve()
        if status != pywraplp.Solver.OPTIMAL:
            raise InternalError("the master's relaxation has no solution", why=f"GLOP status {status}")
        self._solved = True
        rows: dict[str, int] = {}
        for row in self.rows.rows:
            dual = round(self.of_row[row.name].dual_value() * self.scale)
            if (dual > 0 and row.high is None) or (dual < 0 and row.low is None):
                dual = 0
            rows[row.name] = dual
        return Prices(
            cover=tuple(max(0, round(-c.dual_value() * self.scale)) for c in self.of_item),
            cap=tuple(max(0, round(c.dual_value() * self.scale)) if self.capped else 0 for c in self.of_cap),
            row=rows,
            least=tuple(max(0, round(-c.dual_value() * self.scale)) for c in self.of_least),
            kind=tuple(c.dual_value() * self.scale for c in self.of_kind),
            value=self.objective.Value() * self.scale,
        )

    def solution(self) -> list[float]:
        """How often each column is taken."""
        if not self._solved:
            self.solve()
        return [variable.solution_value() for variable in self.variables]

    def constant(self, prices: Prices) -> int:
        """The part of the bound, times the scale, that no column changes, at any duals of the right sign."""
        value = 0
        for item in self.items:
            value += prices.cap[item.index] * self.asked[item.index]
            for index in item.classes:
                worth = self.aim.weight.get(index, 0) * self.scale - prices.cover[item.index]
                for dual, (weights, _) in zip(prices.least, self.aim.least, strict=True):
                    worth += dual * weights.get(index, 0)
                value += max(0, worth) * self.limits[index]
        value -= sum(dual * reach for dual, (_, reach) in zip(prices.least, self.aim.least, strict=True))
        for row in self.rows.rows:
            dual = prices.row[row.name]
            if dual > 0 and row.high is not None:
                value += dual * row.high
            elif dual < 0 and row.low is not None:
                value += dual * row.low
        for name, most in self.rows.auxiliaries.items():
            worth = -sum(prices.row[r.name] * r.auxiliary.get(name, 0) for r in self.rows.rows)
            value += max(0, worth) * most
        return value
