"""Gangs: if a member is placed anew all are placed, and on hosts of one fabric if that is asked.

A member that has what it asks for and stays is placed anyway; it does not make the others go in, but
its host's fabric is the gang's if they do.
"""

from __future__ import annotations

from collections.abc import Iterable

from vplacer.request.demand import Gang
from vplacer.solver.classes import DemandClass
from vplacer.solver.rows import Key, Row, RowSet
from vplacer.solver.rows.openings import Openings


def build(gangs: tuple[Gang, ...], classes: tuple[DemandClass, ...], openings: Openings) -> RowSet:
    """A 0-1 auxiliary for each gang (and fabric) says whether it is placed; each class follows it."""
    rows: list[Row] = []
    auxiliaries: list[str] = []
    for gang in gangs:
        members = [cls for cls in classes if cls.gang == gang.name]
        if not members:
            continue
        if gang.fabric is None:
            name = f"gang:{gang.name}@"
            auxiliaries.append(name)
            rows += [_on_any_host(cls, name) for cls in members]
            rows += _one_a_host(gang.name, members, (name,))
            continue
        fabric_of = dict(gang.fabric)
        fabrics = sorted({fabric_of[host] for host in openings.hosts if host in fabric_of})
        names = {fabric: f"gang:{gang.name}@{fabric}" for fabric in fabrics}
        auxiliaries += names.values()
        for cls in members:
            rows += _follow(cls, names, fabric_of, openings.of(cls))
        rows += _one_a_host(gang.name, members, names.values())
        if len(names) > 1:
            rows.append(Row(f"gang:{gang.name}:one", None, 1, auxiliary=dict.fromkeys(names.values(), 1)))
    return RowSet(tuple(rows), dict.fromkeys(auxiliaries, 1))


def _one_a_host(gang: str, members: list[DemandClass], names: Iterable[str]) -> list[Row]:
    """Rows of hosts where several members are today: all but one must leave if the gang is placed."""
    homes: dict[str, list[DemandClass]] = {}
    for cls in members:
        if cls.stay is not None and cls.home is not None:
            homes.setdefault(cls.home, []).append(cls)
    rows = []
    for home, here in homes.items():
        if len(here) > 1:
            seats: dict[tuple[str, Key], int] = {(home, ("seats", cls.index)): 1 for cls in here}
            less = dict.fromkeys(names, len(here) - 1)
            rows.append(Row(f"gang:{gang}:host:{home}", None, len(here), at=seats, auxiliary=less))
    return rows


def _on_any_host(cls: DemandClass, name: str) -> Row:
    """The row of one class of a gang without a fabric: its VMs are placed if the gang is."""
    new: Key = ("new", cls.index)
    if cls.stay is None:
        return Row(f"{name}:{cls.index}", 0, 0, {new: 1}, auxiliary={name: -cls.count})
    return Row(f"{name}:{cls.index}", None, 0, {new: 1}, auxiliary={name: -1})


def _follow(
    cls: DemandClass, names: dict[str, str], fabric_of: dict[str, str], hosts: tuple[str, ...]
) -> list[Row]:
    """Rows of one class: where its VMs are placed if the gang is, on which fabric.

    ``hosts``: those that its VMs may be on.
    """
    new: Key = ("new", cls.index)
    seats: Key = ("seats", cls.index)
    rows = []
    for fabric, name in names.items():
        placed = {(host, new): 1 for host in hosts if fabric_of.get(host) == fabric}
        if cls.stay is None:
            rows.append(Row(f"{name}:{cls.index}", 0, 0, at=placed, auxiliary={name: -cls.count}))
            continue
        rows.append(Row(f"{name}:{cls.index}", None, 0, at=placed, auxiliary={name: -1}))
        elsewhere = {
            (host, key): sign
            for host in hosts
            if fabric_of.get(host) != fabric
            for key, sign in ((seats, 1), (new, -1))
        }
        if elsewhere:
            rows.append(Row(f"{name}:stays:{cls.index}", None, 1, at=elsewhere, auxiliary={name: 1}))
    outside = {(host, new): 1 for host in hosts if host not in fabric_of}
    if outside:
        rows.append(Row(f"gang:outside:{cls.index}", None, 0, at=outside))
    return rows
