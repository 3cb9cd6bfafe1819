"""Hardware labels of a cluster's devices, and whether a label carries a NUMA node with it.

A label fixes which device a VM gets; ``numa.nodeAffinity`` fixes the node of its CPU and memory, by a
number that means other hardware on another host. So a label is *portable* only if on every host of the
cluster its devices sit on the same node number.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from vplacer.inventory.device_kind import DeviceKind
from vplacer.inventory.host import Host
from vplacer.inventory.nic_models import nic_by_ids
from vplacer.inventory.pci import PciIds
from vplacer.inventory.vcenter import Inventory
from vplacer.topology.host_topology import HostTopology


@dataclass(frozen=True, slots=True)
class LabelledDevice:
    """A GPU or NIC with a label. ``node``: the node with cores nearest to it, None = unknown.

    ``model`` None = not known; ``ids`` as vendor:device.
    """

    host: str
    label: str
    kind: DeviceKind
    model: str | None
    ids: str
    node: int | None


def labelled_devices(
    inventory: Inventory, topologies: Mapping[str, HostTopology], cluster: str
) -> tuple[LabelledDevice, ...]:
    """Return the labelled GPUs and NICs of a cluster (moid), hosts and addresses in order."""
    return tuple(
        device
        for host in inventory.hosts
        if host.cluster == cluster and host.moid in topologies
        for device in labelled_on_host(host, topologies[host.moid])
    )


def labelled_on_host(host: Host, topology: HostTopology) -> tuple[LabelledDevice, ...]:
    """Return the labelled GPUs and NICs of a host, addresses in order."""
    found = []
    for device in host.pci_devices:
        label = device.passthrough.label if device.passthrough is not None else None
        placed = topology.device(device.address)
        if label and placed is not None:
            node = topology.cpu_node_for(device.address)
            model = placed.model if placed.kind is DeviceKind.GPU else nic_name(device.ids)
            found.append(LabelledDevice(host.moid, label, placed.kind, model, str(device.ids), node))
    return tuple(found)


def nic_name(ids: PciIds) -> str | None:
    """Return the model name of a NIC, None where the model is not known."""
    model = nic_by_ids(ids)
    return None if model is None else model.name


def portable_nodes(devices: tuple[LabelledDevice, ...]) -> dict[str, int]:
    """Return node by label for the portable labels among the devices of one cluster."""
    nodes: dict[str, set[int | None]] = {}
    for device in devices:
        nodes.setdefault(device.label, set()).add(device.node)
    portable: dict[str, int] = {}
    for label, seen in nodes.items():
        node = next(iter(seen))
        if len(seen) == 1 and node is not None:
            portable[label] = node
    return portable
