"""VMs that belong together are on one host (the host's part is in the host model)."""

from __future__ import annotations

from vplacer.solver.rows import Row, RowSet


def build(names: tuple[str, ...]) -> RowSet:
    """At most one host has a member of each rule."""
    return RowSet(tuple(Row(f"together:{name}", None, 1, {("rule", name): 1}) for name in names))
