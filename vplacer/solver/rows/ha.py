"""HA admission control: reservations of a cluster stay within what its policy leaves."""

from __future__ import annotations

from vplacer.constraints.checks import ha_admission
from vplacer.constraints.state import Problem
from vplacer.solver.classes import DemandClass
from vplacer.solver.rows import Key, Row, RowSet


def build(problem: Problem, classes: tuple[DemandClass, ...], hosts: tuple[str, ...]) -> RowSet:
    """One row for CPU and one for memory of every cluster with policy hosts or percent."""
    inventory = problem.inventory
    rows: list[Row] = []
    for cluster in inventory.clusters:
        admission = cluster.admission
        if not cluster.ha_enabled or admission is None or admission.policy not in ("hosts", "percent"):
            continue
        cpu_room, memory_room, _ = ha_admission.room(problem, cluster, admission)
        before = ha_admission.reserved_today(problem).get(cluster.moid, (0, 0))
        for part, room, name in ((0, cpu_room, "cpu"), (1, memory_room, "memory")):
            at: dict[tuple[str, Key], int] = {}
            for cls in classes:
                gives = 0
                if cls.vm is not None and cls.vm.is_on and cls.home is not None:
                    home = inventory.host_by_moid.get(cls.home)
                    if home is not None and home.cluster == cluster.moid:
                        gives = ha_admission.vm_reserved(cls.vm)[part]
                for moid in hosts:
                    host = inventory.host_by_moid[moid]
                    takes = 0
                    if host.cluster == cluster.moid and cls.demand.power_on:
                        takes = ha_admission.demand_reserved(cls.demand, cls.vm, host)[part]
                    if takes != gives:
                        at[moid, ("new", cls.index)] = takes - gives
            if at:
                left = max(0, room - before[part])
                rows.append(Row(f"ha-admission:{name} of {cluster.name}#{cluster.moid}", None, left, at=at))
    return RowSet(tuple(rows))
