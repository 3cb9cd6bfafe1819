"""Nothing keeps a VM on the NUMA node of its GPUs, and where it is was not measured."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from vplacer.audit.gpu_vms import vms_with_gpus
from vplacer.audit.model import Hit, NotEvaluated, Outcome, Rule, Severity
from vplacer.audit.node_room import numa_clients
from vplacer.audit.subject import Subject
from vplacer.constraints.supply import nodes_with_cores
from vplacer.inventory.bound_by import BoundBy
from vplacer.inventory.finding import Certainty
from vplacer.inventory.host import ConnectionState, Host
from vplacer.inventory.vm import Vm
from vplacer.topology.claims import Claim


def find(subject: Subject) -> Iterator[Outcome]:
    """Yield running VMs with GPUs whose vCPUs and memory are bound to no node, and that were not measured."""
    silent: set[str] = set()
    for vm, host, claims in vms_with_gpus(subject):
        if not vm.is_on or vm.node_affinity or vm.unreadable_node_affinity is not None:
            continue
        nodes = len(nodes_with_cores(host))
        if nodes == 0:
            if host.moid not in silent and host.connection is ConnectionState.CONNECTED:
                silent.add(host.moid)
                yield NotEvaluated("the host does not describe its NUMA nodes", host=host.moid)
            continue
        if nodes == 1 or numa_clients(vm, host) >= nodes or _measured(subject, vm, host):
            continue
        if _on_all_nodes(subject, host, claims, nodes):
            continue
        luck = sum(1 for claim in claims if claim.bound_by is BoundBy.PLATFORM)
        gpus = "its GPU is" if len(claims) == 1 else f"its {len(claims)} GPUs are"
        which = f"{gpus} chosen by vSphere at power-on" if luck else f"{gpus} fixed by backing or label"
        yield Hit(
            f"numa.nodeAffinity is not set, {which}, and its home was not measured: on a host of {nodes} "
            "NUMA nodes it is near or far by luck",
            Certainty.PROVED,
            vm=vm.moid,
            host=host.moid,
        )


def _on_all_nodes(subject: Subject, host: Host, claims: Sequence[Claim], nodes: int) -> bool:
    """Whether its cards are on every node: wherever it is, it is near some and far from others."""
    topology = subject.topologies[host.moid]
    cards = {topology.cpu_node_for(claim.address) for claim in claims if claim.address is not None}
    return len(cards - {None}) == nodes


def _measured(subject: Subject, vm: Vm, host: Host) -> bool:
    measured = subject.measured(host)
    homes = () if measured is None else measured.vms
    return any(item.moid == vm.moid and item.home is not None and item.home.nodes for item in homes)


RULE = Rule(
    id="VPL020",
    name="locality-left-to-luck",
    title="Locality is left to luck",
    severity=Severity.NOTE,
    cause="A label or a static backing fixes where the GPU is and moves no vCPU; without numa.nodeAffinity "
    "the host puts vCPUs and memory on any node and moves them at will. On two nodes that is the wrong one "
    "half of the time.",
    evidence="A running VM with GPUs or vGPUs that fits fewer nodes than its host has, without "
    "numa.nodeAffinity, and no measured home. A measured VM is told by measured-home-far, where it is far.",
    fix="Measure where it is (vplacer audit --measured), or bind it: vplacer plan with affinity: pin or "
    "label writes numa.nodeAffinity next to the card; it counts after a power cycle.",
    sample="numa.nodeAffinity is not set, its GPU is chosen by vSphere at power-on, and its home was not "
    "measured: on a host of 2 NUMA nodes it is near or far by luck",
    find=find,
)
