"""vNUMA arithmetic: cores per socket, cores per vNUMA node, and the vNUMA node of a device.

Rules: virtualNuma needs hardware version 20; vCPUs divide evenly by nodes; coresPerNumaNode is a multiple
or a divisor of the cores per socket, else power-on fails; cores per socket must then be explicit
(vmware-tanzu/vm-operator; vSphere API: VirtualNuma).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from vplacer.inventory.host import Host
from vplacer.inventory.limits_table import FIRST_WITH_VNUMA, table_limit

DEFAULT_MAX_CORES_PER_SOCKET: Final = 64
"""Up to hardware version 19 (VMware: hardware features by compatibility setting)."""

FEWEST_CPUS_WITH_VNUMA: Final = 9
"""Default of numa.vcpu.min: a VM with fewer vCPUs is shown one node unless its vNUMA is set by hand."""


@dataclass(frozen=True, slots=True)
class VnumaShape:
    """An explicit vNUMA topology."""

    nodes: int
    cores_per_node: int
    cores_per_socket: int


def max_cores_per_socket(host: Host, hardware_version: int) -> int:
    """Return the limit from the host's descriptor, else the table's."""
    for limits in host.limits:
        if limits.version == hardware_version and limits.max_cores_per_socket is not None:
            return limits.max_cores_per_socket
    known = table_limit(host.version, hardware_version)
    if known is not None and known.max_cores_per_socket is not None:
        return known.max_cores_per_socket
    return DEFAULT_MAX_CORES_PER_SOCKET


def legal_cores_per_socket(cpus: int, limit: int) -> tuple[int, ...]:
    """Return the values that divide the vCPUs and keep the limit, largest first."""
    return tuple(cores for cores in range(min(cpus, limit), 0, -1) if cpus % cores == 0)


def vnuma_shape(cpus: int, nodes: int, current_cores_per_socket: int | None, limit: int) -> VnumaShape:
    """Return the explicit shape of so many nodes; the present cores per socket stay where they are legal.

    Sockets are what software licences count, so they change only when they must.

    Raises:
        ValueError: the vCPUs do not divide by the nodes.
    """
    if nodes < 1 or cpus % nodes:
        raise ValueError(f"{cpus} vCPUs do not divide into {nodes} vNUMA nodes")
    per_node = cpus // nodes
    legal = [c for c in legal_cores_per_socket(cpus, limit) if per_node % c == 0 or c % per_node == 0]
    if current_cores_per_socket in legal:
        return VnumaShape(nodes, per_node, current_cores_per_socket)
    return VnumaShape(nodes, per_node, max(c for c in legal if c <= per_node))


def nearest_cores_per_socket(cpus: int, current: int, limit: int) -> int:
    """Return the largest legal value not above the present one."""
    return max(cores for cores in legal_cores_per_socket(cpus, limit) if cores <= max(1, current))


def vnuma_node_of(pnode: int | None, nodes: tuple[int, ...], vnuma_nodes: int) -> int | None:
    """Return the vNUMA node that stands for a pNUMA node; None = none does, or it is not known.

    ``nodes`` are the pNUMA nodes in the order of numa.nodeAffinity; each stands for an equal block of
    vNUMA nodes, and a device is told the first of its block. With one vNUMA node there is nothing
    to tell.
    """
    if pnode is None or vnuma_nodes < 2 or pnode not in nodes or vnuma_nodes % len(nodes):
        return None
    return nodes.index(pnode) * (vnuma_nodes // len(nodes))


def can_have_vnuma(hardware_version: int | None) -> bool:
    """Whether virtualNuma and device numaNode exist in a hardware version."""
    return hardware_version is not None and hardware_version >= FIRST_WITH_VNUMA
