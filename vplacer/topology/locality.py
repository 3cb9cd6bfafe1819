"""NUMA locality of devices: from vCenter's node lists, completed by overlays, never guessed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from vplacer.inventory.host import NumaNode
from vplacer.inventory.pci import PciAddress
from vplacer.topology.levels import NumaRelation
from vplacer.topology.values import DeviceTopology, LocalitySource


@dataclass(frozen=True, slots=True)
class Locality:
    """Where a device sits. Fields as in `DeviceTopology`; the default is "nothing known"."""

    node: int | None = None
    package: int | None = None
    cpu_nodes: tuple[int, ...] = ()
    source: LocalitySource = LocalitySource.UNKNOWN


def on_two_nodes(a: Locality | DeviceTopology, b: Locality | DeviceTopology) -> bool:
    """Whether two devices are known to be on different nodes, told or nearest with cores."""
    if a.node is None or b.node is None or a.node == b.node:
        return False
    one, other = a.cpu_nodes or (a.node,), b.cpu_nodes or (b.node,)
    return set(one).isdisjoint(other)


class Packages:
    """Which package (socket) each pNUMA node is on, and how nodes lie to each other."""

    def __init__(self, nodes: Sequence[NumaNode], package_count: int | None) -> None:
        only = 0 if package_count == 1 else None
        self.by_node: Mapping[int, int | None] = {
            node.id: node.package if node.package is not None else only for node in nodes
        }
        self.with_cores: tuple[int, ...] = tuple(sorted(node.id for node in nodes if node.core_count > 0))

    def relation(self, a: int, b: int) -> NumaRelation:
        """Return how two nodes lie to each other; UNKNOWN for a node or package that is not told."""
        if a not in self.by_node or b not in self.by_node:
            return NumaRelation.UNKNOWN
        if a == b:
            return NumaRelation.SAME_NODE
        return _by_package(self.by_node[a], self.by_node[b])

    def device_relation(self, a: Locality, b: Locality) -> NumaRelation:
        """Return how two devices lie to each other.

        A device on a node without cores counts as on the node with cores nearest to it: that is where
        vCPUs that use it can run, and what nvidia-smi reports as its NUMA affinity.
        """
        if a.node is None or b.node is None:
            return NumaRelation.UNKNOWN
        if a.node == b.node:
            return NumaRelation.SAME_NODE
        if len(a.cpu_nodes) == 1 and len(b.cpu_nodes) == 1:
            return self.relation(a.cpu_nodes[0], b.cpu_nodes[0])
        return _by_package(a.package, b.package)

    def nearest_with_cores(self, node: int, told: int | None) -> tuple[int, ...]:
        """Return the nodes with cores nearest to a node.

        Itself; else the one an overlay told (``told``); else those of its package; else the only one
        there is; else none, which means unknown.
        """
        if node in self.with_cores:
            return (node,)
        if told is not None and told in self.with_cores:
            return (told,)
        package = self.by_node.get(node)
        if package is not None:
            same = tuple(other for other in self.with_cores if self.by_node[other] == package)
            if same:
                return same
        return self.with_cores if len(self.with_cores) == 1 else ()


def _by_package(a: int | None, b: int | None) -> NumaRelation:
    """Relate two different nodes by their packages."""
    if a is None or b is None:
        return NumaRelation.UNKNOWN
    return NumaRelation.SAME_SOCKET if a == b else NumaRelation.OTHER_SOCKET


def localities(
    nodes: Sequence[NumaNode],
    packages: Packages,
    told: Mapping[PciAddress, int],
) -> tuple[dict[PciAddress, Locality], list[str]]:
    """Return the locality of every device that somebody tells of, and the contradictions met.

    vCenter's word stands; an overlay (``told``) fills what vCenter leaves out, or names the CPU node
    of a device that vCenter lists on a node without cores.
    """
    contradictions: list[str] = []
    nodes_of: dict[PciAddress, list[int]] = {}
    for node in nodes:
        for address in node.devices:
            nodes_of.setdefault(address, []).append(node.id)
    listed: dict[PciAddress, int] = {}
    for address, ids in sorted(nodes_of.items()):
        if len(set(ids)) == 1:
            listed[address] = ids[0]
        else:
            several = " and ".join(f"pNUMA {node_id}" for node_id in sorted(set(ids)))
            contradictions.append(f"vCenter lists {address} on {several}: taken as unknown")
    found: dict[PciAddress, Locality] = {}
    for address in sorted({*listed, *told}):
        known, overlay_node = listed.get(address), told.get(address)
        node_id = known if known is not None else overlay_node
        assert node_id is not None
        source = LocalitySource.OVERLAY if known is None else LocalitySource.VCENTER
        cpu_nodes = packages.nearest_with_cores(node_id, overlay_node)
        if known is not None and overlay_node not in (None, known) and known in packages.with_cores:
            contradictions.append(
                f"{address}: an overlay says pNUMA {overlay_node}; vCenter says pNUMA {known}, which is used"
            )
        found[address] = Locality(node_id, _package_of(node_id, cpu_nodes, packages), cpu_nodes, source)
    return found, contradictions


def _package_of(node: int, cpu_nodes: tuple[int, ...], packages: Packages) -> int | None:
    own = packages.by_node.get(node)
    if own is not None:
        return own
    near = {packages.by_node[other] for other in cpu_nodes}
    return near.pop() if len(near) == 1 else None
