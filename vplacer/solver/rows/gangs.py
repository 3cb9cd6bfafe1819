"""Gangs: all members are placed or none, and on hosts of one fabric if that is asked."""

from __future__ import annotations

from vplacer.request.demand import Gang
from vplacer.solver.classes import DemandClass
from vplacer.solver.rows import Key, Row, RowSet


def build(gangs: tuple[Gang, ...], classes: tuple[DemandClass, ...], hosts: tuple[str, ...]) -> RowSet:
    """A 0-1 auxiliary says whether the gang (on a fabric) is placed; each class follows it."""
    rows: list[Row] = []
    auxiliaries: list[str] = []
    for gang in gangs:
        members = [cls for cls in classes if cls.gang == gang.name]
        if not members:
            continue
        if gang.fabric is None:
            name = f"gang:{gang.name}"
            auxiliaries.append(name)
            rows += [
                Row(f"{name}:{cls.index}", 0, 0, {("seats", cls.index): 1}, auxiliary={name: -cls.count})
                for cls in members
            ]
            continue
        fabric_of = dict(gang.fabric)
        fabrics = sorted({fabric_of[host] for host in hosts if host in fabric_of})
        names = {fabric: f"gang:{gang.name}@{fabric}" for fabric in fabrics}
        auxiliaries += names.values()
        for cls in members:
            for fabric, name in names.items():
                at: dict[tuple[str, Key], int] = {
                    (host, ("seats", cls.index)): 1 for host in hosts if fabric_of.get(host) == fabric
                }
                rows.append(Row(f"{name}:{cls.index}", 0, 0, at=at, auxiliary={name: -cls.count}))
            outside: dict[tuple[str, Key], int] = {
                (host, ("seats", cls.index)): 1 for host in hosts if host not in fabric_of
            }
            if outside:
                rows.append(Row(f"gang:{gang.name}:outside:{cls.index}", None, 0, at=outside))
        if len(names) > 1:
            rows.append(Row(f"gang:{gang.name}:one", None, 1, auxiliary=dict.fromkeys(names.values(), 1)))
    return RowSet(tuple(rows), dict.fromkeys(auxiliaries, 1))
