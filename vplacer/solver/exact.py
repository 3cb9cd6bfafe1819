"""The exact model: several hosts in one CP-SAT model, level by level.

With all hosts it solves an instance that is small enough to its proof. With some of them, the others
held as they are, it is the neighbourhood that improves an answer of the column generation.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from ortools.sat.python import cp_model

from vplacer.errors import InternalError
from vplacer.solver.bounds import plain_bounds
from vplacer.solver.column import Column, column_of, read_plan
from vplacer.solver.cpsat import Outcome, Run, run
from vplacer.solver.host_model import ROOM, HostEncoder, HostVars, quantity_of
from vplacer.solver.host_plan import HostPlan
from vplacer.solver.instance import Instance
from vplacer.solver.rows import Row

HURRIED_WORK = 0.1
"""Work for a first answer where the search is to stop before it has begun."""

CHANGE_LEVELS = ("power_cycles", "moves")
"""Levels whose plain bound holds only where all is placed."""


@dataclass(frozen=True)
class Answer:
    """A solver's answer: one plan a host task, values and bounds per level, whether a limit was met.

    ``values`` and ``bounds``: what the plans reach and the best possible given the levels before,
    both in the maximised sense; a bound of None = not proved. ``stopped`` True = some level was not
    solved to its end.
    """

    plans: tuple[HostPlan, ...]
    values: dict[str, int]
    bounds: dict[str, int | None]
    stopped: bool


def size_of(instance: Instance) -> int:
    """Return the number of option variables the exact model would have."""
    return sum(len(options) for task in instance.tasks for options in task.options.values())


class ExactModel:
    """Some hosts of an instance as variables, the rest as given columns."""

    def __init__(self, instance: Instance, held: Mapping[int, Column]) -> None:
        self.instance = instance
        self.model = cp_model.CpModel()
        self.held = held
        self.positions = [p for p in range(len(instance.tasks)) if p not in held]
        self.hosts: dict[int, HostVars] = {}
        self.encoders: list[HostEncoder] = []
        for position in self.positions:
            encoder = HostEncoder(
                self.model,
                instance.tasks[position],
                instance.classes,
                instance.problem.request.options,
                prefix=f"h{position}_",
            )
            self.hosts[position] = encoder.encode()
            self.encoders.append(encoder)
        self._add_rows()

    def objective(self, level: str) -> Any:
        """Value of a level over all hosts: an expression, or a number where nothing can change."""
        if level == ROOM:
            for encoder in self.encoders:
                encoder.encode_room()
        fixed = sum(column.levels.get(level, 0) for column in self.held.values())
        return sum((h.levels[level] for h in self.hosts.values() if level in h.levels), start=fixed)

    def require(self, level: str, target: int) -> None:
        """Hold a level at a value at least."""
        objective = self.objective(level)
        if not isinstance(objective, int):
            self.model.add(objective >= target)

    def solve(self, level: str, *, seed: int, work: float, should_stop: Callable[[], bool]) -> Run:
        """Maximise a level."""
        self.model.maximize(self.objective(level))
        result = run(self.model, seed=seed, work=work, should_stop=should_stop)
        if result.outcome is Outcome.IMPOSSIBLE:
            raise InternalError("the model of a valid problem has no answer", obj=level)
        return result

    def hint(self, solver: cp_model.CpSolver) -> None:
        """Start the next run from the answer of the last."""
        self.model.clear_hints()  # type: ignore[no-untyped-call]
        for index in range(len(self.model.proto.variables)):
            variable = self.model.get_int_var_from_proto_index(index)
            self.model.add_hint(variable, solver.value(variable))

    def columns(self, solver: cp_model.CpSolver) -> dict[int, Column]:
        """Read the free hosts' columns."""
        found = {}
        for position, variables in self.hosts.items():
            task = self.instance.tasks[position]
            plan = read_plan(solver, variables, task.options)
            options = self.instance.problem.request.options
            found[position] = column_of(task, self.instance.classes, options, plan)
        return found

    def today(self) -> dict[int, Column]:
        """Return every free host as it is today: VMs that may be changed keep their place."""
        options = self.instance.problem.request.options
        found = {}
        for position, variables in self.hosts.items():
            plan = HostPlan((), tuple(sorted(variables.stays)), tuple(sorted(variables.as_is)), ())
            task = self.instance.tasks[position]
            found[position] = column_of(task, self.instance.classes, options, plan)
        return found

    def _add_rows(self) -> None:
        auxiliaries = {
            name: self.model.new_int_var(0, most, name)
            for name, most in self.instance.rows.auxiliaries.items()
        }
        for row in self.instance.rows.rows:
            terms: list[Any] = [weight * auxiliaries[name] for name, weight in row.auxiliary.items()]
            fixed = held_part(row, self.held, self.instance)
            for position, variables in self.hosts.items():
                host = self.instance.tasks[position].state.host.moid
                for key in row.quantities:
                    weight = row.coefficient(host, key)
                    quantity = quantity_of(variables, key)
                    if weight and quantity is not None:
                        terms.append(weight * quantity)
            if not terms:
                continue
            total = sum(terms)
            if row.low is not None:
                self.model.add(total >= row.low - fixed)
            if row.high is not None:
                self.model.add(total <= row.high - fixed)


def held_part(row: Row, held: Mapping[int, Column], instance: Instance) -> int:
    """What given columns contribute to a row."""
    return sum(
        row.coefficient(instance.tasks[position].state.host.moid, key) * column.quantities.get(key, 0)
        for position, column in held.items()
        for key in row.quantities
    )


def solve_exact(instance: Instance, *, seed: int, work: float, should_stop: Callable[[], bool]) -> Answer:
    """Solve all hosts, level by level.

    There is always an answer: every host as it is today, where a limit was reached before any was found.
    """
    exact = ExactModel(instance, {})
    bounds: dict[str, int | None] = {}
    last: cp_model.CpSolver | None = None
    stopped = False
    left = work
    for number, level in enumerate(instance.levels):
        if isinstance(exact.objective(level.id), int):
            bounds[level.id] = exact.objective(level.id)
            continue
        share = left if number == len(instance.levels) - 1 else left / 2
        result = None
        if not should_stop():
            result = exact.solve(level.id, seed=seed, work=share, should_stop=should_stop)
        elif last is None:
            # Whoever is in a hurry still wants an answer, if there is an easy one.
            share = min(share, HURRIED_WORK)
            result = exact.solve(level.id, seed=seed, work=share, should_stop=lambda: False)
        left = max(0.05, left - (result.work if result is not None else 0.0))
        stopped = stopped or result is None or result.outcome is not Outcome.PROVED
        if result is None or result.value is None:
            # A limit before this level found anything: keep the answer of the level before.
            bounds[level.id] = None
            continue
        bounds[level.id] = result.bound
        last = result.solver
        exact.require(level.id, result.value)
        exact.hint(last)
    columns = exact.columns(last) if last is not None else exact.today()
    return _answer(instance, columns, bounds, stopped)


def _answer(
    instance: Instance, columns: Mapping[int, Column], bounds: dict[str, int | None], stopped: bool
) -> Answer:
    if None in bounds.values():
        plain = plain_bounds(instance)
        for level, bound in bounds.items():
            if bound is None and level not in CHANGE_LEVELS:
                bounds[level] = plain.get(level)
    values = {
        level.id: sum(column.levels.get(level.id, 0) for column in columns.values())
        for level in instance.levels
    }
    plans = tuple(columns[position].plan for position in range(len(instance.tasks)))
    return Answer(plans, values, bounds, stopped)
