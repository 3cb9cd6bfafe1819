"""The seat an option gives a VM, to be compared with the one it has today, and what the change costs."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from vplacer.constraints.disturbance import NONE, Disturbance
from vplacer.constraints.seating import Seating, reseated
from vplacer.request.demand import BoundBy
from vplacer.solver.cells import Cell
from vplacer.solver.classes import DemandClass
from vplacer.solver.host_state import HostState
from vplacer.solver.levels import change_cost
from vplacer.solver.option import Option, takes_function


def seating_of_option(option: Option, cells: Sequence[Cell]) -> Seating:
    """Return what an option takes, its static cards by cell: any of a cell's cards will do."""
    static: dict[int, int] = defaultdict(int)
    labels: list[str] = []
    for use in option.uses:
        for cell, count in use.cells:
            if takes_function(use, cells[cell]):
                continue
            if use.bound_by is BoundBy.STATIC:
                static[cell] += count
            elif use.bound_by is BoundBy.LABEL:
                labels += [cells[cell].card.label or ""] * count
    found = tuple((count, frozenset(cells[cell].addresses)) for cell, count in sorted(static.items()))
    return Seating(option.nodes, found, tuple(labels))


def option_change(cls: DemandClass, option: Option, state: HostState) -> Disturbance:
    """Return what an option does to the VM of a class; nothing to VMs to be made."""
    if cls.vm is None:
        return NONE
    return cls.disturbed(state.host.moid, seating_of_option(option, state.cells))


def option_cost(cls: DemandClass, option: Option, state: HostState) -> int:
    """Return what an option costs the VM of a class at level "moves"; 0 for VMs to be made."""
    if cls.vm is None:
        return 0
    seating = seating_of_option(option, state.cells)
    same = cls.home == state.host.moid
    return change_cost(cls.disturbed(state.host.moid, seating), same and reseated(cls.vm, seating))
