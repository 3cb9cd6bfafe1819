"""A scheduler trap: VMs that start within a short window all land on one NUMA node."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from vplacer.audit.measured_vms import why_not_measured
from vplacer.audit.model import Hit, NotEvaluated, Outcome, Rule, Severity
from vplacer.audit.node_room import on_several_nodes
from vplacer.audit.numa_options import INITIAL_THRESHOLD
from vplacer.audit.subject import Subject
from vplacer.constraints.supply import holds_gpu_like, nodes_with_cores
from vplacer.inventory.finding import Certainty
from vplacer.inventory.host import Host
from vplacer.inventory.limits_table import parse_release
from vplacer.inventory.vm import Vm
from vplacer.topology.measured import HostMeasurement

_MENDED_SINCE = (9, 1, 0)
_WORKAROUND = "100"


def find(subject: Subject) -> Iterator[Outcome]:
    """Yield hosts with VMs crowded on a node beside an emptier one, and those where that is likely."""
    for host in subject.inventory.hosts:
        vms = [vm for vm in subject.inventory.vms_by_host.get(host.moid, ()) if vm.is_on and vm.readable]
        floating = [vm for vm in vms if not vm.node_affinity]
        if len(floating) < 2 or not on_several_nodes(host):
            continue
        release = parse_release(host.version)
        if release is not None and release >= _MENDED_SINCE:
            continue
        if dict(host.options).get(INITIAL_THRESHOLD) == _WORKAROUND:
            continue
        measured = subject.measured(host)
        if measured is not None:
            yield from _crowded(host, vms, measured)
        elif mixed := _mixed(host, floating):
            yield mixed
        else:
            yield NotEvaluated(why_not_measured(subject, host), host=host.moid)


def _crowded(host: Host, vms: Sequence[Vm], measured: HostMeasurement) -> Iterator[Hit]:
    """Compare nodes: more vCPUs than cores on one, while another has cores for one of the VMs there.

    VMs on several nodes, and those whose home is not known, count on every node but the crowded one.
    """
    homes = {item.moid: item.home.nodes for item in measured.vms if item.home is not None}
    cores = {node.id: node.core_count for node in nodes_with_cores(host)}
    alone: dict[int, list[Vm]] = {node: [] for node in cores}
    elsewhere = 0
    for vm in vms:
        nodes = homes.get(vm.moid, ())
        if len(nodes) == 1 and nodes[0] in alone:
            alone[nodes[0]].append(vm)
        else:
            elsewhere += vm.cpus
    taken = {node: sum(vm.cpus for vm in there) for node, there in alone.items()}
    for node, there in alone.items():
        movable = [vm.cpus for vm in there if not vm.node_affinity]
        if taken[node] <= cores[node] or len(movable) < 2:
            continue
        for other, free in cores.items():
            if other != node and taken[other] + elsewhere + min(movable) <= free:
                yield Hit(
                    f"{len(there)} VMs with {taken[node]} vCPUs are on pNUMA {node} of {cores[node]} cores, "
                    f"while pNUMA {other} of {free} cores has {taken[other]} vCPUs (measured {measured.at})",
                    Certainty.MEASURED,
                    host=host.moid,
                    key=f"node {node}",
                    severity=Severity.WARNING if any(map(_takes_cores, there)) else Severity.NOTE,
                    numbers=(("vcpus", taken[node]), ("cores", cores[node])),
                )
                break


def _takes_cores(vm: Vm) -> bool:
    """Whether a VM needs a core a vCPU, so that a crowded node surely costs it something."""
    return holds_gpu_like(vm) or vm.latency_sensitivity == "high"


def _mixed(host: Host, floating: Sequence[Vm]) -> Hit | None:
    """VMs of low latency beside others: what the scheduler is known to misjudge."""
    low = sum(1 for vm in floating if vm.latency_sensitivity == "high")
    if not low or low == len(floating):
        return None
    value = dict(host.options).get(INITIAL_THRESHOLD)
    setting = "was not told" if value is None else f"is {value}, not {_WORKAROUND}"
    return Hit(
        f"{low} of its {len(floating)} floating VMs have latency sensitivity high, and {INITIAL_THRESHOLD} "
        f"{setting}: VMs that start together may all be on one node",
        Certainty.LIKELY,
        host=host.moid,
        key="likely",
        severity=Severity.NOTE,
    )


RULE = Rule(
    id="VPL007",
    name="vms-on-one-node",
    title="VMs crowd one NUMA node beside an emptier one",
    severity=Severity.WARNING,
    cause="VMs that are powered on within a short window may all be put on one NUMA node, and where VMs with "
    "latency sensitivity high are among them their load is underestimated, so that the others are not moved "
    "away (Broadcom KB 430776; to be mended in a release of vSphere 9).",
    evidence="Measured: a node holds more vCPUs than it has cores, two floating VMs or more among them, "
    "while another node has cores left for one of them: a warning where a VM with devices or of latency "
    "sensitivity high is among them, else a note. Not measured: a note where floating VMs of latency "
    "sensitivity high and others share a host. Hosts with the workaround, where they tell it (ESXi 8.0.3 "
    "does not list the option by default), and of ESX 9.1 or later, are left out.",
    fix="Set the host option Numa.InitialPlacementLoadThreshold to 100 (esxcfg-advcfg -s 100 "
    "/Numa/InitialPlacementLoadThreshold), power on VMs some time apart, and bind those with devices: "
    "vplacer plan writes numa.nodeAffinity.",
    sample="5 VMs with 40 vCPUs are on pNUMA 0 of 32 cores, while pNUMA 1 of 32 cores has 4 vCPUs (measured "
    "2026-03-01T02:00:00Z)",
    find=find,
)
