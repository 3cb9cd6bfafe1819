"""A part of an instance: some of its hosts, and the VMs that may still be placed on them."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from vplacer.solver.classes import DemandClass
from vplacer.solver.instance import Instance
from vplacer.solver.rows import Row, RowSet, placement


def tied_classes(instance: Instance) -> frozenset[int]:
    """Return the classes of which rows say something over hosts of several clusters: gangs, say.

    What is decided of them on some hosts matters on all others.
    """
    found: set[int] = set()
    for row in instance.rows.rows:
        if not placement.is_count(row) and not _of_one_cluster(instance, row):
            found.update(int(name) for kind, name in row.quantities if kind in ("seats", "new"))
    for task in instance.tasks:
        found.update(index for _, members in task.together for index in members)
    return frozenset(found)


def _of_one_cluster(instance: Instance, row: Row) -> bool:
    hosts = {host for host, _ in row.at}
    by_moid = instance.problem.inventory.host_by_moid
    return not row.everywhere and len({by_moid[host].cluster or host for host in hosts}) <= 1


def part_of(instance: Instance, hosts: Collection[str], members: Collection[str]) -> Instance:
    """Return the instance of some hosts alone, whole clusters, and of some of the VMs.

    Args:
        instance: all of it.
        hosts: the hosts, by moid.
        members: demands of VMs that may be placed there: none of `tied_classes`.
    """
    wanted = frozenset(members)
    classes = tuple(_fewer(cls, wanted) for cls in instance.classes)
    tasks = tuple(task for task in instance.tasks if task.state.host.moid in hosts)
    rows = [
        row
        for row in instance.rows.rows
        if not placement.is_count(row) and not row.everywhere and any(host in hosts for host, _ in row.at)
    ]
    used = {name for row in rows for name in row.auxiliary}
    auxiliaries = {name: most for name, most in instance.rows.auxiliaries.items() if name in used}
    own = placement.build(classes)
    return replace(instance, classes=classes, tasks=tasks, rows=RowSet((*own.rows, *rows), auxiliaries))


def _fewer(cls: DemandClass, wanted: frozenset[str]) -> DemandClass:
    return replace(cls, members=tuple(member for member in cls.members if member in wanted))
