"""One host, ready to be shown: what every format is made from."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from vplacer.inventory.cluster import Cluster
from vplacer.inventory.finding import Finding
from vplacer.inventory.host import Host
from vplacer.inventory.vm import Vm
from vplacer.topology.describe import HostDescription, describe_host
from vplacer.topology.host_topology import HostTopology
from vplacer.topology.measured import HostMeasurement

if TYPE_CHECKING:
    from vplacer.topology.graph import Graph


@dataclass(frozen=True, slots=True)
class HostView:
    """A host, its topology, the VMs registered on it, and all that told in flat data."""

    host: Host
    topology: HostTopology
    vms: tuple[Vm, ...]
    description: HostDescription

    @property
    def graph(self) -> Graph:
        """The host as a graph; built anew at each call."""
        from vplacer.topology.graph import host_graph

        return host_graph(self.host, self.topology, self.vms)


def view_host(
    host: Host,
    topology: HostTopology,
    vms: tuple[Vm, ...] = (),
    cluster: Cluster | None = None,
    measured: HostMeasurement | None = None,
    everywhere: Mapping[str, Vm] | None = None,
    more_findings: Iterable[Finding] = (),
) -> HostView:
    """Return the view of a host; the arguments are those of `vplacer.topology.describe.describe_host`."""
    description = describe_host(host, topology, vms, cluster, measured, everywhere, more_findings)
    return HostView(host, topology, vms, description)
