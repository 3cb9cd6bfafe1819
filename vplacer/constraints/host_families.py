"""Hosts of one hardware, whoever uses it: what is found out for one of them holds for all.

A site of thousands of hosts has few families. Amounts that differ a little from host to host (memory, and
what ESXi keeps of it) are not part of a family.
"""

from __future__ import annotations

from collections.abc import Hashable

from vplacer.constraints.cards import devices_of_host
from vplacer.constraints.state import Problem
from vplacer.inventory.host import Host


def family_of(problem: Problem, moid: str) -> int:
    """Return the number of a host's family.

    Hosts of one family have the same topology, cards (vGPU modes, labels and what they offer included),
    cores, and ESXi release; not the same memory, VMs, cluster, datastores or networks.
    """
    return problem.derive_fact(_families)[moid]


def _families(problem: Problem) -> dict[str, int]:
    numbers: dict[Hashable, int] = {}
    return {
        host.moid: numbers.setdefault(_hardware(problem, host), len(numbers))
        for host in problem.inventory.hosts
        if host.moid in problem.topologies
    }


def _hardware(problem: Problem, host: Host) -> Hashable:
    return (
        id(problem.topologies[host.moid]),
        # Hosts whose cards are alike share the tuple.
        id(devices_of_host(problem, host.moid)),
        host.version,
        host.cpu_hz,
        host.core_count,
        host.thread_count,
        host.hyperthreading_active,
        tuple((node.id, node.package, node.core_count) for node in host.numa_nodes),
        host.vgpu_profiles,
        host.vgpu_types,
        host.device_groups,
    )
