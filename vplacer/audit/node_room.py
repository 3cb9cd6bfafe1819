"""How a VM's vCPUs fit the NUMA nodes of its host: shared by the rules on vNUMA."""

from __future__ import annotations

from vplacer.constraints.supply import client_count, nodes_with_cores, threads_per_core
from vplacer.constraints.vm_findings import counts_threads
from vplacer.inventory.host import Host
from vplacer.inventory.vm import Vm


def node_room(vm: Vm, host: Host) -> int:
    """Return how many vCPUs the largest node takes: its cores, with preferHT its threads; 0 = not told."""
    largest = max((node.core_count for node in nodes_with_cores(host)), default=0)
    return largest * threads_per_core(host) if counts_threads(vm, host) else largest


def manual_vnuma_nodes(vm: Vm) -> int | None:
    """Return the number of vNUMA nodes set by hand, None = left to vSphere, or not told."""
    cores = vm.vnuma.cores_per_node
    return -(-vm.cpus // cores) if cores and vm.vnuma.auto is False else None


def numa_clients(vm: Vm, host: Host) -> int:
    """Return into how many parts a VM is divided over nodes of its host: 1 = it fits one."""
    return client_count(vm.cpus, node_room(vm, host), manual_vnuma_nodes(vm))


def on_several_nodes(host: Host) -> bool:
    """Whether a host has more than one node that VMs can run on: else nothing can be far."""
    return len(nodes_with_cores(host)) > 1
