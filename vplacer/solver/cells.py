"""Cards of a host grouped into cells: cards that no request can tell apart.

Two cards are in one cell when they agree in everything a request or an objective looks at: kind,
model, label, state, node, switch, root port and NVLink group. Options then count cards per cell, and
any assignment of the counted cards is as good as any other.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable
from dataclasses import dataclass
from functools import lru_cache

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


@lru_cache(maxsize=8192)
def build_cells(cards: tuple[AssignableDevice, ...], topology: HostTopology) -> tuple[Cell, ...]:
    """Group cards into cells, ordered by their lowest address. vGPU cards are cells of their own.

    Hosts that are left with the same cards share the tuple.
    """
    found: dict[Hashable, list[AssignableDevice]] = defaultdict(list)
    for card in cards:
        found[kind_of_card(card, topology)].append(card)
    ordered = sorted(found.values(), key=lambda group: min(card.address for card in group))
    cells = []
    for index, group in enumerate(ordered):
        cells.append(Cell(index, group[0], tuple(sorted(card.address for card in group))))
    return tuple(cells)


@lru_cache(maxsize=8192)
def structure_of(cells: tuple[Cell, ...], topology: HostTopology) -> Hashable:
    """Return what is the same for cells of the same kinds and sizes, whichever of equal cards they have.

    Cards whose NUMA node is not known are named where they are in the way, so they are told apart.
    """
    found = []
    for cell in cells:
        placed = topology.device(cell.addresses[0])
        lost = placed is None or not placed.cpu_nodes
        found.append((kind_of_card(cell.card, topology), cell.addresses if lost else cell.size))
    return tuple(found)


@lru_cache(maxsize=65_536)
def kind_of_card(card: AssignableDevice, topology: HostTopology) -> Hashable:
    """All in which cards of one cell agree."""
    place = topology.device(card.address)
    owners = [n for n, group in enumerate(topology.ownership_groups) if card.address in group]
    return (
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
        _nvlink_group(card, topology),
        tuple(owners[-1:]),
        card.address if card.vgpu else None,
    )


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


def _nvlink_group(card: AssignableDevice, topology: HostTopology) -> Hashable:
    """Name the NVLink group of a GPU that is in exactly one, or in none for sure.

    A GPU in several overlapping groups, or with a link nobody has told of, stands for itself.
    """
    if card.kind != "gpu":
        return "nic"
    member = [n for n, group in enumerate(topology.nvlink_groups) if card.address in group]
    others = [other.address for other in topology.gpus if other.address != card.address]
    if any(topology.relation(card.address, other).nvlink_open for other in others):
        # Unknown links are equally unknown for all such cards of the host.
        return card.address if member else "unknown"
    if not member:
        return "none"
    if len(member) == 1 and _uniform(topology.nvlink_groups[member[0]], topology):
        return member[0]
    return card.address


def _uniform(group: tuple[PciAddress, ...], topology: HostTopology) -> bool:
    lanes = {topology.relation(a, b).nvlink for i, a in enumerate(group) for b in group[i + 1 :]}
    return len(lanes) == 1
