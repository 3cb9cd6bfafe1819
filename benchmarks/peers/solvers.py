"""The linear model of `counts`, solved level by level by CP-SAT and by HiGHS, within a limit in seconds."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from benchmarks.peers.clock import Clock, ended_after
from benchmarks.peers.counts import Model, Terms, decode, value_of
from benchmarks.peers.form import Place


@dataclass
class Level:
    """A level's value and proved bound; ``None`` = none found in time."""

    id: str
    value: int | None
    bound: int | None


@dataclass
class Found:
    """A peer's answer, and what it took: seconds of its `Clock`."""

    places: list[Place]
    levels: list[Level]
    seconds: float
    notes: list[str] = field(default_factory=list)


@dataclass
class Run:
    """One level solved: values of all variables (None = no answer), objective and bound."""

    values: list[int] | None
    bound: float | None


Solve = Callable[[Model, Terms, list[tuple[Terms, int]], list[int] | None, float, Clock], Run]
"""Model, objective, levels held at values, a start, seconds by a clock."""


def by_levels(model: Model, solve: Solve, limit_s: float, clock: Clock) -> Found:
    """Solve the levels one after the other.

    Every level may take half of what is left, the last all of it; what one does not use is the next one's.
    """
    held: list[tuple[Terms, int]] = []
    levels: list[Level] = []
    best: list[int] | None = None
    for number, (name, terms) in enumerate(model.levels):
        left = limit_s - clock.seconds()
        share = left if number == len(model.levels) - 1 else left / 2
        if share <= 0.01 or not terms:
            value = value_of(terms, best) if best is not None else None
            levels.append(Level(name, value, None if terms else 0))
            continue
        run = solve(model, terms, held, best, share, clock)
        best = run.values if run.values is not None else best
        value = value_of(terms, best) if best is not None else None
        bounded = run.bound is not None and math.isfinite(run.bound)
        levels.append(Level(name, value, int(run.bound + 1e-6) if bounded else None))
        if value is not None:
            held.append((terms, value))
    seconds = clock.seconds()
    for level, (_, terms) in zip(levels, model.levels, strict=True):
        level.value = value_of(terms, best) if best is not None else None
    return Found(decode(model, best) if best is not None else [], levels, seconds)


def cpsat(workers: int, seed: int = 1) -> Solve:
    """Return the solving function of CP-SAT."""

    def solve(
        model: Model,
        objective: Terms,
        held: list[tuple[Terms, int]],
        start: list[int] | None,
        seconds: float,
        clock: Clock,
    ) -> Run:
        from ortools.sat.python import cp_model

        end = clock.seconds() + seconds
        built = cp_model.CpModel()
        variables = [built.new_int_var(0, most, "") for most in model.most]

        def total(terms: Mapping[int, int]) -> cp_model.LinearExpr:
            return cp_model.LinearExpr.weighted_sum([variables[v] for v in terms], list(terms.values()))

        for row in model.rows:
            if row.low is not None and row.low == row.high:
                built.add(total(row.terms) == row.low)
                continue
            if row.high is not None:
                built.add(total(row.terms) <= row.high)
            if row.low is not None:
                built.add(total(row.terms) >= row.low)
        for terms, value in held:
            built.add(total(terms) >= value)
        built.maximize(total(objective))
        for variable, value in zip(variables, start or (), strict=False):
            built.add_hint(variable, value)
        solver = cp_model.CpSolver()
        solver.parameters.num_workers = workers
        solver.parameters.random_seed = seed
        # With it, the second level of a cluster of equal hosts spends seconds before the search begins.
        solver.parameters.symmetry_level = 0
        with ended_after(clock, end - clock.seconds(), solver.stop_search):
            status = solver.solve(built)
        if status not in (cp_model.OPTIMAL, cp_model.FEASIBLE):
            return Run(None, None)
        return Run([solver.value(variable) for variable in variables], solver.best_objective_bound)

    return solve


def highs(threads: int = 0) -> Solve:
    """Return the solving function of HiGHS; 0 threads = as many as it likes."""

    def solve(
        model: Model,
        objective: Terms,
        held: list[tuple[Terms, int]],
        start: list[int] | None,
        seconds: float,
        clock: Clock,
    ) -> Run:
        import highspy
        import numpy as np

        end = clock.seconds() + seconds
        solver = highspy.Highs()
        solver.setOptionValue("output_flag", False)
        infinity = highspy.kHighsInf
        columns = len(model.most)
        costs = np.zeros(columns)
        for variable, weight in objective.items():
            costs[variable] = weight
        solver.addVars(columns, np.zeros(columns), np.array(model.most, dtype=float))
        solver.changeColsCost(columns, np.arange(columns, dtype=np.int32), costs)
        kinds = np.array([highspy.HighsVarType.kInteger] * columns)
        solver.changeColsIntegrality(columns, np.arange(columns, dtype=np.int32), kinds)
        solver.changeObjectiveSense(highspy.ObjSense.kMaximize)
        rows = [(row.terms, row.low, row.high) for row in model.rows]
        rows += [(terms, value, None) for terms, value in held]
        starts, indices, values = [], [], []
        for terms, _, _ in rows:
            starts.append(len(indices))
            indices += terms.keys()
            values += terms.values()
        solver.addRows(
            len(rows),
            np.array([-infinity if low is None else low for _, low, _ in rows], dtype=float),
            np.array([infinity if high is None else high for _, _, high in rows], dtype=float),
            len(indices),
            np.array(starts, dtype=np.int32),
            np.array(indices, dtype=np.int32),
            np.array(values, dtype=float),
        )
        if start is not None:
            given = highspy.HighsSolution()
            given.col_value = [float(value) for value in start]
            solver.setSolution(given)
        if threads:
            solver.setOptionValue("threads", threads)
        solver.setOptionValue("mip_rel_gap", 0.0)

        def look(event: highspy.highs.HighsCallbackEvent) -> None:
            if clock.seconds() >= end:
                event.interrupt()

        solver.cbMipInterrupt.subscribe(look)
        solver.cbSimplexInterrupt.subscribe(look)
        solver.run()
        info = solver.getInfo()
        if info.primal_solution_status != highspy.SolutionStatus.kSolutionStatusFeasible:
            return Run(None, None)
        answer = [round(value) for value in solver.getSolution().col_value]
        return Run(answer, info.mip_dual_bound)

    return solve
