"""The vNUMA shape is possible, and bound nodes are as many as its parts."""

from __future__ import annotations

from collections.abc import Iterable

from vplacer.constraints.costs import LESS_CPU_OR_MEMORY
from vplacer.constraints.registry import Relaxation, host_check
from vplacer.constraints.state import Placement, Problem, State, Violation
from vplacer.constraints.supply import demand_parts, nodes_kept, threads_per_core
from vplacer.inventory.host import Host
from vplacer.request.demand import Demand

ID = "vnuma"


def on_host(state: State, host: str) -> Iterable[Violation]:
    """Check the parts of each placement: they divide the vCPUs, and lie on nodes that can hold them.

    vCPUs divide evenly over vNUMA nodes (vSphere API: VirtualNuma.coresPerNumaNode).
    """
    home = state.problem.inventory.host_by_moid[host]
    for placement in state.placements_by_host.get(host, ()):
        demand = state.problem.demand_by_id[placement.demand]
        evidence = _fault(demand, placement, home)
        if evidence is not None:
            yield Violation(ID, demand.id, evidence, host=host)


def _fault(demand: Demand, placement: Placement, host: Host) -> str | None:
    parts = demand_parts(demand, host)
    if demand.cpus % parts:
        return f"{demand.cpus} vCPUs do not divide evenly over {parts} vNUMA nodes"
    nodes = placement.nodes
    if not nodes or nodes == nodes_kept(demand, host):
        return None
    if not host.numa_nodes:
        return "the host does not describe its NUMA nodes: nothing can be bound there"
    cores = {node.id: node.core_count for node in host.numa_nodes}
    absent = [node for node in nodes if cores.get(node, 0) == 0]
    if absent:
        return f"node {absent[0]} has no cores on this host"
    if len(set(nodes)) != len(nodes):
        return "a node is named twice"
    if len(nodes) != parts:
        return f"bound to {len(nodes)} nodes, the VM has {parts} NUMA clients"
    threads = threads_per_core(host) if demand.prefer_ht else 1
    small = [node for node in nodes if cores[node] * threads < demand.cpus // parts]
    if small:
        room = cores[small[0]] * threads
        return f"{demand.cpus // parts} vCPUs a node, node {small[0]} has {room}"
    return None


def relax(problem: Problem, demand: Demand) -> tuple[Relaxation, ...]:
    """Automatic vNUMA, or a vCPU count that one node holds, would do."""
    found = []
    if demand.vnuma_nodes is not None:
        found.append(
            Relaxation(
                "let vSphere choose the vNUMA shape", LESS_CPU_OR_MEMORY - 5, demand.id, "vnuma", "auto"
            )
        )
    largest = max((n.core_count for host in problem.inventory.hosts for n in host.numa_nodes), default=0)
    if 0 < largest < demand.cpus:
        text = f"ask for at most {largest} vCPUs, what one node holds"
        found.append(Relaxation(text, LESS_CPU_OR_MEMORY, demand.id, "cpus", str(largest)))
    return tuple(found)


CHECK = host_check(ID, "vNUMA shape", on_host, relax)
