"""No demand is placed more often than it is asked for; an existing VM is somewhere, once."""

from __future__ import annotations

from dataclasses import replace

from vplacer.solver.classes import DemandClass
from vplacer.solver.rows import Row, RowSet

_COUNT = "count:"


def build(classes: tuple[DemandClass, ...]) -> RowSet:
    """One row a class."""
    rows = []
    for cls in classes:
        if cls.vm is None:
            rows.append(Row(f"{_COUNT}{cls.index}", None, cls.count, {("seats", cls.index): 1}))
        else:
            rows.append(Row(f"{_COUNT}{cls.index}", 1, 1, {("seats", cls.index): 1, ("as_is", cls.index): 1}))
    return RowSet(tuple(rows))


def is_count(row: Row) -> bool:
    """Whether a row only says how many VMs a class has."""
    return row.name.startswith(_COUNT)


def without_counts(rows: RowSet) -> RowSet:
    """Return what couples hosts beside how many VMs each class has."""
    return replace(rows, rows=tuple(row for row in rows.rows if not is_count(row)))
