"""From a relaxation to whole columns: keep what is whole already, choose anew for the hosts that are not."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ortools.linear_solver import pywraplp

from vplacer.solver.scip import integer_solver
from vplacer.solver.tables.lp import LightColumn, PatternMaster
from vplacer.solver.tables.placed import by_class, points_a_seat

MOST_NODES = 400
"""Branch-and-bound nodes; limits of work, not seconds: the same answer on every run."""

FREED = 150
"""Kinds freed beside those that the relaxation splits: the ones that have the most columns."""

RELEASED = 2
"""Hosts that are freed of each column of a freed kind; many hosts of a kind mostly keep what they have."""

NEAR = 1e-5
"""How near, relative, a whole answer is to the relaxed one to be the last tried."""

NEAR_IN_POINTS = 5e-4
"""The same where points are counted: what comes nearer takes long."""

MOST_STRICT = 300
"""Kinds chosen anew up to which seats too many are counted for what they are: with more that takes long."""

WHOLE = 1e-6


def choose_whole(
    master: PatternMaster,
    solution: Sequence[float],
    held: Sequence[int],
    seed: int,
    *,
    thorough: bool = False,
) -> tuple[int, ...]:
    """Return how often each column is taken.

    Args:
        master: the columns and the rows.
        solution: the relaxed one: what is whole in it is kept, unless nothing comes of that.
        held: a whole answer known before; empty if there is none.
        seed: for the solver.
        thorough: seats too many are counted for what they are however many kinds are chosen anew, and what
            is a little less than the relaxed answer is not the last tried. Soon done where columns are few.

    Returns:
        The best found, at least what is held; all zero if there is nothing.
    """
    floor, split = _floor(solution), _split(master, solution)
    tries: list[Callable[[], tuple[int, ...] | None]] = [lambda: _Rounding(master, floor, split).solve(seed)]
    if master.capped and (thorough or len(split) <= MOST_STRICT):
        tries.append(lambda: _Rounding(master, floor, split, strict=True).solve(seed))
    if any(held):
        # From the answer held: the hosts where the relaxed one differs are chosen anew.
        both = [min(one, other) for one, other in zip(floor, held, strict=True)]
        differ = {
            column.kind
            for column, value, count in zip(master.columns, solution, held, strict=True)
            if abs(value - count) > WHOLE
        }
        tries.append(lambda: _Rounding(master, both, differ).solve(seed, held))
    else:
        # What was kept may stand in the way of rows that must be met.
        every = set(range(len(master.counts)))
        tries.append(lambda: _Rounding(master, [0] * len(solution), every).solve(seed))
    best = tuple(held) if any(held) else (0,) * len(solution)
    reached = worth_of(master, best)
    wanted = worth_of(master, solution) * (1 - (NEAR_IN_POINTS if master.capped and not thorough else NEAR))
    for attempt in tries:
        found = attempt()
        if found is not None and (value := worth_of(master, found)) > reached:
            best, reached = found, value
        if reached >= wanted:
            break
    return best


def _floor(solution: Sequence[float]) -> list[int]:
    """How often a relaxed solution takes each column wholly."""
    return [int(value + WHOLE) for value in solution]


def _split(master: PatternMaster, solution: Sequence[float]) -> set[int]:
    """The kinds whose hosts a relaxed solution splits or leaves without a column."""
    used = [0.0] * len(master.counts)
    split = set()
    for column, value in zip(master.columns, solution, strict=True):
        used[column.kind] += value
        if value - int(value + WHOLE) > WHOLE:
            split.add(column.kind)
    return split | {kind for kind, count in enumerate(master.counts) if count - used[kind] > WHOLE}


def worth_of(master: PatternMaster, counts: Sequence[float]) -> float:
    """What columns are worth, times the scale; seats too many cost all points that such a seat may have."""
    seats = [0.0] * len(master.items)
    points = 0.0
    for column, count in zip(master.columns, counts, strict=True):
        points += column.points * count
        for item, number in column.seats if count else ():
            seats[item] += number * count
    if master.capped:
        most = points_a_seat(master.items, master.columns)
        for have, asked, one in zip(seats, master.asked, most, strict=True):
            points -= max(0.0, have - asked) * one
    value = master.aim.point * points
    for index, placed in by_class(master.items, seats, master.limits):
        value += master.aim.weight.get(index, 0) * placed * master.scale
    return value


class _Rounding:
    """The integer programme over some kinds; of the others, what is kept stays."""

    def __init__(
        self, master: PatternMaster, kept: Sequence[int], open_kinds: set[int], *, strict: bool = False
    ) -> None:
        """Take the columns kept.

        Args:
            master: all columns and the rows.
            kept: how often each column is taken already.
            open_kinds: kinds of hosts that choose anew.
            strict: seats too many cost what they may bring. Without, they are let in up to as many again:
                much easier, and mostly as good.
        """
        self.master, self.strict = master, strict
        self.kept = list(kept)
        left = list(master.counts)
        for column, count in zip(master.columns, kept, strict=True):
            left[column.kind] -= count
        self.free = self._freed(open_kinds)
        for number, column in enumerate(master.columns):
            if column.kind in self.free:
                released = min(self.kept[number], RELEASED)
                left[column.kind] += released
                self.kept[number] -= released
        self.left = left

    def _freed(self, open_kinds: set[int]) -> set[int]:
        """The open kinds, and the kinds with the most columns beside them."""
        number: dict[int, int] = {}
        for column in self.master.columns:
            number[column.kind] = number.get(column.kind, 0) + 1
        others = sorted((kind for kind in number if kind not in open_kinds), key=lambda k: (-number[k], k))
        return open_kinds | set(others[:FREED])

    def solve(self, seed: int, hint: Sequence[int] = ()) -> tuple[int, ...] | None:
        """Return how often each column is taken, None if nothing was found within the nodes.

        ``hint``: an answer to begin with.
        """
        solver = integer_solver(seed, MOST_NODES, stalled=MOST_NODES // 4)
        rows = self._rows(solver)
        infinity = solver.infinity()
        of_kind = {kind: solver.Constraint(-infinity, self.left[kind]) for kind in self.free}
        variables = {
            number: self._column(solver, column, of_kind, rows)
            for number, column in enumerate(self.master.columns)
            if column.kind in self.free and self.left[column.kind] > 0
        }
        if hint:
            solver.SetHint(
                list(variables.values()), [hint[number] - self.kept[number] for number in variables]
            )
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
        of_item = [solver.Constraint(-count, infinity) for count in seated]
        times = 1 if self.strict else 2
        of_cap = [
            solver.Constraint(-infinity, infinity if not master.capped else asked * times - count)
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
        if self.strict:
            self._allow_more(solver, of_cap, objective)
        return _Rows(of_item, of_cap, of_row, objective)

    def _allow_more(
        self, solver: pywraplp.Solver, of_cap: Sequence[pywraplp.Constraint], objective: pywraplp.Objective
    ) -> None:
        """Let columns seat more than is asked for, at the price of all points that such a seat may have.

        Seats too many are dropped afterwards, those with the fewest points first.
        """
        for cap, points in zip(of_cap, points_a_seat(self.master.items, self.master.columns), strict=True):
            more = solver.NumVar(0, solver.infinity(), "")
            cap.SetCoefficient(more, -1)
            objective.SetCoefficient(more, -self.master.aim.point * points / self.master.scale)

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
            rows.of_cap[item].SetCoefficient(variable, count)
        for name, weight in column.terms:
            rows.of_row[name].SetCoefficient(variable, weight)
        if self.master.aim.point:
            rows.objective.SetCoefficient(variable, self.master.aim.point * column.points / self.master.scale)
        return variable


@dataclass(frozen=True)
class _Rows:
    """Rows of the integer programme that columns add to."""

    of_item: list[pywraplp.Constraint]
    of_cap: list[pywraplp.Constraint]
    of_row: dict[str, pywraplp.Constraint]
    objective: pywraplp.Objective
