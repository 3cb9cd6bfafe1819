"""No demand is placed more often than it is asked for; an existing VM is somewhere, once."""

from __future__ import annotations

from vplacer.solver.classes import DemandClass
from vplacer.solver.rows import Row, RowSet


def build(classes: tuple[DemandClass, ...]) -> RowSet:
    """One row a class."""
    rows = []
    for cls in classes:
        if cls.vm is None:
            rows.append(Row(f"count:{cls.index}", None, cls.count, {("seats", cls.index): 1}))
        else:
            rows.append(Row(f"count:{cls.index}", 1, 1, {("seats", cls.index): 1, ("as_is", cls.index): 1}))
    return RowSet(tuple(rows))
