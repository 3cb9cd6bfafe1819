"""What is odd about a host's memory and nodes, as findings."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from vplacer.inventory.finding import Certainty, Finding
from vplacer.inventory.host import ConnectionState, Host

_NO_TIERING: Final = "noTiering"


def host_findings(host: Host) -> tuple[Finding, ...]:
    """Return findings of one host, in a stable order."""
    return (*_memory(host), *_nodes(host))


def _memory(host: Host) -> Iterable[Finding]:
    """Tiered memory is not all DRAM (vSphere API: HostHardwareInfo.memoryTieringType, memoryTierInfo)."""
    if host.memory_tiering not in (None, _NO_TIERING):
        text = (
            f"its memory is tiered ({host.memory_tiering}): part of it is slower than DRAM, and how much of "
            "which NUMA node is not told; the nodes are counted with all their memory"
        )
        yield Finding("memory-tiered", text, Certainty.PROVED, host.moid)


def _nodes(host: Host) -> Iterable[Finding]:
    """Nodes that list no device at all: nested hosts and releases before 7.0 update 1."""
    if host.connection is not ConnectionState.CONNECTED or not host.numa_nodes or not host.pci_devices:
        return
    if not any(node.devices for node in host.numa_nodes):
        text = "no NUMA node lists a device: where its devices are is unknown until an overlay tells it"
        yield Finding("locality-not-told", text, Certainty.PROVED, host.moid)
