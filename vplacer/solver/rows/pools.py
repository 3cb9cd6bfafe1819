"""Resource pools can reserve the memory of what is placed; a child's overflow goes to its parent."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field

from vplacer.constraints.checks.pool_memory import pool_of, vm_holds, vm_needs
from vplacer.constraints.state import Placement, Problem
from vplacer.inventory.cluster import ResourcePool
from vplacer.solver.classes import DemandClass
from vplacer.solver.rows import Key, Row, RowSet
from vplacer.solver.rows.openings import Openings, coefficients, memory_left, most_in_sum


def build(problem: Problem, classes: tuple[DemandClass, ...], openings: Openings) -> RowSet:
    """One row a pool that says what it has left, and an overflow for each that may expand.

    overflow >= need - own; need + overflow of children <= unreserved. Where all that may be placed never
    comes to the limit there is no row.
    """
    needs = _needs(problem, classes, openings)
    pools = problem.inventory.pool_by_moid
    children = _children(pools, needs)
    most: dict[str, int] = {}
    overflow: dict[str, int] = {}
    for moid in children:
        own_most = needs[moid].most(problem, classes, openings) if moid in needs else 0
        most[moid] = own_most + sum(overflow.get(child, 0) for child in children[moid])
        overflow[moid] = max(0, most[moid] - _own(pools, moid)) if _expands(pools, moid) else 0
    rows: dict[str, list[Row]] = {}
    auxiliaries: dict[str, int] = {}
    limit = sum(cls.count * (cls.demand.memory_mib + cls.demand.overhead_mib) for cls in classes)
    for moid in reversed(children):
        pool = pools[moid]
        from_children = {f"overflow:{child}": 1 for child in children[moid] if overflow.get(child)}
        passes = bool(overflow[moid] and rows.get(pool.parent or ""))
        unreserved = pool.memory_unreserved_mib
        full = unreserved is not None and most[moid] > max(0, unreserved)
        rows[moid] = []
        if not full and not passes:
            continue
        at = needs[moid].at(problem, classes, openings) if moid in needs else {}
        if full:
            room = max(0, unreserved or 0)
            rows[moid].append(Row(f"pool:{pool.name}#{moid}", None, room, at=at, auxiliary=from_children))
        if passes:
            name = f"overflow:{moid}"
            auxiliaries[name] = limit
            own = _own(pools, moid)
            rows[moid].append(Row(f"own:{moid}", None, own, at=at, auxiliary={**from_children, name: -1}))
    ordered = {name: auxiliaries[name] for name in sorted(auxiliaries)}
    return RowSet(tuple(row for moid in sorted(rows) for row in rows[moid]), ordered)


def _expands(pools: Mapping[str, ResourcePool], moid: str) -> bool:
    return pools[moid].parent in pools and bool(pools[moid].memory_expandable)


def _own(pools: Mapping[str, ResourcePool], moid: str) -> int:
    """What a pool has left of its own reservation."""
    above = pools[pools[moid].parent or ""] if pools[moid].parent in pools else None
    parent = (above.memory_unreserved_mib or 0) if above is not None else 0
    return max(0, (pools[moid].memory_unreserved_mib or 0) - parent)


def _children(pools: Mapping[str, ResourcePool], needs: Mapping[str, _Need]) -> dict[str, list[str]]:
    """Return the pools concerned, children before parents, each with those whose overflow it takes."""
    children: dict[str, list[str]] = {}
    depth: dict[str, int] = {}
    for moid in needs:
        chain = []
        at: str | None = moid
        while at is not None and at in pools and at not in chain:
            chain.append(at)
            children.setdefault(at, [])
            parent = pools[at].parent if _expands(pools, at) else None
            if parent is not None and at not in children.setdefault(parent, []):
                children[parent].append(at)
            at = parent
        for steps, at in enumerate(reversed(chain)):
            depth[at] = max(depth.get(at, 0), steps)
    return {moid: children[moid] for moid in sorted(children, key=lambda m: (-depth[m], m))}


@dataclass
class _Need:
    """What placing VMs asks of a pool: MiB a VM by class, less what it gives back, and on which hosts.

    ``clusters``: those on whose hosts a class takes of it.
    """

    hosts_of: Mapping[str | None, tuple[str, ...]]
    takes: dict[int, int] = field(default_factory=dict)
    gives: dict[int, int] = field(default_factory=dict)
    clusters: dict[int, set[str | None]] = field(default_factory=lambda: defaultdict(set))

    def most(self, problem: Problem, classes: tuple[DemandClass, ...], openings: Openings) -> int:
        """The most that can be asked of it."""
        concerned = [cls for cls in classes if self.takes.get(cls.index)]
        clusters = {cluster for cls in concerned for cluster in self.clusters[cls.index]}
        hosts = [moid for cluster, here in self.hosts_of.items() if cluster in clusters for moid in here]
        left = memory_left(problem, openings, hosts, concerned, lambda cls: self.takes[cls.index])
        return most_in_sum(self.takes, classes, left)

    def at(
        self, problem: Problem, classes: tuple[DemandClass, ...], openings: Openings
    ) -> dict[tuple[str, Key], int]:
        """What one VM of each class asks of it on each host."""
        cluster_of = {moid: problem.inventory.host_by_moid[moid].cluster for moid in openings.hosts}

        def amount(cls: DemandClass, moid: str) -> int:
            takes = cluster_of[moid] in self.clusters.get(cls.index, ())
            taken = self.takes[cls.index] if takes else 0
            return taken - self.gives.get(cls.index, 0)

        concerned = [cls for cls in classes if cls.index in self.takes or cls.index in self.gives]
        return coefficients(openings, openings.hosts, concerned, amount)


def _needs(problem: Problem, classes: tuple[DemandClass, ...], openings: Openings) -> dict[str, _Need]:
    """What VMs of each class, placed anew, ask of each pool."""
    by_cluster: dict[str | None, list[str]] = defaultdict(list)
    for moid in openings.hosts:
        by_cluster[problem.inventory.host_by_moid[moid].cluster].append(moid)
    hosts_of = {cluster: tuple(hosts) for cluster, hosts in by_cluster.items()}
    found: dict[str, _Need] = defaultdict(lambda: _Need(hosts_of))
    for cls in classes:
        for cluster, hosts in hosts_of.items():
            target = pool_of(problem, cls.demand, Placement(cls.demand.id, hosts[0], ()))
            if target is not None:
                found[target.moid].takes[cls.index] = vm_needs(cls.demand, cls.vm)
                found[target.moid].clusters[cls.index].add(cluster)
        if cls.vm is not None and cls.vm.is_on and cls.vm.pool is not None and (held := vm_holds(cls.vm)):
            found[cls.vm.pool].gives[cls.index] = held
    return found
