"""Labels that carry a NUMA node with them: portable ones.

A label fixes the device's side, numa.nodeAffinity the CPU and memory side, and the number in it means
another piece of hardware on another host. So the two may go together only where, on every host of the
cluster that has the label, its devices sit on the same physical node number. Otherwise a restart on
another host would part them.
"""

from __future__ import annotations

from vplacer.constraints.holdings import devices_of_host
from vplacer.constraints.state import Problem
from vplacer.inventory.pci import PciAddress


def portable_node(problem: Problem, cluster_moid: str, label: str) -> int | None:
    """Return the node number a portable label stands for, None where it is not portable."""
    return problem.derive(_portable, cluster_moid).get(label, (None, None))[0]


def why_not_portable(problem: Problem, cluster_moid: str, label: str) -> str | None:
    """Return why a label is not portable in a cluster, None where it is."""
    known = problem.derive(_portable, cluster_moid).get(label)
    if known is None:
        return f"no device of the cluster has the label '{label}'"
    return known[1]


def labels_on_node(problem: Problem, cluster: str, node: int) -> tuple[str, ...]:
    """Return the portable labels of a cluster that stand for a node number, in order."""
    table = problem.derive(_portable, cluster)
    return tuple(sorted(label for label, (at, _) in table.items() if at == node))


def labels_of(problem: Problem, cluster: str) -> tuple[str, ...]:
    """Return all labels of a cluster, in order."""
    return tuple(sorted(problem.derive(_portable, cluster)))


def _portable(problem: Problem, cluster: str) -> dict[str, tuple[int | None, str | None]]:
    """Map each label of a cluster to its node, or to why it has none."""
    places: dict[str, list[tuple[str, PciAddress, int | None]]] = {}
    for host in problem.inventory.hosts:
        if host.cluster != cluster or host.moid not in problem.topologies:
            continue
        topology = problem.topologies[host.moid]
        for device in devices_of_host(problem, host.moid):
            if device.label:
                node = topology.cpu_node_for(device.address)
                places.setdefault(device.label, []).append((host.name, device.address, node))
    return {label: _judge(label, found) for label, found in places.items()}


def _judge(label: str, places: list[tuple[str, PciAddress, int | None]]) -> tuple[int | None, str | None]:
    first_host, first_address, first_node = places[0]
    for host, address, node in places:
        if node is None:
            return None, (
                f"label '{label}' is not portable: the NUMA node of {address.short} on {host} is unknown"
            )
        if node != first_node:
            return None, (
                f"label '{label}' is not portable: node {first_node} on {first_host} "
                f"({first_address.short}), node {node} on {host} ({address.short})"
            )
    return first_node, None
