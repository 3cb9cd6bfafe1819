"""The topology of one host: nodes, devices, and how near any two of them are.

It holds what the hardware is, not who uses it, so hosts of one kind share one object
(`TopologyCache`). Build it with `build_host_topology`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

from vplacer.inventory.device_kind import DeviceKind
from vplacer.inventory.pci import PciAddress
from vplacer.topology.levels import UNKNOWN_RELATION, NumaRelation, PciePath, Relation
from vplacer.topology.locality import Locality, Packages, on_two_nodes
from vplacer.topology.pci_tree import PciTree
from vplacer.topology.values import DeviceTopology, GroupOffer, NodeTopology, NvLink


@dataclass(frozen=True, eq=False)
class HostTopology:
    """Topology of a host, and of all hosts like it; compared by identity.

    ``nodes`` by id, ``devices`` (GPUs, NICs, NVSwitches; no virtual functions) by address.
    ``links``: what is known of NVLink, a pair that is missing is unknown.
    ``nvlink_groups``: the largest sets of GPUs all joined to each other.
    ``board``: the catalogue's board the links were taken from. ``nvswitch``: its NVLinks go through
    NVSwitches, by that board or because the host has such devices.
    ``ownership_groups``: devices that cannot go to two VMs.
    ``assumptions``: inferences the values rest on; ``mismatches``: overlays or facts refused, and
    contradictions in what the host says. One sentence each, for people.
    """

    nodes: tuple[NodeTopology, ...]
    devices: tuple[DeviceTopology, ...]
    links: tuple[NvLink, ...]
    nvlink_groups: tuple[tuple[PciAddress, ...], ...]
    board: str | None
    nvswitch: bool
    device_groups: tuple[GroupOffer, ...]
    ownership_groups: tuple[tuple[PciAddress, ...], ...]
    assumptions: tuple[str, ...]
    mismatches: tuple[str, ...]
    _tree: PciTree = field(repr=False)
    _packages: Packages = field(repr=False)
    _localities: Mapping[PciAddress, Locality] = field(repr=False)
    _by_address: Mapping[PciAddress, DeviceTopology] = field(repr=False)
    _lanes: Mapping[tuple[PciAddress, PciAddress], int] = field(repr=False)
    # Answers given before: hosts of one kind share them, and planning asks for each pair many times.
    _relations: dict[tuple[PciAddress, PciAddress], Relation] = field(default_factory=dict, repr=False)

    def device(self, address: PciAddress) -> DeviceTopology | None:
        """Return the GPU, NIC or NVSwitch at an address, or None."""
        return self._by_address.get(address)

    def of_kind(self, kind: DeviceKind) -> tuple[DeviceTopology, ...]:
        """Return the devices of a kind, in address order."""
        return tuple(device for device in self.devices if device.kind is kind)

    @cached_property
    def gpus(self) -> tuple[DeviceTopology, ...]:
        """The GPUs, in address order: the order in which nvidia-smi numbers them."""
        return self.of_kind(DeviceKind.GPU)

    @cached_property
    def nics(self) -> tuple[DeviceTopology, ...]:
        """The physical NIC ports, in address order."""
        return self.of_kind(DeviceKind.NIC)

    @cached_property
    def owners(self) -> Mapping[PciAddress, PciAddress]:
        """The physical function of each virtual one."""
        return {function: device.address for device in self.devices for function in device.functions}

    def node(self, node: int) -> NodeTopology | None:
        """Return a pNUMA node, or None."""
        for item in self.nodes:
            if item.id == node:
                return item
        return None

    def cpu_node_for(self, address: PciAddress) -> int | None:
        """Return the node with cores nearest to a device, None where that is not known or not one.

        It is the device's own node, unless that has no cores (memory of a GPU as a NUMA node).
        """
        nodes = self._locality(address).cpu_nodes
        return nodes[0] if len(nodes) == 1 else None

    def lanes(self, a: PciAddress, b: PciAddress) -> int | None:
        """Return the number of NVLinks between two devices; 0 = proved none, None = unknown."""
        known = self._lanes.get((a, b) if a < b else (b, a))
        if known is not None:
            return known
        one, other = self._by_address.get(a), self._by_address.get(b)
        if one is None or other is None:
            return None
        both = {one.kind, other.kind}
        # A NIC has no NVLink; how many an NVSwitch has with each GPU nobody tells.
        return 0 if DeviceKind.NIC in both else None

    def relation(self, a: PciAddress, b: PciAddress) -> Relation:
        """Return what is known of two devices of the host; nothing, for an address it does not list."""
        pair = (a, b)
        found = self._relations.get(pair)
        if found is None:
            found = self._relations[pair] = self._relate(a, b)
        return found

    def _relate(self, a: PciAddress, b: PciAddress) -> Relation:
        if a not in self._tree or b not in self._tree:
            return UNKNOWN_RELATION
        pcie = self._tree.path(a, b)
        numa = self._numa(a, b)
        if pcie is PciePath.SELF:
            return Relation(pcie, NumaRelation.SAME_NODE, 0)
        if pcie is PciePath.PHB and on_two_nodes(self._locality(a), self._locality(b)):
            pcie = PciePath.NONE  # the inference of one host bridge is refuted
        return Relation(pcie, numa, self.lanes(a, b))

    def node_relation(self, a: int, b: int) -> NumaRelation:
        """Return how two pNUMA nodes lie to each other; UNKNOWN where a package is not told."""
        return self._packages.relation(a, b)

    def _numa(self, a: PciAddress, b: PciAddress) -> NumaRelation:
        return self._packages.device_relation(self._locality(a), self._locality(b))

    def _locality(self, address: PciAddress) -> Locality:
        return self._localities.get(address, Locality())
