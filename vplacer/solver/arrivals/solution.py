"""An arrival as a solution: judged, with the one level that it settles."""

from __future__ import annotations

from importlib.metadata import version

from vplacer.constraints.judge import check
from vplacer.constraints.state import Problem, State
from vplacer.errors import InternalError
from vplacer.solver.arrivals.follow import Arrival
from vplacer.solver.instance import build_instance
from vplacer.solver.score import measure
from vplacer.solver.verdict import LevelResult, Solution, SolveOptions, Status


def solution_of(problem: Problem, arrival: Arrival, options: SolveOptions) -> Solution:
    """Return the solution that places the one demand of a problem as decided.

    The VM is placed, which is proved to be the most; which place is best was not asked for, slots were.

    Raises:
        InternalError: the placement breaks a constraint: a defect, never shown as a plan.
    """
    state = State(problem, (arrival.placement,))
    faults = check(state)
    if faults:
        raise InternalError(
            "the placement into a slot does not pass the judge",
            obj=faults[0].object,
            why=f"{faults[0].constraint}: {faults[0].evidence}",
        )
    instance = build_instance(problem, {}, ("placed",))
    values = measure(state, instance.levels)
    levels = tuple(
        LevelResult(level.id, level.title, level.maximise, values[level.id], values[level.id], level.unit)
        for level in instance.levels
    )
    assumptions = {text for item in problem.topologies.values() for text in item.assumptions}
    return Solution(
        status=Status.OPTIMAL,
        placements=(arrival.placement,),
        unplaced=(),
        levels=levels,
        reasons=(),
        stopped_by=None,
        seed=options.seed,
        solver_version=f"ortools {version('ortools')}",
        assumptions=tuple(sorted(assumptions)),
    )
