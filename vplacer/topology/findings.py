"""Sentences about a host's topology: what it rests on, and where the host contradicts itself."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

from vplacer.inventory.device_kind import DeviceKind
from vplacer.topology.boards import Board
from vplacer.topology.locality import Packages, on_two_nodes
from vplacer.topology.pci_tree import Bus, PciTree
from vplacer.topology.values import DeviceTopology, GroupOffer


def assumptions(
    devices: Sequence[DeviceTopology], tree: PciTree, board: Board | None, packages: Packages
) -> tuple[str, ...]:
    """List the inferences that relations between these devices rest on."""
    found: list[str] = []
    by_bus: dict[Bus, list[DeviceTopology]] = {}
    for device in devices:
        bus = tree.chain(device.address).root_bus
        if bus is not None:
            by_bus.setdefault(bus, []).append(device)
    for (segment, number), below in sorted(by_bus.items()):
        tops = sorted({str(device.root or device.address) for device in below})
        if len(tops) > 1 and any(_taken_as_one(a, b) for a, b in combinations(below, 2)):
            found.append(
                f"PHB: {', '.join(tops)} lie on root bus {segment:04x}:{number:02x} "
                "and are taken to belong to one host bridge, unless on different nodes"
            )
    if board is not None:
        found.append(
            f"NVLink: the {board.gpu_count} GPUs are taken to be a {board.name} board with all links up "
            f"({board.source}){_no_switch(devices, board)}; an overlay from nvidia-smi would prove it"
        )
    found += _nodes_without_cores(devices, packages)
    return tuple(found)


def _no_switch(devices: Sequence[DeviceTopology], board: Board) -> str:
    """Say that the switches of a board are not seen, where hosts list them as devices."""
    if not board.switches_listed or any(device.kind is DeviceKind.NVSWITCH for device in devices):
        return ""
    return ", though the host lists no NVSwitch: two smaller boards would look alike"


def _taken_as_one(a: DeviceTopology, b: DeviceTopology) -> bool:
    """Whether two devices of one root bus are below different ports and not known to be on two nodes."""
    if (a.root or a.address) == (b.root or b.address):
        return False
    return not on_two_nodes(a, b)


def _nodes_without_cores(devices: Sequence[DeviceTopology], packages: Packages) -> list[str]:
    found = []
    for node in sorted({d.node for d in devices if d.node is not None} - set(packages.with_cores)):
        near = sorted({other for d in devices if d.node == node for other in d.cpu_nodes})
        if near:
            names = ", ".join(f"pNUMA {other}" for other in near)
            found.append(f"pNUMA {node} has no cores: {names} is taken as nearest to its devices")
        else:
            found.append(f"pNUMA {node} has no cores, and which node with cores is nearest is not known")
    return found


def contradictions(devices: Sequence[DeviceTopology]) -> tuple[str, ...]:
    """Name root ports whose devices are said to be on different nodes: they cannot be."""
    by_root: dict[str, list[DeviceTopology]] = {}
    for device in devices:
        if device.root is not None and device.node is not None:
            by_root.setdefault(str(device.root), []).append(device)
    found = []
    for root, below in sorted(by_root.items()):
        nodes = sorted({device.node for device in below if device.node is not None})
        if len(nodes) > 1:
            told = ", ".join(f"{device.address} on pNUMA {device.node}" for device in below)
            found.append(f"devices below one root port ({root}) are listed on different nodes: {told}")
    return tuple(found)


def groups_without_cards(offers: Sequence[GroupOffer]) -> tuple[str, ...]:
    """Name device groups that the vendor's driver offers and that, by all that is known, no cards can form.

    A bridge that is said to be there and that the host does not see (NVIDIA/k8s-device-plugin #436).
    """
    return tuple(
        f"device group {offer.name} is offered, and no cards can form it: {offer.why}"
        for offer in offers
        if offer.sets == ()
    )
