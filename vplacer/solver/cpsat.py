"""Running CP-SAT so that the same input gives the same answer: one worker, a seed, work not seconds."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum

from ortools.sat.python import cp_model

from vplacer.errors import InternalError

WORK_PER_DETERMINISTIC_SECOND = 2.0
"""CP-SAT's deterministic second takes about two of a clock on the models met here; work is counted so
that a unit is about a second of one core, whatever it was spent on."""


SYMMETRY_SIZE = 800
"""Variables from which on CP-SAT does not look for symmetry: work that it does not count, and which takes
seconds on a model of a hundred hosts that are alike."""


class Outcome(Enum):
    """What a run ended with. STOPPED and NOTHING are answers of a limit, never "impossible"."""

    PROVED = "proved"
    STOPPED = "stopped"
    IMPOSSIBLE = "impossible"
    NOTHING = "nothing"


@dataclass(frozen=True)
class Run:
    """A finished run: outcome, objective value and bound (None without a solution), and the solver."""

    outcome: Outcome
    value: int | None
    bound: int | None
    solver: cp_model.CpSolver
    work: float


POLL_S = 0.05
"""Seconds between two looks at whether to stop. Without a reason to, looking changes nothing."""


def _stoppable(
    solver: cp_model.CpSolver, model: cp_model.CpModel, should_stop: Callable[[], bool]
) -> cp_model.CpSolverStatus:
    """Solve in a thread of its own, so that this one can be interrupted and can tell the other to end."""
    ended: list[cp_model.CpSolverStatus | BaseException] = []

    def check(_: float) -> None:
        if should_stop():
            solver.stop_search()

    def work() -> None:
        try:
            ended.append(solver.solve(model))
        except BaseException as error:  # raised again by who waits
            ended.append(error)

    solver.best_bound_callback = check
    thread = threading.Thread(target=work, name="cp-sat")
    thread.start()
    try:
        while thread.is_alive():
            thread.join(POLL_S)
            if thread.is_alive() and should_stop():
                solver.stop_search()
    finally:
        while thread.is_alive():
            solver.stop_search()
            thread.join(POLL_S)
    result = ended[0]
    if isinstance(result, BaseException):
        raise result
    return result


def run(
    model: cp_model.CpModel,
    *,
    seed: int,
    work: float,
    should_stop: Callable[[], bool] | None = None,
    probing: bool = True,
) -> Run:
    """Solve a model within a deterministic amount of work.

    Args:
        model: the model, with its objective.
        seed: random seed.
        work: how much, about a second of one core a unit, but counted, not clocked.
        should_stop: asked at every new bound and every `POLL_S`; the answer is then the best found so far.
        probing: try values of variables beforehand: for many short runs it costs more than it saves.
    """
    solver = cp_model.CpSolver()
    solver.parameters.num_workers = 1
    solver.parameters.random_seed = seed
    if len(model.proto.variables) >= SYMMETRY_SIZE:
        solver.parameters.symmetry_level = 0
    solver.parameters.max_deterministic_time = max(work, 0.001) / WORK_PER_DETERMINISTIC_SECOND
    solver.parameters.catch_sigint_signal = False
    if not probing:
        solver.parameters.cp_model_probing_level = 0
    status = solver.solve(model) if should_stop is None else _stoppable(solver, model, should_stop)
    if status == cp_model.MODEL_INVALID:
        raise InternalError("the solver was given an invalid model", why=model.validate())
    found = status in (cp_model.OPTIMAL, cp_model.FEASIBLE)
    if status == cp_model.OPTIMAL:
        outcome = Outcome.PROVED
    elif status == cp_model.FEASIBLE:
        outcome = Outcome.STOPPED
    elif status == cp_model.INFEASIBLE:
        outcome = Outcome.IMPOSSIBLE
    else:
        outcome = Outcome.NOTHING
    has_objective = model.has_objective()
    # Without a solution CP-SAT's bound may be one that it never touched: it proves nothing.
    bounded = has_objective and found
    return Run(
        outcome=outcome,
        value=round(solver.objective_value) if found and has_objective else None,
        bound=round(solver.best_objective_bound) if bounded else None,
        solver=solver,
        work=float(solver.response_proto.deterministic_time) * WORK_PER_DETERMINISTIC_SECOND,
    )
