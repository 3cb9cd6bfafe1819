"""Clusters, rules and resource pools of inventory YAML."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from vplacer.inventory.cluster import Cluster, HaAdmission, ResourcePool, VmHostRule, VmVmRule
from vplacer.inventory.host import ConnectionState, Host
from vplacer.inventory.site_names import MoidCounter, matches
from vplacer.inventory.vm import Vm
from vplacer.inventory.yaml_marks import Document, Pointer

_GIB_TO_MIB = 1024


def make_cluster(
    document: Document,
    raw: dict[str, Any],
    pointer: Pointer,
    moid: str,
    datacenter: str,
    hosts: dict[str, str],
) -> Cluster:
    """Make a cluster without its rules; ``hosts`` are its own, name to moid.

    Raises:
        FileFormatError: its admission control does not resolve or contradicts itself.
    """
    drs = str(raw.get("drs", "fullyAutomated"))
    ha = raw.get("ha", "off")
    return Cluster(
        moid=moid,
        name=str(raw["name"]),
        datacenter=datacenter,
        drs_level=None if drs == "off" else drs,
        ha_enabled=ha != "off",
        admission=_admission(document, (*pointer, "ha"), ha, hosts),
        dpm_enabled=bool(raw.get("dpm", False)),
        evc_mode=raw.get("evc"),
        tags=tuple(sorted(str(tag) for tag in raw.get("tags", []))),
    )


def _admission(document: Document, pointer: Pointer, ha: Any, hosts: dict[str, str]) -> HaAdmission | None:
    if ha == "off":
        return None
    if ha == "on":
        return HaAdmission("none")
    kinds = [
        kind
        for kind, keys in (
            ("hosts", ("failover_hosts",)),
            ("percent", ("cpu_percent", "memory_percent")),
            ("dedicated", ("dedicated",)),
        )
        if any(key in ha for key in keys)
    ]
    if len(kinds) != 1:
        raise document.error(
            pointer, "admission control is one of failover_hosts, cpu_percent and memory_percent, dedicated"
        )
    dedicated = []
    for index, name in enumerate(ha.get("dedicated", [])):
        if name not in hosts:
            raise document.error((*pointer, "dedicated", index), f"the cluster has no host '{name}'")
        dedicated.append(hosts[name])
    return HaAdmission(
        kinds[0],
        failover_hosts=ha.get("failover_hosts"),
        cpu_percent=ha.get("cpu_percent"),
        memory_percent=ha.get("memory_percent"),
        dedicated=tuple(dedicated),
    )


def add_rules(
    document: Document, cluster: Cluster, rules: list[dict[str, Any]], pointer: Pointer, members: ClusterNames
) -> Cluster:
    """Return the cluster with the rules of the file and the DRS levels of single VMs.

    Raises:
        FileFormatError: a rule is of no one kind, or names what the cluster does not have.
    """
    vm_vm: list[VmVmRule] = []
    vm_host: list[VmHostRule] = []
    for index, rule in enumerate(rules):
        place = (*pointer, index)
        forms = [form for form in ("apart", "together", "vms") if form in rule]
        if len(forms) != 1:
            raise document.error(place, "a rule is one of apart, together, vms")
        form = forms[0]
        name = str(rule.get("name", f"{form}-{index + 1}"))
        enabled = bool(rule.get("enabled", True))
        vms = members.vms_of(document, (*place, form), rule[form])
        if form == "vms":
            if ("on" in rule) == ("not_on" in rule):
                raise document.error(place, "a rule for vms needs on or not_on")
            key = "on" if "on" in rule else "not_on"
            hosts = members.hosts_of(document, (*place, key), rule[key])
            must = bool(rule.get("must", False))
            vm_host.append(VmHostRule(index + 1, name, enabled, key == "not_on", vms, hosts, must))
            continue
        if len(vms) < 2:
            raise document.error((*place, form), "a rule between VMs needs two of them")
        vm_vm.append(VmVmRule(index + 1, name, enabled, form == "apart", vms, bool(rule.get("must", True))))
    return replace(
        cluster,
        vm_vm_rules=tuple(vm_vm),
        vm_host_rules=tuple(vm_host),
        drs_overrides=members.overrides,
    )


class ClusterNames:
    """Names of one cluster's VMs and hosts, in the order of the file, with their moids."""

    def __init__(
        self, vms: list[tuple[str, str]], hosts: list[tuple[str, str]], overrides: tuple[tuple[str, str], ...]
    ) -> None:
        self.vms = vms
        self.hosts = hosts
        self.overrides = overrides

    def vms_of(self, document: Document, pointer: Pointer, patterns: list[str]) -> tuple[str, ...]:
        """Return the moids of the VMs that the patterns name."""
        return _resolve(document, pointer, patterns, self.vms, "VM")

    def hosts_of(self, document: Document, pointer: Pointer, patterns: list[str]) -> tuple[str, ...]:
        """Return the moids of the hosts that the patterns name."""
        return _resolve(document, pointer, patterns, self.hosts, "host")


def _resolve(
    document: Document, pointer: Pointer, patterns: list[str], known: list[tuple[str, str]], what: str
) -> tuple[str, ...]:
    found: list[str] = []
    for index, pattern in enumerate(patterns):
        hits = [moid for name, moid in known if matches(name, pattern)]
        if not hits:
            raise document.error((*pointer, index), f"the cluster has no {what} '{pattern}'")
        found.extend(moid for moid in hits if moid not in found)
    return tuple(found)


class PoolMaker:
    """Makes resource pools: the root pool of each cluster or single host, and those of the file."""

    def __init__(self, document: Document, moids: MoidCounter) -> None:
        self.document = document
        self.moids = moids
        self.pools: dict[str, ResourcePool] = {}
        self.roots: dict[str, str] = {}
        self.by_name: dict[tuple[str, str], str] = {}
        self.fixed_unreserved: set[str] = set()

    def add_root(self, owner: str) -> None:
        """Add the root pool of a cluster or of a single host's compute resource."""
        moid = self.moids.take("resgroup")
        self.pools[moid] = ResourcePool(moid, "Resources", None, owner, None, True, None, None)
        self.roots[owner] = moid

    def add(self, raw: dict[str, Any], pointer: Pointer, clusters: dict[str, str]) -> None:
        """Add a pool of the file; ``clusters`` is name to moid.

        Raises:
            FileFormatError: unknown cluster or parent, a name used twice in a cluster.
        """
        owner = self._owner(raw, pointer, clusters)
        name = str(raw["name"])
        parent = self.roots[owner]
        if "parent" in raw:
            found = self.by_name.get((owner, str(raw["parent"])))
            if found is None:
                raise self.document.error(
                    (*pointer, "parent"), f"no pool '{raw['parent']}' stands above this one"
                )
            parent = found
        if (owner, name) in self.by_name:
            raise self.document.error((*pointer, "name"), f"two pools of the cluster are called '{name}'")
        moid = self.moids.take("resgroup")
        limit = raw.get("memory_limit_gib")
        unreserved = raw.get("memory_unreserved_gib")
        self.pools[moid] = ResourcePool(
            moid=moid,
            name=name,
            parent=parent,
            owner=owner,
            memory_reservation_mib=_mib(raw.get("memory_reservation_gib", 0)),
            memory_expandable=bool(raw.get("memory_expandable", True)),
            memory_limit_mib=None if limit is None else _mib(limit),
            memory_unreserved_mib=None if unreserved is None else _mib(unreserved),
        )
        self.by_name[(owner, name)] = moid
        if unreserved is not None:
            self.fixed_unreserved.add(moid)

    def _owner(self, raw: dict[str, Any], pointer: Pointer, clusters: dict[str, str]) -> str:
        if "cluster" in raw:
            owner = clusters.get(str(raw["cluster"]))
            if owner is None:
                raise self.document.error((*pointer, "cluster"), f"no cluster is called '{raw['cluster']}'")
            return owner
        if len(clusters) != 1:
            raise self.document.error(pointer, "the key 'cluster' is missing: there is not exactly one")
        return next(iter(clusters.values()))

    def finish(self, hosts: list[Host], owners: dict[str, str], vms: list[Vm]) -> tuple[ResourcePool, ...]:
        """Return the pools with their unreserved memory; ``owners`` is host moid to pool owner.

        A pool's unreserved memory is its reservation less what its VMs and children reserve; an
        expandable pool adds what its parent has left; a limit caps it. The root pool has the memory of
        the connected hosts less what they keep for themselves.
        """
        used: dict[str, int] = {}
        for vm in vms:
            if vm.pool is not None and vm.is_on:
                own = (vm.memory_reservation_mib or 0) + (vm.overhead_mib or 0)
                used[vm.pool] = used.get(vm.pool, 0) + own
        capacity: dict[str, int] = {}
        for host in hosts:
            if host.connection is ConnectionState.CONNECTED and not host.in_maintenance:
                mib = (host.memory_bytes or 0) // 1024**2 - (host.system_memory_mib or 0)
                owner = owners[host.moid]
                capacity[owner] = capacity.get(owner, 0) + mib
        demand = self._demands(used)
        done: dict[str, ResourcePool] = {}
        for moid, pool in self.pools.items():
            if pool.parent is None:
                total = capacity.get(pool.owner, 0)
                left = total - demand[moid]
                done[moid] = replace(pool, memory_reservation_mib=total, memory_unreserved_mib=left)
                continue
            if moid in self.fixed_unreserved:
                done[moid] = pool
                continue
            reserved = pool.memory_reservation_mib or 0
            own_left = max(0, reserved - demand[moid])
            if pool.memory_expandable:
                own_left += max(0, done[pool.parent].memory_unreserved_mib or 0)
            if pool.memory_limit_mib is not None:
                own_left = min(own_left, pool.memory_limit_mib - demand[moid])
            done[moid] = replace(pool, memory_unreserved_mib=own_left)
        return tuple(done.values())

    def _demands(self, used: dict[str, int]) -> dict[str, int]:
        """Return what VMs and children take of each pool; a child the greater of need and reservation."""
        demand = {moid: used.get(moid, 0) for moid in self.pools}
        for moid in reversed(list(self.pools)):
            pool = self.pools[moid]
            if pool.parent is not None:
                demand[pool.parent] += max(demand[moid], pool.memory_reservation_mib or 0)
        return demand


def _mib(gib: float) -> int:
    return round(gib * _GIB_TO_MIB)
