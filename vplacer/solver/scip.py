"""SCIP, the solver of integer programmes: limits of work, not seconds, so that all runs answer the same."""

from __future__ import annotations

from ortools.linear_solver import pywraplp


def integer_solver(
    seed: int, nodes: int, *, stalled: int | None = None, gap: float | None = None
) -> pywraplp.Solver:
    """Return a solver for one programme.

    Args:
        seed: of its search.
        nodes: of branch and bound at most.
        stalled: of these without anything better, at most.
        gap: relative, at which an answer is good enough.
    """
    limits = [f"limits/nodes = {nodes}"]
    if stalled is not None:
        limits.append(f"limits/stallnodes = {stalled}")
    if gap is not None:
        limits.append(f"limits/gap = {gap}")
    limits.append(f"randomization/randomseedshift = {seed}")
    solver = pywraplp.Solver.CreateSolver("SCIP")
    solver.SetSolverSpecificParametersAsString("".join(f"{limit}\n" for limit in limits))
    return solver
