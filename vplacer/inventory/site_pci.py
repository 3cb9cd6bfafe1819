"""Turns the device lines of a host kind into a PCI tree: root ports, switches, cards, virtual functions.

Addresses are given out as firmware does it: each NUMA node owns an equal part of the 256 buses, each root
bus starts at the next free bus of its node's part, and bridges are numbered depth first.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Final

from vplacer.inventory.host import Passthrough, PciDevice, Sriov
from vplacer.inventory.pci import PciAddress, PciIds
from vplacer.inventory.site_card_lines import Card, expand_lines
from vplacer.inventory.yaml_marks import Document, Pointer

_CLASS_NAMES: Final = {
    0x0108: "Non-Volatile memory controller",
    0x0200: "Ethernet controller",
    0x0207: "Infiniband controller",
    0x0300: "VGA compatible controller",
    0x0302: "3D controller",
    0x0380: "Display controller",
    0x0604: "PCI bridge",
    0x0680: "Bridge",
    0x1200: "Processing accelerators",
}
_ROOT_PORTS: Final = {
    "intel": (PciIds(0x8086, 0x2030), "Intel Corporation", "Sky Lake-E PCI Express Root Port A"),
    "amd": (PciIds(0x1022, 0x1483), "Advanced Micro Devices, Inc. [AMD]", "Starship/Matisse GPP Bridge"),
}
_SWITCH: Final = (PciIds(0x1000, 0xC030), "Broadcom / LSI", "PEX890xx PCIe Gen 5 Switch")
_NO_PASSTHROUGH: Final = Passthrough(capable=False, enabled=False, active=False)


@dataclass(frozen=True)
class PciTree:
    """The PCI devices of a host kind, and its cards in the order of the file."""

    devices: tuple[PciDevice, ...]
    cards: tuple[Card, ...]
    node_devices: dict[int, tuple[PciAddress, ...]]

    def card(self, name: str) -> Card | None:
        """Return the card of a name."""
        return next((card for card in self.cards if card.name == name), None)


def build_tree(
    document: Document,
    pointer: Pointer,
    raw: list[dict[str, Any]],
    *,
    nodes: int,
    cpu_vendor: str,
    vgpu: bool,
) -> PciTree:
    """Build the PCI tree of a host kind.

    Args:
        document: the file, for errors.
        pointer: where the list of devices stands in it.
        raw: the validated device lines.
        nodes: number of NUMA nodes.
        cpu_vendor: "intel" or "amd": which root ports to show.
        vgpu: whether the host carries the vGPU driver (its GPUs are then not passed through).

    Raises:
        FileFormatError: unknown model, node or name, a switch on two nodes, an address taken twice.
    """
    cards = expand_lines(document, pointer, raw, nodes)
    return _TreeBuilder(document, cards, nodes, cpu_vendor, vgpu).build()


@dataclass
class _Bridge:
    """A switch while the tree is built."""

    children: dict[str, _Bridge] = field(default_factory=dict)
    slots: dict[str, list[Card]] = field(default_factory=dict)


@dataclass
class _Top:
    """What hangs on one root port: a switch, or the cards of one slot. ``root`` None = not named.

    ``told`` = the node its cards say; None where vCenter lists none of them under a node.
    """

    name: str
    segment: int
    told: int | None
    pointer: Pointer
    root: str | None = None
    bridge: _Bridge | None = None
    cards: list[Card] = field(default_factory=list)
    overlay_node: int = 0

    @property
    def node(self) -> int:
        """The node whose buses it takes."""
        return self.overlay_node if self.told is None else self.told


class _TreeBuilder:
    def __init__(
        self, document: Document, cards: list[Card], nodes: int, cpu_vendor: str, vgpu: bool
    ) -> None:
        self.document = document
        self.cards = cards
        self.nodes = nodes
        self.cpu_vendor = cpu_vendor
        self.vgpu = vgpu
        self.devices: dict[PciAddress, PciDevice] = {}
        self.next_bus: dict[tuple[int, int], int] = {}
        self.fixed = {card.given_address.bus_key for card in cards if card.given_address}
        self.node_devices: dict[int, list[PciAddress]] = {}

    def build(self) -> PciTree:
        self._onboard()
        roots: dict[tuple[str, int], list[_Top]] = {}
        for top in self._tops():
            root = f"root {top.root}" if top.root is not None else top.name
            roots.setdefault((root, top.segment), []).append(top)
        for tops in roots.values():
            self._root(tops)
        self._finish_cards()
        ordered = tuple(self.devices[address] for address in sorted(self.devices))
        listed = {node: tuple(sorted(found)) for node, found in sorted(self.node_devices.items())}
        return PciTree(ordered, tuple(self.cards), listed)

    def _onboard(self) -> None:
        """The management controller's VGA: every server has one, and it is no GPU."""
        port = PciAddress(0, 0, 0x1C, 0)
        bridge = PciAddress(0, 1, 0, 0)
        vga = PciAddress(0, 2, 0, 0)
        self._put(port, *_ROOT_PORTS[self.cpu_vendor], 0x0604, None)
        self._put(
            bridge,
            PciIds(0x1A03, 0x1150),
            "ASPEED Technology, Inc.",
            "AST1150 PCI-to-PCI Bridge",
            0x0604,
            port,
        )
        ids = PciIds(0x1A03, 0x2000)
        self._put(vga, ids, "ASPEED Technology, Inc.", "ASPEED Graphics Family", 0x0300, bridge)
        self.node_devices.setdefault(0, []).append(vga)
        self.next_bus[(0, 0)] = 3

    def _tops(self) -> list[_Top]:
        """Group the cards by what hangs on a root port, in the order of the file."""
        tops: dict[str, _Top] = {}
        for card in self.cards:
            name = f"switch '{card.path[0]}'" if card.path else f"slot {card.slot}"
            top = tops.get(name)
            if top is None:
                top = tops[name] = self._new_top(card, name)
            else:
                self._same_place(card, top)
            if top.bridge is None:
                top.cards.append(card)
                continue
            bridge = top.bridge
            for part in card.path[1:]:
                bridge = bridge.children.setdefault(part, _Bridge())
            bridge.slots.setdefault(card.slot, []).append(card)
        return list(tops.values())

    def _new_top(self, card: Card, name: str) -> _Top:
        segment = self._segment(card)
        bridge = _Bridge() if card.path else None
        told = (card.raw.get(key) for key in ("overlay_node", "esxcli_node"))
        real_node = next((int(node) for node in told if node not in (None, "unknown")), 0)
        return _Top(name, segment or 0, card.node, card.pointer, card.raw.get("root"), bridge, [], real_node)

    def _segment(self, card: Card) -> int | None:
        """Return the segment a card says, in its address or apart; None = it says none."""
        given = card.given_address
        if given is not None:
            return given.segment
        return int(card.raw["segment"]) if "segment" in card.raw else None

    def _same_place(self, card: Card, top: _Top) -> None:
        segment, root = self._segment(card), card.raw.get("root")
        if segment is not None and segment != top.segment:
            raise self.document.error(card.pointer, f"{top.name} is already in segment {top.segment:04x}")
        if None not in (card.node, top.told) and card.node != top.told:
            raise self.document.error(
                (*card.pointer, "node"), f"{top.name} already hangs on node {top.told}, not {card.node}"
            )
        top.told = card.node if top.told is None else top.told
        if root is not None and top.root is not None and root != top.root:
            raise self.document.error(
                (*card.pointer, "root"), f"{top.name} is already on root bus {top.root}"
            )
        top.root = top.root if root is None else root

    def _root(self, tops: list[_Top]) -> None:
        first = tops[0]
        for top in tops[1:]:
            if top.node != first.node:
                raise self.document.error(
                    (*top.pointer, "root"), f"root bus '{top.root}' already hangs on node {first.node}"
                )
        root_bus = self._take_bus(first)
        for index, top in enumerate(tops):
            if index >= 31:
                raise self.document.error((*top.pointer, "root"), "a root bus has at most 31 root ports")
            port = PciAddress(first.segment, root_bus, index + 1, 0)
            self._put(port, *_ROOT_PORTS[self.cpu_vendor], 0x0604, None)
            if top.bridge is not None:
                self._switch(top, top.bridge, port)
            else:
                self._place(top, top.cards, port)

    def _switch(self, top: _Top, bridge: _Bridge, above: PciAddress) -> None:
        upstream = PciAddress(top.segment, self._take_bus(top), 0, 0)
        self._put(upstream, *_SWITCH, 0x0604, above)
        inner = self._take_bus(top)
        slot = 0
        for cards in bridge.slots.values():
            port = self._switch_port(top, inner, slot, upstream)
            self._place(top, cards, port)
            slot += 1
        for child in bridge.children.values():
            port = self._switch_port(top, inner, slot, upstream)
            self._switch(top, child, port)
            slot += 1

    def _switch_port(self, top: _Top, bus: int, slot: int, upstream: PciAddress) -> PciAddress:
        if slot > 0x1F:
            raise self.document.error(top.pointer, "a switch has at most 32 ports")
        port = PciAddress(top.segment, bus, slot, 0)
        self._put(port, *_SWITCH, 0x0604, upstream)
        return port

    def _place(self, top: _Top, cards: list[Card], parent: PciAddress) -> None:
        bus = None
        for card in cards:
            card.parent = parent
            card.address = card.given_address
            if card.address is None:
                bus = self._take_bus(top) if bus is None else bus
                card.address = PciAddress(top.segment, bus, 0, card.function)

    def _take_bus(self, top: _Top) -> int:
        """Return the next free bus of the node's part of the segment."""
        key = (top.segment, top.node)
        bus = self.next_bus.get(key, top.node * 256 // self.nodes)
        while (top.segment, bus) in self.fixed:
            bus += 1
        if bus >= (top.node + 1) * 256 // self.nodes:
            raise self.document.error(
                top.pointer,
                f"no PCI bus is left for node {top.node} in segment {top.segment:04x}",
                hint="give some of its devices another segment",
            )
        self.next_bus[key] = bus + 1
        return bus

    def _finish_cards(self) -> None:
        names = {card.name: card for card in self.cards}
        for card in self.cards:
            address = card.placed
            if address in self.devices:
                raise self.document.error(
                    (*card.pointer, "address"), f"{address} is already taken on this host"
                )
            passthrough = self._passthrough(card, names)
            self._put(
                address,
                card.what.ids,
                card.what.vendor_name,
                card.what.device_name,
                card.what.class_id,
                card.parent,
                passthrough=passthrough,
                sriov=_sriov(card),
                slot=card.raw.get("slot"),
            )
            functions = [address, *self._virtual_functions(card)]
            if card.node is not None:
                self.node_devices.setdefault(card.node, []).extend(functions)

    def _passthrough(self, card: Card, names: dict[str, Card]) -> Passthrough:
        default = "active" if card.kind == "gpu" and not self.vgpu else "capable"
        state = str(card.raw.get("passthrough", default))
        dependent = self._dependent(card, names)
        label = card.raw.get("label")
        if label is not None:
            if "{node}" in label and card.node is None:
                raise self.document.error((*card.pointer, "label"), "the node of this device is unknown")
            label = str(label).replace("{node}", str(card.node))
        return Passthrough(
            capable=state != "none",
            enabled=state in ("active", "enabled"),
            active=state == "active",
            label=label,
            dependent=dependent if state != "none" else None,
        )

    def _dependent(self, card: Card, names: dict[str, Card]) -> PciAddress | None:
        """Return what leaves the vmkernel with the card: itself, another card, or the bridge above."""
        name = card.raw.get("dependent")
        if name is None:
            return card.placed
        if name == "parent":
            return card.parent
        other = names.get(str(name))
        if other is None:
            raise self.document.error((*card.pointer, "dependent"), f"no device is called '{name}'")
        return other.placed

    def _virtual_functions(self, card: Card) -> list[PciAddress]:
        """Show a NIC's virtual functions as vSphere does: devices of their own, after the physical one."""
        count = int(card.raw.get("vfs", 0))
        if not count:
            return []
        nic = card.nic
        most = nic.vf_max or 0 if nic else 0
        if nic is None or nic.vf_device is None or count > most:
            raise self.document.error((*card.pointer, "vfs"), f"this device has at most {most}")
        physical = card.placed
        found = []
        # Port after port, behind the last port: as firmware numbers functions with offset and stride.
        ports = int(card.raw.get("ports", 1))
        first = physical.device * 8 + physical.function - card.function + ports + card.function * count
        for function in range(first, first + count):
            address = PciAddress(physical.segment, physical.bus, function // 8, function % 8)
            if address in self.devices:
                raise self.document.error((*card.pointer, "vfs"), f"{address} is already taken")
            ids = PciIds(nic.vendor, nic.vf_device)
            name = f"{nic.device_name} Virtual Function"
            passthrough = Passthrough(capable=True, enabled=True, active=True, dependent=address)
            self._put(address, ids, nic.vendor_name, name, nic.class_id, card.parent, passthrough=passthrough)
            found.append(address)
        return found

    def _put(
        self,
        address: PciAddress,
        ids: PciIds,
        vendor_name: str,
        device_name: str,
        class_id: int,
        parent: PciAddress | None,
        *,
        passthrough: Passthrough = _NO_PASSTHROUGH,
        sriov: Sriov | None = None,
        slot: int | None = None,
    ) -> None:
        if address in self.devices:
            raise self.document.error((), f"{address} is taken twice on one host")
        self.devices[address] = PciDevice(
            address=address,
            # The API always gives subsystem ids.
            ids=ids if ids.sub_vendor is not None else PciIds(ids.vendor, ids.device, ids.vendor, ids.device),
            class_id=class_id,
            vendor_name=vendor_name,
            device_name=device_name,
            parent_bridge=parent,
            class_name=_CLASS_NAMES.get(class_id),
            physical_slot=slot,
            passthrough=passthrough,
            sriov=sriov,
        )


def _sriov(card: Card) -> Sriov | None:
    if card.nic is None:
        return None
    present = int(card.raw.get("vfs", 0))
    return Sriov(
        capable=card.nic.vf_device is not None,
        enabled=present > 0,
        active=present > 0,
        vf_requested=present,
        vf_present=present,
        vf_max=card.nic.vf_max or 0,
    )
