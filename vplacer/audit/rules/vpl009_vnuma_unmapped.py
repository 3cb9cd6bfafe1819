"""A VM's vNUMA shape does not map to the NUMA nodes of its host."""

from __future__ import annotations

from collections.abc import Iterator

from vplacer.audit.model import Hit, NotEvaluated, Outcome, Rule, Severity
from vplacer.audit.node_room import node_room
from vplacer.audit.subject import Subject
from vplacer.constraints.supply import nodes_with_cores
from vplacer.constraints.vm_findings import counts_threads, guest_nodes
from vplacer.inventory.finding import Certainty
from vplacer.inventory.host import ConnectionState, Host
from vplacer.inventory.vm import Vm


def find(subject: Subject) -> Iterator[Outcome]:
    """Yield VMs with several vNUMA nodes that their host's nodes cannot stand for."""
    silent: set[str] = set()
    for vm, host, _ in subject.placed:
        cores = vm.vnuma.cores_per_node
        if not cores or cores >= vm.cpus or not (vm.vnuma.auto is False or vm.is_on):
            continue
        shown = guest_nodes(vm)
        if shown is None or shown.count < 2:
            continue
        if not nodes_with_cores(host):
            if host.moid not in silent and host.connection is ConnectionState.CONNECTED:
                silent.add(host.moid)
                yield NotEvaluated("the host does not describe its NUMA nodes", host=host.moid)
            continue
        fault = _fault(vm, host, cores, shown.count)
        if fault is not None:
            kind, text = fault
            yield Hit(
                text,
                Certainty.PROVED,
                vm=vm.moid,
                host=host.moid,
                key=kind,
                numbers=(("cores_per_vnuma_node", cores), ("vnuma_nodes", shown.count)),
            )


def _fault(vm: Vm, host: Host, cores: int, count: int) -> tuple[str, str] | None:
    room = node_room(vm, host)
    unit = "threads" if counts_threads(vm, host) else "cores"
    known = {node.id for node in nodes_with_cores(host)}
    bound = [node for node in vm.node_affinity if node in known]
    if cores > room:
        text = f"a vNUMA node has {cores} vCPUs, and a pNUMA node {room} {unit}: one lies across several"
        return "too-large", text
    if vm.cpus % cores:
        text = f"its {vm.cpus} vCPUs do not divide evenly over vNUMA nodes of {cores}"
        return "uneven", text
    nodes = len(bound) or len(known)
    holds = room // cores
    if count > nodes * holds:
        where = f"the {nodes} pNUMA nodes it is bound to" if bound else f"the host's {nodes} pNUMA nodes"
        text = f"{count} vNUMA nodes of {cores} vCPUs, and {where} of {room} {unit} hold {nodes * holds}"
        return "straddles", text
    if len(bound) > 1 and count % len(bound):
        text = f"{count} vNUMA nodes do not divide evenly over the {len(bound)} pNUMA nodes it is bound to"
        return "does-not-divide", text
    return None


RULE = Rule(
    id="VPL009",
    name="vnuma-unmapped",
    title="vNUMA shape does not map to the host's NUMA nodes",
    severity=Severity.WARNING,
    cause="The guest keeps threads and memory within what it takes for a NUMA node. Where that lies across "
    "several physical nodes, or two of them share one that is too small, what the guest thinks is local is "
    "remote. It comes from a shape set by hand for other hardware, or frozen at the first power-on "
    "elsewhere.",
    evidence="VirtualNumaInfo.coresPerNumaNode (set by hand, or in force while the VM runs) against the "
    "cores of the host's NUMA nodes (threads with preferHT) and numa.nodeAffinity: a vNUMA node larger than "
    "a node, vCPUs that do not divide, more vNUMA nodes than the nodes hold, or a number that does not "
    "divide over the nodes it is bound to.",
    fix="Power the VM off and set the vCPUs per vNUMA node to a divisor of its vCPUs that a node holds "
    "(ConfigSpec.virtualNuma.coresPerNumaNode; CPU topology in the vSphere Client), or 0 for automatic: "
    "vplacer plan writes a shape that fits.",
    sample="a vNUMA node has 24 vCPUs, and a pNUMA node 16 cores: one lies across several",
    find=find,
)
