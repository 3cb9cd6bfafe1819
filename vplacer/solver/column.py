"""A column: one way to fill a host, with all that rows and levels need to know of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ortools.sat.python import cp_model

from vplacer.solver.host_model import HostVars
from vplacer.solver.host_plan import HostPlan
from vplacer.solver.options import Option
from vplacer.solver.rows import Key


@dataclass(frozen=True)
class Column:
    """A host's plan, the values of the rows' quantities and of the levels (maximised sense)."""

    plan: HostPlan
    quantities: Mapping[Key, int]
    levels: Mapping[str, int]


def read_column(
    solver: cp_model.CpSolver,
    variables: HostVars,
    options: Mapping[int, tuple[Option, ...]],
    quantities: Mapping[Key, Any],
) -> Column:
    """Read one host's column out of a solved model."""
    return Column(
        read_plan(solver, variables, options),
        {key: value for key, expr in quantities.items() if (value := solver.value(expr))},
        {name: solver.value(expr) for name, expr in variables.levels.items()},
    )


def read_plan(
    solver: cp_model.CpSolver, variables: HostVars, options: Mapping[int, tuple[Option, ...]]
) -> HostPlan:
    """Read one host's plan out of a solved model."""
    chosen = [
        (index, options[index].index(option), solver.value(count))
        for index, listed in sorted(variables.chosen.items())
        for option, count in listed
        if solver.value(count)
    ]
    return HostPlan(
        chosen=tuple(chosen),
        stays=tuple(index for index, var in sorted(variables.stays.items()) if solver.value(var)),
        as_is=tuple(index for index, var in sorted(variables.as_is.items()) if solver.value(var)),
        vgpus=tuple(
            (cell, profile, solver.value(var))
            for (cell, profile), var in sorted(variables.vgpus.items())
            if solver.value(var)
        ),
    )
