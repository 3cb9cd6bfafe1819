"""Where ESXi puts a VM that starts: its NUMA nodes.

`numa.nodeAffinity` is honoured. A floating VM goes to the nodes that its vCPUs fill least, one a NUMA
client; but VMs started within a short window all land on one node, until ESX 9 (Broadcom KB 430776), unless
the host's option Numa.InitialPlacementLoadThreshold is 100.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Final

from vplacer.constraints.supply import client_count, nodes_with_cores, threads_per_core
from vplacer.constraints.vnuma_shape import FEWEST_CPUS_WITH_VNUMA
from vplacer.inventory.host import Host
from vplacer.inventory.limits_table import FIRST_WITH_VNUMA, parse_release
from vplacer.inventory.vm import Vm
from vplacer.lab.model.tables import Tables
from vplacer.plan.settings import AUTOSIZE_STATE

START_WINDOW_S: Final = 30.0
"""How long after a start the next VM lands on the same node; the article does not say how long it is."""

_OPTION: Final = "Numa.InitialPlacementLoadThreshold"

Starts = Mapping[str, tuple[datetime, tuple[int, ...]]]
"""By host, when the last floating VM was started there, and where it landed."""


def home_of(tables: Tables, vm: Vm, host: Host, now: datetime, starts: Starts) -> tuple[int, ...]:
    """Return the pNUMA nodes that a VM lands on; empty = the host does not describe its nodes."""
    nodes = [node.id for node in nodes_with_cores(host)]
    if not nodes:
        return ()
    clients = numa_clients(vm, host)
    bound = [node for node in vm.node_affinity if node in nodes]
    allowed = bound or nodes
    if len(allowed) <= clients:
        return tuple(sorted(allowed))
    last = starts.get(host.moid)
    if not bound and last is not None and _bunches(host):
        when, where = last
        if now - when < timedelta(seconds=START_WINDOW_S) and len(where) == clients:
            return where
    load = _load(tables, host, without=vm.moid)
    least = sorted(allowed, key=lambda node: (load.get(node, 0.0), node))
    return tuple(sorted(least[:clients]))


def numa_clients(vm: Vm, host: Host) -> int:
    """Return how many NUMA clients a VM is divided into."""
    manual = None
    if vm.vnuma.cores_per_node and not vm.vnuma.auto:
        manual = max(1, vm.cpus // vm.vnuma.cores_per_node)
    return client_count(vm.cpus, _node_cores(vm, host), manual)


def sized_by_host(vm: Vm, host: Host) -> Vm:
    """Return a VM whose vNUMA shape is automatic with the shape that the host gives it at power-on.

    Hosts note it in extraConfig too, and keep it until the number of vCPUs changes (F. Denneman, vNUMA
    series); what they write into the cookie is theirs.
    """
    cores, version = _node_cores(vm, host), vm.hardware_version
    if version is None or not cores:
        return vm
    size = vm.cpus // client_count(vm.cpus, cores, None)
    if vm.cpus >= FEWEST_CPUS_WITH_VNUMA:
        cookie, most = AUTOSIZE_STATE
        state = {cookie: f"{vm.cpus}0012", most: str(size)}
        vm = replace(vm, extra_config=tuple(sorted({**dict(vm.extra_config), **state}.items())))
    if version < FIRST_WITH_VNUMA:
        return vm
    return replace(vm, vnuma=replace(vm.vnuma, cores_per_node=size, auto=True))


def is_floating(vm: Vm, host: Host) -> bool:
    """Whether ESXi may choose the node of a VM."""
    return not set(vm.node_affinity) & {node.id for node in nodes_with_cores(host)}


def _node_cores(vm: Vm, host: Host) -> int:
    threads = threads_per_core(host) if vm.prefers_threads else 1
    return max((node.core_count for node in host.numa_nodes), default=0) * threads


def _bunches(host: Host) -> bool:
    if dict(host.options).get(_OPTION) == "100":
        return False
    release = parse_release(host.version)
    return release is None or release < (9, 0, 0)


def _load(tables: Tables, host: Host, without: str) -> dict[int, float]:
    """vCPUs by node, of VMs of which it is known where they are."""
    load: dict[int, float] = {}
    for other in tables.vms_on(host.moid):
        nodes = tables.homes.get(other.moid) or other.node_affinity
        if other.is_on and other.moid != without and nodes:
            for node in nodes:
                load[node] = load.get(node, 0.0) + other.cpus / len(nodes)
    return load
