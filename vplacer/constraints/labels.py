"""Labels that carry a NUMA node with them, as the judge and the solver ask for them.

The rule is `vplacer.topology.labels.portable_nodes`; here it is computed once a problem and explained.
A host in no cluster stands for itself: its moid is taken where a cluster's is asked for.
"""

from __future__ import annotations

from vplacer.constraints.state import Problem
from vplacer.inventory.host import Host
from vplacer.topology.labels import LabelledDevice, labelled_devices, labelled_on_host, portable_nodes


def scope_of(host: Host) -> str:
    """Return within what a label must be portable for VMs of a host: its cluster, or the host alone."""
    return host.cluster if host.cluster is not None else host.moid


def portable_node(problem: Problem, cluster_moid: str, label: str) -> int | None:
    """Return the node number a portable label stands for, None where it is not portable."""
    return problem.derive_fact(_portable, cluster_moid).get(label)


def portable_labels(problem: Problem, scope: str) -> dict[str, int]:
    """Return the portable labels of a cluster (see `scope_of`) and the node number each stands for."""
    return problem.derive_fact(_portable, scope)


def why_not_portable(problem: Problem, cluster_moid: str, label: str) -> str | None:
    """Return why a label is not portable in a cluster, None where it is."""
    if portable_node(problem, cluster_moid, label) is not None:
        return None
    found = [device for device in problem.derive_fact(_labelled, cluster_moid) if device.label == label]
    if not found:
        return f"no device has the label '{label}'"
    unknown = next((device for device in found if device.node is None), None)
    if unknown is not None:
        where = _host_name(problem, unknown.host)
        return f"label '{label}' is not portable: the NUMA node of a {unknown.ids} on {where} is unknown"
    first = found[0]
    other = next(device for device in found if device.node != first.node)
    return (
        f"label '{label}' is not portable: node {first.node} on {_host_name(problem, first.host)}, "
        f"node {other.node} on {_host_name(problem, other.host)}"
    )


def _host_name(problem: Problem, moid: str) -> str:
    return problem.inventory.host_by_moid[moid].name


def _portable(problem: Problem, scope: str) -> dict[str, int]:
    return portable_nodes(problem.derive_fact(_labelled, scope))


def _labelled(problem: Problem, scope: str) -> tuple[LabelledDevice, ...]:
    if scope in problem.inventory.cluster_by_moid:
        return labelled_devices(problem.inventory, problem.topologies, scope)
    host = problem.inventory.host_by_moid.get(scope)
    topology = problem.topologies.get(scope)
    return labelled_on_host(host, topology) if host is not None and topology is not None else ()
