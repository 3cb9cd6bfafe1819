"""Limits of power cycles and moves: one row each, over what is done to VMs on all hosts."""

from __future__ import annotations

from vplacer.constraints.checks.change_limits import limits_of
from vplacer.constraints.state import Problem
from vplacer.solver.classes import DemandClass
from vplacer.solver.rows import Row, RowSet


def build(problem: Problem, classes: tuple[DemandClass, ...]) -> RowSet:
    """One row a limit; none where no existing VM may be changed."""
    if all(cls.vm is None for cls in classes):
        return RowSet(())
    limits = limits_of(problem.request.options)
    return RowSet(tuple(Row(f"limit:{name}", None, most, {(name, 0): 1}) for name, most in limits.items()))
