"""VMs that belong together are on one host (the host's part is in the host model)."""

from __future__ import annotations

from vplacer.request.demand import Together
from vplacer.solver.classes import DemandClass
from vplacer.solver.rows import Key, Row, RowSet


def build(rules: tuple[Together, ...], classes: tuple[DemandClass, ...]) -> RowSet:
    """At most one host has a member of each rule.

    Members that are on several hosts today may remain so while none of the rule is placed anew.
    """
    rows: list[Row] = []
    auxiliaries: dict[str, int] = {}
    for rule in rules:
        if not rule.required:
            continue
        members = [cls for cls in classes if set(rule.vms).intersection(cls.members)]
        homes = {cls.home for cls in members if cls.home is not None}
        here: dict[Key, int] = {("rule", rule.name): 1}
        if len(homes) <= 1:
            rows.append(Row(f"together:{rule.name}", None, 1, here))
            continue
        name = f"together:{rule.name}:new"
        auxiliaries[name] = 1
        new: dict[Key, int] = {("new", cls.index): 1 for cls in members}
        count = sum(cls.count for cls in members)
        rows.append(Row(name, None, 0, new, auxiliary={name: -count}))
        most = len(homes) + count
        rows.append(Row(f"together:{rule.name}", None, most, here, auxiliary={name: most - 1}))
    return RowSet(tuple(rows), auxiliaries)
