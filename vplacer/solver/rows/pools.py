"""Resource pools can reserve the memory of what is placed; a child's overflow goes to its parent."""

from __future__ import annotations

from collections import defaultdict

from vplacer.constraints.checks.pool_memory import pool_of, vm_holds, vm_needs
from vplacer.constraints.state import Placement, Problem
from vplacer.solver.classes import DemandClass
from vplacer.solver.rows import Key, Row, RowSet

_Coefficients = dict[tuple[str, Key], int]


def build(problem: Problem, classes: tuple[DemandClass, ...], hosts: tuple[str, ...]) -> RowSet:
    """One row a pool that says what it has left, and an overflow for each that may expand.

    overflow >= need - own; need + overflow of children <= unreserved.
    """
    needs = _needs(problem, classes, hosts)
    pools = problem.inventory.pool_by_moid
    children: dict[str, list[str]] = defaultdict(list)
    used: set[str] = set()
    for moid in needs:
        at: str | None = moid
        while at is not None and at in pools and at not in used:
            used.add(at)
            parent = pools[at].parent
            if parent in pools and pools[at].memory_expandable:
                children[parent].append(at)
                at = parent
            else:
                at = None
    rows: list[Row] = []
    overflow: dict[str, int] = {}
    most = sum(cls.count * (cls.demand.memory_mib + cls.demand.overhead_mib) for cls in classes)
    for moid in sorted(used):
        pool = pools[moid]
        from_children = {f"overflow:{child}": 1 for child in children[moid]}
        at_hosts = needs.get(moid, {})
        if pool.memory_unreserved_mib is not None:
            room = max(0, pool.memory_unreserved_mib)
            rows.append(Row(f"pool:{pool.name}#{moid}", None, room, at=at_hosts, auxiliary=from_children))
        above = pools.get(pool.parent or "")
        if above is not None and pool.memory_expandable:
            own = max(0, (pool.memory_unreserved_mib or 0) - (above.memory_unreserved_mib or 0))
            name = f"overflow:{moid}"
            overflow[name] = most
            rows.append(Row(f"own:{moid}", None, own, at=at_hosts, auxiliary={**from_children, name: -1}))
    return RowSet(tuple(rows), overflow)


def _needs(
    problem: Problem, classes: tuple[DemandClass, ...], hosts: tuple[str, ...]
) -> dict[str, _Coefficients]:
    """What a VM of a class, placed anew on a host, adds to each pool."""
    found: dict[str, _Coefficients] = defaultdict(dict)
    for cls in classes:
        key: Key = ("new", cls.index)
        gives = vm_holds(cls.vm) if cls.vm is not None and cls.vm.is_on else 0
        for host in hosts:
            target = pool_of(problem, cls.demand, Placement(cls.members[0], host, ()))
            if target is not None:
                _add(found[target.moid], (host, key), vm_needs(cls.demand, cls.vm))
            if gives and cls.vm is not None and cls.vm.pool is not None:
                _add(found[cls.vm.pool], (host, key), -gives)
    return found


def _add(table: _Coefficients, key: tuple[str, Key], amount: int) -> None:
    table[key] = table.get(key, 0) + amount
