"""The PCIe tree of one host, from HostPciDevice.parentBridge: chains, shared bridges, switches.

``parentBridge`` holds the id of the upstream bridge. It is unset on devices of a root bus, and unset
too where a host does not tell; the two are kept apart as far as the data allow (`Chain.root_bus`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from vplacer.inventory.pci import PciAddress
from vplacer.topology.levels import PciePath

Bus = tuple[int, int]
"""Segment and bus number. A bus number alone names no bus."""

_HOST_BRIDGE = 0x0600
_PCI_BRIDGES = frozenset({0x0604, 0x0609})
_MAX_DEPTH = 256


def is_pci_bridge(class_id: int) -> bool:
    """Whether a 16-bit PCI class is that of a PCI-to-PCI bridge: root port, switch port, plain bridge.

    An NVSwitch has a bridge's base class too (0680), but no bus lies below it.
    """
    return class_id in _PCI_BRIDGES


@dataclass(frozen=True, slots=True)
class PciNode:
    """What the tree needs of one function. ``virtual`` = an SR-IOV virtual function."""

    address: PciAddress
    class_id: int
    parent: PciAddress | None
    virtual: bool = False


@dataclass(frozen=True, slots=True)
class Chain:
    """The bridges above a function, the nearest first.

    ``root_bus`` is the root bus the chain ends on; None = the host does not tell the chain to its end.
    """

    bridges: tuple[PciAddress, ...]
    root_bus: Bus | None


_UNTOLD = Chain((), None)


class PciTree:
    """Parents and children of all functions of one host; computed once, then only read."""

    def __init__(self, nodes: Iterable[PciNode]) -> None:
        self._nodes: Mapping[PciAddress, PciNode] = {node.address: node for node in nodes}
        self._root_buses = self._find_root_buses()
        self._chains = {address: self._climb(address) for address in self._nodes}
        self._switches = self._find_switches()

    def __contains__(self, address: PciAddress) -> bool:
        return address in self._nodes

    def chain(self, address: PciAddress) -> Chain:
        """Return the chain above a function; an untold one for an address the host does not list."""
        return self._chains.get(address, _UNTOLD)

    def root(self, address: PciAddress) -> PciAddress | None:
        """Return the root port above a function; None = it has none (root bus), or it is not told."""
        chain = self.chain(address)
        return chain.bridges[-1] if chain.bridges and chain.root_bus is not None else None

    def switch(self, address: PciAddress) -> PciAddress | None:
        """Return the upstream port of the nearest switch above a function; None = no switch is known."""
        above = self.switches(address)
        return above[0] if above else None

    def switches(self, address: PciAddress) -> tuple[PciAddress, ...]:
        """Return the upstream ports of all switches above a function, the nearest first."""
        return tuple(bridge for bridge in self.chain(address).bridges if bridge in self._switches)

    def path(self, a: PciAddress, b: PciAddress) -> PciePath:
        """Return the PCIe way between two functions of the host."""
        if a == b:
            return PciePath.SELF
        if (a.segment, a.bus, a.device) == (b.segment, b.bus, b.device):
            return PciePath.PIX
        one, other = self.chain(a), self.chain(b)
        above_a, above_b = (a, *one.bridges), (b, *other.bridges)
        height = {bridge: index for index, bridge in enumerate(above_b)}
        for index, bridge in enumerate(above_a):
            if bridge in height:
                # Bridges strictly between the shared one and each function.
                between = max(index, height[bridge]) - 1
                return PciePath.PIX if between <= 1 else PciePath.PXB
        if a.segment != b.segment:
            return PciePath.NONE
        if one.root_bus is None or other.root_bus is None:
            return PciePath.UNKNOWN
        return PciePath.PHB if one.root_bus == other.root_bus else PciePath.NONE

    def below(self, bridge: PciAddress) -> tuple[PciAddress, ...]:
        """Return all functions below a bridge, in address order."""
        return tuple(sorted(a for a, chain in self._chains.items() if bridge in chain.bridges))

    def _find_root_buses(self) -> frozenset[Bus]:
        """Buses that carry a host bridge or a bridge without parent.

        Where no function at all names a parent, the host does not tell its tree, and none is assumed.
        """
        if all(node.parent is None for node in self._nodes.values()):
            return frozenset()
        return frozenset(
            address.bus_key
            for address, node in self._nodes.items()
            if node.parent is None and (node.class_id == _HOST_BRIDGE or is_pci_bridge(node.class_id))
        )

    def _climb(self, address: PciAddress) -> Chain:
        bridges: list[PciAddress] = []
        top = address
        while (node := self._nodes.get(top)) is not None and node.parent is not None:
            if node.parent in bridges or node.parent == address or len(bridges) >= _MAX_DEPTH:
                return Chain((), None)  # a loop: nothing in such a chain can be believed
            bridges.append(node.parent)
            top = node.parent
        told = top in self._nodes and top.bus_key in self._root_buses
        return Chain(tuple(bridges), top.bus_key if told else None)

    def _find_switches(self) -> frozenset[PciAddress]:
        """Bridges that are a switch's upstream port.

        A root port or a downstream port has one link, so all below it sits on one bus. A bridge with
        several bridges, or endpoints on several buses, directly below it is a switch's upstream port;
        so is one between a root port and a bridge, if only one of its downstream ports is listed.
        Virtual functions do not count: they may spill over to the next bus number.
        """
        child_bridges: dict[PciAddress, set[tuple[int, int, int]]] = {}
        child_buses: dict[PciAddress, set[Bus]] = {}
        for address, node in self._nodes.items():
            if node.parent is None or node.virtual:
                continue
            child_buses.setdefault(node.parent, set()).add(address.bus_key)
            if is_pci_bridge(node.class_id):
                place = (address.segment, address.bus, address.device)
                child_bridges.setdefault(node.parent, set()).add(place)
        found = {bridge for bridge, buses in child_buses.items() if len(buses) > 1}
        for bridge, places in child_bridges.items():
            bridge_node = self._nodes.get(bridge)
            has_parent = bridge_node is not None and bridge_node.parent is not None
            if len(places) > 1 or has_parent:
                found.add(bridge)
        # Below an upstream port are its downstream ports alone, whatever hangs on those.
        upstream: set[PciAddress] = set()
        for bridge in sorted(found, key=lambda item: len(self.chain(item).bridges)):
            above = self._nodes[bridge].parent if bridge in self._nodes else None
            if above not in upstream:
                upstream.add(bridge)
        return frozenset(upstream)
