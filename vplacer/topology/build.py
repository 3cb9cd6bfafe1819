"""Builds the topology of a host from what vCenter says, its overlays and the catalogue of boards."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from vplacer.inventory.device_kind import DeviceKind, device_kind, virtual_functions
from vplacer.inventory.gpu_models import gpu_by_ids
from vplacer.inventory.host import DeviceGroupType, Host, NumaNode, VgpuProfile
from vplacer.inventory.overlay import Overlay
from vplacer.inventory.pci import PciAddress, PciIds
from vplacer.inventory.vcenter import Inventory
from vplacer.topology.boards import Board, Catalogue
from vplacer.topology.findings import assumptions, contradictions, groups_without_cards
from vplacer.topology.group_offers import group_offers
from vplacer.topology.host_topology import HostTopology
from vplacer.topology.locality import Locality, Packages, localities
from vplacer.topology.nvlinks import Gpu, cliques, known_links
from vplacer.topology.overlay_facts import OverlayFacts, overlay_facts
from vplacer.topology.ownership import ownership_groups
from vplacer.topology.pci_tree import PciNode, PciTree, is_pci_bridge
from vplacer.topology.values import DeviceTopology, NodeTopology

OF_INTEREST = frozenset({DeviceKind.GPU, DeviceKind.NIC, DeviceKind.NVSWITCH})


@dataclass(frozen=True, slots=True)
class _Function:
    """What the topology needs of one PCI function. ``owner``: the physical function of a virtual one."""

    address: PciAddress
    ids: PciIds
    class_id: int
    kind: DeviceKind
    parent: PciAddress | None
    dependent: PciAddress | None
    virtual: bool
    owner: PciAddress | None


@dataclass(frozen=True, slots=True)
class _Ingredients:
    """All that a topology depends on; equal ingredients, same topology."""

    functions: tuple[_Function, ...]
    nodes: tuple[NumaNode, ...]
    package_count: int | None
    groups: tuple[DeviceGroupType, ...]
    profiles: tuple[VgpuProfile, ...]
    overlay: OverlayFacts


def build_host_topology(
    host: Host, overlays: Sequence[Overlay] = (), catalogue: Catalogue | None = None
) -> HostTopology:
    """Build the topology of a host.

    Args:
        host: what vCenter says.
        overlays: the overlays made for this host; those that no longer fit it are refused and named in
            ``mismatches``.
        catalogue: the boards whose NVLinks are known; None = those that come with vplacer.
    """
    return _build(_ingredients(host, overlays), catalogue or Catalogue())


class TopologyCache:
    """Builds topologies and gives hosts of equal hardware and overlay facts the same object."""

    def __init__(self, catalogue: Catalogue | None = None) -> None:
        self._catalogue = catalogue or Catalogue()
        self._built: dict[_Ingredients, HostTopology] = {}

    def topology(self, host: Host, overlays: Sequence[Overlay] = ()) -> HostTopology:
        """Return the topology of a host; see `build_host_topology`."""
        ingredients = _ingredients(host, overlays)
        found = self._built.get(ingredients)
        if found is None:
            found = self._built[ingredients] = _build(ingredients, self._catalogue)
        return found


def build_topologies(
    inventory: Inventory,
    overlays: Sequence[Overlay] = (),
    cache: TopologyCache | None = None,
) -> dict[str, HostTopology]:
    """Build the topology of every host of a vCenter, by managed object id.

    An overlay goes to the host of its hardware uuid; where it names none, or one that no host has, to
    the host of its name, which then refuses it if the hardware is another.
    """
    cache = cache or TopologyCache()
    known = {host.uuid.lower() for host in inventory.hosts if host.uuid}
    by_uuid: dict[str, list[Overlay]] = {}
    by_name: dict[str, list[Overlay]] = {}
    for overlay in overlays:
        if overlay.vcenter_uuid not in (None, inventory.about.instance_uuid):
            continue
        if overlay.host_uuid and overlay.host_uuid.lower() in known:
            by_uuid.setdefault(overlay.host_uuid.lower(), []).append(overlay)
        else:
            by_name.setdefault(overlay.host, []).append(overlay)
    return {
        host.moid: cache.topology(
            host, (*by_uuid.get((host.uuid or "").lower(), ()), *by_name.get(host.name, ()))
        )
        for host in inventory.hosts
    }


def _ingredients(host: Host, overlays: Sequence[Overlay]) -> _Ingredients:
    virtual = virtual_functions(host)
    functions = tuple(
        _Function(
            device.address,
            device.ids,
            device.class_id,
            device_kind(device),
            device.parent_bridge,
            None if device.passthrough is None else device.passthrough.dependent,
            device.address in virtual,
            virtual.get(device.address),
        )
        for device in host.pci_devices
    )
    return _Ingredients(
        functions,
        host.numa_nodes,
        host.package_count,
        host.device_groups,
        host.vgpu_profiles if host.device_groups else (),
        overlay_facts(host, overlays),
    )


def _build(ingredients: _Ingredients, catalogue: Catalogue) -> HostTopology:
    functions, nodes, overlay = ingredients.functions, ingredients.nodes, ingredients.overlay
    tree = PciTree(PciNode(f.address, f.class_id, f.parent, f.virtual) for f in functions)
    owners = {f.address: f.owner for f in functions if f.owner is not None}
    packages = Packages(nodes, ingredients.package_count)
    places, clashes = localities(nodes, packages, dict(overlay.nodes))
    for virtual, physical in owners.items():
        # A virtual function is part of its card; a node list that omits it says nothing else.
        if virtual not in places and physical in places:
            places[virtual] = places[physical]
    devices = _devices(functions, tree, places, owners)
    gpus = [Gpu(d.address, d.ids, gpu_by_ids(d.ids)) for d in devices if d.kind is DeviceKind.GPU]
    links, board = known_links(gpus, overlay.links, catalogue)
    groups = cliques(links)
    lanes = {(link.a, link.b): link.lanes for link in links}
    offers = group_offers(
        ingredients.groups,
        ingredients.profiles,
        {d.address: d.ids for d in devices if d.kind is DeviceKind.GPU},
        {d.address: d.ids for d in devices if d.kind is DeviceKind.NIC},
        lambda a, b: lanes.get((min(a, b), max(a, b))),
        groups,
        tree,
    )
    real = [f for f in functions if not f.virtual]
    endpoints = frozenset(f.address for f in real if not is_pci_bridge(f.class_id))
    dependents = {f.address: f.dependent for f in real if f.dependent is not None}
    return HostTopology(
        nodes=_nodes(nodes, packages, devices),
        devices=devices,
        links=links,
        nvlink_groups=groups,
        board=None if board is None else board.name,
        nvswitch=_has_nvswitch(devices, board),
        device_groups=offers,
        ownership_groups=ownership_groups(dependents, tree, endpoints),
        assumptions=assumptions(devices, tree, board, packages),
        mismatches=(*overlay.mismatches, *clashes, *contradictions(devices), *groups_without_cards(offers)),
        _tree=tree,
        _packages=packages,
        _localities=places,
        _by_address={device.address: device for device in devices},
        _lanes=lanes,
    )


def _devices(
    functions: Sequence[_Function],
    tree: PciTree,
    places: Mapping[PciAddress, Locality],
    owners: Mapping[PciAddress, PciAddress],
) -> tuple[DeviceTopology, ...]:
    virtual: dict[PciAddress, list[PciAddress]] = {}
    for address, owner in owners.items():
        virtual.setdefault(owner, []).append(address)
    below_root: dict[PciAddress, set[int]] = {}
    for address, place in places.items():
        root = tree.root(address) or address
        if place.node is not None:
            below_root.setdefault(root, set()).add(place.node)
    found = []
    for function in sorted(functions, key=lambda f: f.address):
        if function.kind not in OF_INTEREST or function.virtual:
            continue
        address = function.address
        place = places.get(address, Locality())
        hints = below_root.get(tree.root(address) or address, set()) if place.node is None else set()
        model = gpu_by_ids(function.ids) if function.kind is DeviceKind.GPU else None
        found.append(
            DeviceTopology(
                address=address,
                ids=function.ids,
                kind=function.kind,
                model=None if model is None else model.name,
                node=place.node,
                package=place.package,
                cpu_nodes=place.cpu_nodes,
                source=place.source,
                node_hint=next(iter(hints)) if len(hints) == 1 else None,
                bridges=tree.chain(address).bridges,
                switches=tree.switches(address),
                root=tree.root(address),
                functions=tuple(sorted(virtual.get(address, ()))),
            )
        )
    return tuple(found)


def _nodes(
    nodes: Sequence[NumaNode], packages: Packages, devices: Sequence[DeviceTopology]
) -> tuple[NodeTopology, ...]:
    return tuple(
        NodeTopology(
            node.id,
            packages.by_node[node.id],
            node.core_count,
            node.thread_ids,
            node.memory_bytes,
            tuple(device.address for device in devices if device.node == node.id),
        )
        for node in sorted(nodes, key=lambda n: n.id)
    )


def _has_nvswitch(devices: Sequence[DeviceTopology], board: Board | None) -> bool:
    return (board is not None and board.switched) or any(d.kind is DeviceKind.NVSWITCH for d in devices)
