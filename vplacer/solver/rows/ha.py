"""HA admission control: reservations of a cluster stay within what its policy leaves."""

from __future__ import annotations

from vplacer.constraints.checks import ha_admission
from vplacer.constraints.state import Problem
from vplacer.inventory.cluster import Cluster
from vplacer.solver.classes import DemandClass
from vplacer.solver.rows import Row, RowSet
from vplacer.solver.rows.openings import Openings, coefficients, memory_left, most_in_sum

_PARTS = ("cpu", "memory")


def build(problem: Problem, classes: tuple[DemandClass, ...], openings: Openings) -> RowSet:
    """One row for CPU and one for memory of every cluster with policy hosts or percent.

    Where all that may be placed never comes to the limit there is none.
    """
    rows: list[Row] = []
    for cluster in problem.inventory.clusters:
        admission = cluster.admission
        if not cluster.ha_enabled or admission is None or admission.policy not in ("hosts", "percent"):
            continue
        cpu_room, memory_room, _ = ha_admission.room(problem, cluster, admission)
        before = problem.derive(ha_admission.reserved_today).get(cluster.moid, (0, 0))
        for part, room in enumerate((cpu_room, memory_room)):
            row = _row(problem, cluster, classes, openings, part, max(0, room - before[part]))
            if row is not None:
                rows.append(row)
    return RowSet(tuple(rows))


def _row(
    problem: Problem,
    cluster: Cluster,
    classes: tuple[DemandClass, ...],
    openings: Openings,
    part: int,
    left: int,
) -> Row | None:
    """The row of CPU (0) or memory (1) of a cluster; None where nothing can break it."""
    hosts = problem.inventory.host_by_moid
    inside = [moid for moid in openings.hosts if hosts[moid].cluster == cluster.moid]

    def takes(cls: DemandClass, moid: str) -> int:
        if hosts[moid].cluster != cluster.moid or not cls.demand.power_on:
            return 0
        return ha_admission.demand_reserved(cls.demand, cls.vm, hosts[moid])[part]

    def gives(cls: DemandClass) -> int:
        home = hosts.get(cls.home or "")
        inside = cls.vm is not None and cls.vm.is_on and home is not None and home.cluster == cluster.moid
        return ha_admission.vm_reserved(cls.vm)[part] if inside and cls.vm is not None else 0

    speeds = {hosts[moid].cpu_hz: moid for moid in inside}
    needs = {cls.index: max((takes(cls, moid) for moid in speeds.values()), default=0) for cls in classes}
    memory = memory_left(problem, openings, inside, classes, lambda cls: needs[cls.index]) if part else None
    if most_in_sum(needs, classes, memory) <= left:
        return None
    giving = {cls.index: given for cls in classes if (given := gives(cls))}
    at = coefficients(openings, inside, classes, lambda c, moid: takes(c, moid) - giving.get(c.index, 0))
    outside = [moid for moid in openings.hosts if hosts[moid].cluster != cluster.moid]
    leaving = [cls for cls in classes if cls.index in giving]
    at |= coefficients(openings, outside, leaving, lambda c, _: -giving[c.index])
    if not at:
        return None
    name = f"ha-admission:{_PARTS[part]} of {cluster.name}#{cluster.moid}"
    return Row(name, None, left, at=at)
