"""A full vCenter to measure with: 2,500 hosts of seven families with 20,000 GPUs, and what is asked of it."""

from __future__ import annotations

from benchmarks.fleet.build import Fleet, fleet
from benchmarks.fleet.variants import Variant
from vplacer.constraints.state import Problem

__all__ = ["Fleet", "Variant", "fleet", "fleet_problem"]


def fleet_problem(variant: Variant) -> Problem:
    """Return the problem of a variant, as `vplacer.solver.solve.solve` takes it."""
    return fleet(variant).problem
