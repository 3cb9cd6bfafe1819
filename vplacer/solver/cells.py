"""Cards of a host grouped into cells: cards that no request can tell apart.

Two cards are in one cell when they agree in everything a request or an objective looks at: kind,
model, label, state, node, switch, root port and NVLink group. Options then count cards per cell, and
any assignment of the counted cards is as good as any other.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

from vplacer.constraints.holdings import AssignableDevice
from vplacer.inventory.pci import PciAddress
from vplacer.topology.host_topology import HostTopology
from vplacer.topology.values import DeviceTopology


@dataclass(frozen=True, slots=True)
class Cell:
    """Interchangeable cards. ``card`` is one of them; ``addresses`` sorted."""

    index: int
    card: AssignableDevice
    addresses: tuple[PciAddress, ...]

    @property
    def size(self) -> int:
        """How many cards."""
        return len(self.addresses)

    @property
    def virtual_functions(self) -> int:
        """Free virtual functions of all its cards."""
        return self.card.sriov_free_vfs * self.size


def build_cells(cards: tuple[AssignableDevice, ...], topology: HostTopology) -> tuple[Cell, ...]:
    """Group cards into cells, ordered by their lowest address. vGPU cards are cells of their own."""
    group_of = _nvlink_group(cards, topology)
    owner_of = {a: number for number, group in enumerate(topology.ownership_groups) for a in group}
    found: dict[object, list[AssignableDevice]] = defaultdict(list)
    for card in cards:
        place = topology.device(card.address)
        key = (
            card.kind,
            card.model,
            card.ids,
            card.label,
            card.node,
            card.passthrough,
            card.vgpu,
            card.mode,
            card.framebuffer_mib,
            card.sriov_free_vfs,
            card.link_mbps,
            card.rdma,
            None if place is None else (place.switches, _root(place, topology)),
            group_of.get(card.address, card.address),
            owner_of.get(card.address),
            card.address if card.vgpu else None,
        )
        found[key].append(card)
    ordered = sorted(found.values(), key=lambda group: min(card.address for card in group))
    cells = []
    for index, group in enumerate(ordered):
        cells.append(Cell(index, group[0], tuple(sorted(card.address for card in group))))
    return tuple(cells)


def _root(place: DeviceTopology, topology: HostTopology) -> object:
    """What the root port of a card tells apart, for whoever looks at pairs of cards.

    A card without a switch that is alone on its root bus is over the CPU's interconnect to all others;
    one that is alone below its root port is over the host bridge to all others of the bus.
    """
    if place.root is None or place.switches:
        return place.root
    roots = [device.root for device in topology.devices if device.root is not None]
    if sum(1 for root in roots if root.bus_key == place.root.bus_key) == 1:
        return "own bus"
    return place.root.bus_key if roots.count(place.root) == 1 else place.root


def _nvlink_group(cards: tuple[AssignableDevice, ...], topology: HostTopology) -> dict[PciAddress, object]:
    """Name the NVLink group of each GPU that is in exactly one, or in none for sure.

    A GPU in several overlapping groups, or with a link nobody has told of, stands for itself.
    """
    groups: dict[PciAddress, list[int]] = defaultdict(list)
    for number, group in enumerate(topology.nvlink_groups):
        for address in group:
            groups[address].append(number)
    named: dict[PciAddress, object] = {}
    for card in cards:
        if card.kind != "gpu":
            named[card.address] = "nic"
            continue
        others = [other.address for other in topology.gpus if other.address != card.address]
        if any(topology.relation(card.address, other).nvlink_open for other in others):
            # Unknown links are equally unknown for all such cards of the host.
            if not groups[card.address]:
                named[card.address] = "unknown"
            continue
        member = groups[card.address]
        if not member:
            named[card.address] = "none"
        elif len(member) == 1 and _uniform(topology.nvlink_groups[member[0]], topology):
            named[card.address] = member[0]
    return named


def _uniform(group: tuple[PciAddress, ...], topology: HostTopology) -> bool:
    lanes = {topology.relation(a, b).nvlink for i, a in enumerate(group) for b in group[i + 1 :]}
    return len(lanes) == 1
