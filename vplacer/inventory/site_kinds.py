"""Host kinds of inventory YAML: what all hosts of one kind share."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any, Final

from vplacer.inventory.gpu_facts import GpuModel
from vplacer.inventory.host import (
    DeviceGroupType,
    GpuMode,
    Graphics,
    HardwareLimits,
    HostCapability,
    NumaNode,
    PciDevice,
    Pnic,
    VgpuProfile,
)
from vplacer.inventory.limits_table import as_descriptor, table_limits
from vplacer.inventory.pci import PciAddress
from vplacer.inventory.site_card_lines import Card
from vplacer.inventory.site_pci import PciTree, build_tree
from vplacer.inventory.site_vgpu import make_groups, make_profiles, named_card
from vplacer.inventory.yaml_marks import Document, Pointer

GIB: Final = 1024**3


@dataclass(frozen=True)
class HostKind:
    """One host kind, expanded: nodes, devices, vGPU profiles and groups of each of its hosts."""

    name: str
    pointer: Pointer
    raw: dict[str, Any]
    nodes: tuple[NumaNode, ...]
    tree: PciTree
    devices: tuple[PciDevice, ...]
    pnics: tuple[Pnic, ...]
    profiles: tuple[VgpuProfile, ...]
    groups: tuple[DeviceGroupType, ...]
    group_sets: dict[str, tuple[tuple[PciAddress, ...], ...]]
    links: tuple[tuple[Card, Card, int], ...] | None

    @property
    def cpu(self) -> dict[str, Any]:
        """The cpu section of the file."""
        result: dict[str, Any] = self.raw["cpu"]
        return result

    @property
    def packages(self) -> int:
        """Number of sockets."""
        return int(self.cpu.get("packages", 2))

    @property
    def cores(self) -> int:
        """Cores of the whole host."""
        return self.packages * int(self.cpu["cores"])

    @property
    def threads_per_core(self) -> int:
        """Threads of one core."""
        return int(self.cpu.get("threads", 2))

    @property
    def gpu_model(self) -> GpuModel | None:
        """The model of its GPUs where all are of one model."""
        models = {card.gpu for card in self.tree.cards if card.gpu is not None}
        return next(iter(models)) if len(models) == 1 else None

    def card(self, address: PciAddress) -> Card | None:
        """Return the card at an address."""
        return next((card for card in self.tree.cards if card.address == address), None)


def build_kind(document: Document, name: str, raw: dict[str, Any]) -> HostKind:
    """Expand one host kind.

    Raises:
        FileFormatError: something in it does not resolve or contradicts itself.
    """
    pointer: Pointer = ("host_kinds", name)
    bare = _nodes(document, pointer, raw)
    vgpu = raw.get("vgpu")
    tree = build_tree(
        document,
        (*pointer, "devices"),
        raw.get("devices", []),
        nodes=len(bare),
        cpu_vendor=str(raw["cpu"].get("vendor", "intel")),
        vgpu=vgpu is not None,
    )
    reported = bool(raw.get("numa", {}).get("devices_reported", True))
    nodes = tuple(_with_devices(node, tree if reported else None) for node in bare)
    links = _links(document, pointer, raw, tree)
    profiles = make_profiles(document, pointer, raw, tree)
    groups, sets = make_groups(document, pointer, raw, tree, profiles, links)
    return HostKind(
        name=name,
        pointer=pointer,
        raw=raw,
        nodes=nodes,
        tree=tree,
        devices=tuple(_with_graphics(device, tree, vgpu) for device in tree.devices),
        pnics=_pnics(tree),
        profiles=profiles,
        groups=groups,
        group_sets=sets,
        links=links,
    )


def kind_limits(raw: dict[str, Any], release: str) -> tuple[HardwareLimits, ...]:
    """Return a host's hardware limits: the release's, with what the kind says differently."""
    differing = raw.get("limits", {})
    result = []
    for limit in as_descriptor(table_limits(release)):
        changes = differing.get(str(limit.version), {})
        values = {
            field: changes.get(field, getattr(limit, field))
            for field in (
                "max_cpus",
                "max_memory_mib",
                "max_cores_per_socket",
                "max_passthrough",
                "max_vgpus",
                "max_numa_nodes",
                "max_device_groups",
            )
        }
        result.append(HardwareLimits(version=limit.version, source=limit.source, **values))
    return tuple(result)


def kind_capability(raw: dict[str, Any], release: tuple[int, int, int], threads: int) -> HostCapability:
    """Return a host's capability flags: the release's, with what the kind says differently."""
    known = {
        "assignable_hardware": release >= (7, 0, 0),
        "assign_label": release >= (7, 0, 2),
        "rebind_without_reboot": release >= (7, 0, 0),
        "max_simultaneous_threads": threads if release >= (8, 0, 0) else None,
        "fpt_hotplug": True if release >= (8, 0, 1) else None,
    }
    return HostCapability(**{**known, **raw.get("capability", {})})


def _nodes(document: Document, pointer: Pointer, raw: dict[str, Any]) -> tuple[NumaNode, ...]:
    """Return the NUMA nodes; threads are numbered as ESXi does, the siblings of a core side by side."""
    cpu = raw["cpu"]
    numa = raw.get("numa", {})
    packages, cores, threads = int(cpu.get("packages", 2)), int(cpu["cores"]), int(cpu.get("threads", 2))
    if "nodes" in numa and "nodes_per_package" in numa:
        raise document.error((*pointer, "numa"), "give nodes or nodes_per_package, not both")
    with_cpus = int(numa.get("nodes", packages * int(numa.get("nodes_per_package", 1))))
    total = packages * cores
    if total % with_cpus:
        raise document.error(
            (*pointer, "numa"), f"{total} cores do not divide evenly over {with_cpus} NUMA nodes"
        )
    count = with_cpus + int(numa.get("extra_nodes", 0))
    memory = _node_memory(document, pointer, raw, count, with_cpus)
    per_node = total // with_cpus
    nodes = []
    for number in range(count):
        first = number * per_node
        in_node = range(first, first + per_node) if number < with_cpus else range(0)
        sockets = {core // cores for core in in_node}
        nodes.append(
            NumaNode(
                id=number,
                package=sockets.pop() if len(sockets) == 1 else None,
                core_count=len(in_node),
                thread_ids=tuple(core * threads + thread for core in in_node for thread in range(threads)),
                memory_bytes=memory[number],
            )
        )
    return tuple(nodes)


def _node_memory(
    document: Document, pointer: Pointer, raw: dict[str, Any], count: int, with_cpus: int
) -> list[int]:
    total = int(raw["memory_gib"]) * GIB
    given = raw.get("numa", {}).get("memory_gib")
    if given is None:
        return [total // with_cpus if number < with_cpus else 0 for number in range(count)]
    if len(given) != count:
        raise document.error((*pointer, "numa", "memory_gib"), f"{len(given)} values for {count} NUMA nodes")
    if sum(given) * GIB != total:
        raise document.error(
            (*pointer, "numa", "memory_gib"),
            f"the nodes have {sum(given)} GiB together, the host {raw['memory_gib']}",
        )
    return [int(value) * GIB for value in given]


def _with_devices(node: NumaNode, tree: PciTree | None) -> NumaNode:
    devices = tree.node_devices.get(node.id, ()) if tree else ()
    return NumaNode(node.id, node.package, node.core_count, node.thread_ids, node.memory_bytes, devices)


def _with_graphics(device: PciDevice, tree: PciTree, vgpu: dict[str, Any] | None) -> PciDevice:
    card = next((card for card in tree.cards if card.address == device.address and card.gpu), None)
    if card is None or card.gpu is None:
        return device
    if vgpu is None or (device.passthrough is not None and device.passthrough.active):
        kind, mode = str(card.raw.get("graphics", "direct")), GpuMode.NONE
    else:
        kind = str(card.raw.get("graphics", "sharedDirect"))
        mode = GpuMode(card.raw.get("mode", vgpu.get("mode", "sameSize")))
    return replace(device, graphics=Graphics(kind, mode, card.gpu.memory_mib * 1024))


def _pnics(tree: PciTree) -> tuple[Pnic, ...]:
    """Return the vmkernel's NICs: those network cards that are not passed through."""
    found: list[Pnic] = []
    for card in tree.cards:
        if card.nic is None or card.raw.get("passthrough") == "active":
            continue
        gbps = card.raw.get("gbps")
        mbps = card.nic.mbps if gbps is None else int(float(gbps) * 1000)
        address = card.placed
        mac = f"00:50:56:{address.bus:02x}:{address.device:02x}:{address.function:02x}"
        name = str(card.raw.get("vmnic", f"vmnic{len(found)}"))
        found.append(Pnic(name, address, mbps or None, bool(card.raw.get("rdma", card.nic.rdma)), mac))
    return tuple(found)


def _links(
    document: Document, pointer: Pointer, raw: dict[str, Any], tree: PciTree
) -> tuple[tuple[Card, Card, int], ...] | None:
    """Return every pair of GPUs with its NVLinks, 0 where the complete list has none; None = not said."""
    given = raw.get("nvlinks")
    if given is None:
        return None
    lanes: dict[frozenset[str], int] = {}
    for index, entry in enumerate(given):
        place = (*pointer, "nvlinks", index)
        for cards in combinations(_joined(document, place, entry, tree), 2):
            pair = frozenset(card.name for card in cards)
            if len(pair) != 2:
                raise document.error(place, "a link joins two different GPUs")
            if pair in lanes:
                raise document.error(place, f"the pair {' and '.join(sorted(pair))} is given twice")
            lanes[pair] = _lanes(document, place, entry, cards[0])
    gpus = [card for card in tree.cards if card.gpu is not None]
    return tuple(
        (first, second, lanes.get(frozenset((first.name, second.name)), 0))
        for index, first in enumerate(gpus)
        for second in gpus[index + 1 :]
    )


def _joined(document: Document, place: Pointer, entry: Any, tree: PciTree) -> list[Card]:
    """Return the GPUs that an entry of ``nvlinks`` joins, every two of them."""
    names = entry
    if isinstance(entry, dict):
        names = entry["between"] if "between" in entry else entry["among"]
    if names == "all":
        cards = [card for card in tree.cards if card.gpu is not None]
        if len(cards) < 2:
            raise document.error(place, "the host kind has no two GPUs to join")
        return cards
    cards = [named_card(document, place, tree, str(name)) for name in names]
    for card in cards:
        if card.gpu is None:
            raise document.error(place, f"'{card.name}' is no GPU")
    return cards


def _lanes(document: Document, place: Pointer, entry: Any, card: Card) -> int:
    if isinstance(entry, dict) and "lanes" in entry:
        return int(entry["lanes"])
    default = card.gpu.bridge_lanes if card.gpu else None
    if default is None:
        raise document.error(
            place,
            f"{card.gpu.name if card.gpu else card.name} takes no bridge that is known",
            hint="say {between: [a, b], lanes: N}",
        )
    return default
