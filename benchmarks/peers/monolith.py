"""vplacer's own exact model of all hosts, never column generation, solved by CP-SAT within a time limit.

It says all that vplacer can say, down to single cards, and is what small instances are proved with.
"""

from __future__ import annotations

from ortools.sat.python import cp_model

from benchmarks.peers.clock import Clock, ended_after
from benchmarks.peers.solvers import Level
from vplacer.constraints.judge import placements_today
from vplacer.constraints.state import Placement, Problem
from vplacer.solver.decode import decode
from vplacer.solver.exact import ExactModel
from vplacer.solver.host_plan import HostPlan
from vplacer.solver.instance import build_instance

LEVELS = ("placed", "locality")


def solve_whole(
    problem: Problem, *, limit_s: float, clock: Clock
) -> tuple[tuple[Placement, ...], list[Level], float]:
    """Return placements, levels and seconds; the levels share the limit as those of the other models do."""
    instance = build_instance(problem, placements_today(problem), LEVELS)
    exact = ExactModel(instance, {})
    plans = tuple(HostPlan((), (), (), ()) for _ in instance.tasks)
    levels: list[Level] = []
    for number, level in enumerate(instance.levels):
        objective = exact.objective(level.id)
        left = limit_s - clock.seconds()
        share = left if number == len(instance.levels) - 1 else left / 2
        if isinstance(objective, int) or share <= 0.01:
            known = objective if isinstance(objective, int) else None
            levels.append(Level(level.id, known, known))
            continue
        exact.model.maximize(objective)
        solver = cp_model.CpSolver()
        solver.parameters.num_workers = 1
        solver.parameters.random_seed = 1
        solver.parameters.symmetry_level = 0
        with ended_after(clock, share, solver.stop_search):
            status = solver.solve(exact.model)
        if status not in (cp_model.OPTIMAL, cp_model.FEASIBLE):
            levels.append(Level(level.id, None, None))
            continue
        value = round(solver.objective_value)
        levels.append(Level(level.id, value, round(solver.best_objective_bound)))
        columns = exact.columns(solver)
        plans = tuple(columns[at].plan for at in range(len(instance.tasks)))
        exact.require(level.id, value)
        exact.hint(solver)
    placed = decode(instance.classes, zip(instance.tasks, plans, strict=True))
    return (*instance.settled, *placed), levels, clock.seconds()
