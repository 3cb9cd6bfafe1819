"""numa.nodeAffinity names what the host does not have, or cannot be read."""

from __future__ import annotations

from collections.abc import Iterator

from vplacer.audit.model import NotEvaluated, Outcome, Rule, Severity
from vplacer.audit.subject import Subject
from vplacer.audit.told import hits_of
from vplacer.inventory.host import ConnectionState

_KINDS = ("node-affinity-absent", "node-affinity-unreadable", "node-affinity-without-cores")


def find(subject: Subject) -> Iterator[Outcome]:
    """Yield VMs whose affinity is wrong, and hosts that do not tell their nodes to compare it with."""
    yield from hits_of(subject, *_KINDS)
    silent = {vm.host for vm, host, _ in subject.placed if not host.numa_nodes and vm.node_affinity}
    for host in subject.inventory.hosts:
        if host.moid in silent and host.connection is ConnectionState.CONNECTED:
            yield NotEvaluated("the host does not describe its NUMA nodes", host=host.moid)


RULE = Rule(
    id="VPL011",
    name="node-affinity-wrong",
    title="numa.nodeAffinity is wrong on this host",
    severity=Severity.WARNING,
    cause="Node numbers mean nothing on another host: after a move to one with fewer nodes, a change of "
    "sub-NUMA clustering or NPS in the firmware, or a typing error, the VM is bound to nothing, or to a "
    "node that has no CPUs, and its memory is wherever the host found some.",
    evidence="extraConfig numa.nodeAffinity against the host's NUMA nodes: a node it does not have, a node "
    "without cores, or a text that is no list of numbers separated by commas.",
    fix="Set numa.nodeAffinity to a list such as 0 or 0,1 of nodes that this host has (extraConfig; it "
    "counts after a power cycle), or remove it: vplacer plan writes the node of the VM's devices.",
    sample="numa.nodeAffinity names pNUMA 2, which the host does not have",
    find=find,
)
