"""Holds what a file says against what vCenter says of a host, and makes an overlay of what stands."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from vplacer.errors import UsageError
from vplacer.inventory.device_kind import DeviceKind, device_kind, virtual_functions
from vplacer.inventory.host import Host, PciDevice
from vplacer.inventory.overlay import Overlay, OverlayDevice, OverlayLink
from vplacer.inventory.overlay_file import same_ids
from vplacer.inventory.pci import PciAddress
from vplacer.topology.importers.facts import DeviceFact, Facts
from vplacer.topology.pci_tree import PciNode, PciTree

_KEPT = frozenset({DeviceKind.GPU, DeviceKind.NIC, DeviceKind.NVSWITCH})
_SHOWN = 4


@dataclass(frozen=True, slots=True)
class ImportResult:
    """The overlay, what of the file contradicts vCenter (left out), and what else is to be known."""

    overlay: Overlay
    contradictions: tuple[str, ...]
    notes: tuple[str, ...]


def overlay_from_facts(
    facts: Facts,
    host: Host,
    *,
    created: str,
    vcenter_uuid: str | None = None,
    file: str | None = None,
    links_only: bool = False,
) -> ImportResult:
    """Make an overlay of facts that were taken on ``host``.

    Only GPUs, NICs and NVSwitches go into it: what else changes in a host does not make it invalid.

    Args:
        facts: see `Facts`.
        host: the host they are said to be of.
        created: when, ISO 8601 UTC.
        vcenter_uuid: the vCenter of the host, to keep hosts of several apart.
        file: name of the file, for the provenance.
        links_only: NUMA nodes are not taken over.

    Raises:
        UsageError: the file is of other hardware, numbers NUMA nodes in another way than vCenter, or
            tells nothing that goes into an overlay.
    """
    contradictions, notes = list(facts.contradictions), list(facts.notes)
    present = _present(facts, host, notes)
    nodes = {} if links_only else _nodes(present, host, contradictions, notes)
    contradictions += _parent_contradictions(present, host)
    contradictions += _dependent_contradictions(present)
    links = tuple(link for link in facts.links if link.a in present and link.b in present)
    ends = {end for link in links for end in (link.a, link.b)}
    virtual = virtual_functions(host)
    devices = tuple(
        OverlayDevice(address, device.ids, nodes.get(address))
        for address, (_, device) in sorted(present.items())
        if address in ends or (device_kind(device) in _KEPT and address not in virtual)
    )
    if not links and all(device.numa_node is None for device in devices):
        raise UsageError(
            "the file tells no NUMA node and no link that can be taken over",
            obj=file or facts.tool,
            why="; ".join((*contradictions, *notes)) or None,
        )
    overlay = Overlay(
        host=host.name,
        host_uuid=host.uuid,
        vcenter_uuid=vcenter_uuid,
        created=created,
        source=facts.tool,
        devices=devices,
        links=tuple(sorted(links)),
        detail=_detail(facts, file, links_only=links_only),
    )
    return ImportResult(overlay, tuple(contradictions), tuple(notes))


def _detail(facts: Facts, file: str | None, *, links_only: bool) -> str | None:
    parts = [f"file {file}"] if file else []
    parts += facts.options
    if links_only:
        parts.append("links only")
    return "; ".join(parts) or None


def _present(facts: Facts, host: Host, notes: list[str]) -> dict[PciAddress, tuple[DeviceFact, PciDevice]]:
    """Match the file's devices with the host's; a file of other hardware is refused."""
    by_address = {device.address: device for device in host.pci_devices}
    found: dict[PciAddress, tuple[DeviceFact, PciDevice]] = {}
    missing: list[str] = []
    skipped = 0
    for fact in facts.devices:
        device = by_address.get(fact.address)
        if device is None:
            if fact.needed:
                missing.append(f"{_named(fact)} (line {fact.line}) is not there")
            skipped += 1
        elif fact.ids is not None and not same_ids(fact.ids, device.ids):
            missing.append(f"{_named(fact)} (line {fact.line}) is {fact.ids}, the host has {device.ids}")
        else:
            found[fact.address] = (fact, device)
    if missing or not found:
        shown = "; ".join(missing[:_SHOWN]) or "none of its devices is there"
        more = f"; and {len(missing) - _SHOWN} more" if len(missing) > _SHOWN else ""
        raise UsageError(
            "the file is not of the hardware of this host",
            obj=host.name,
            why=f"{shown}{more}",
            hint="PCI addresses are those of the machine it was taken on: was it another host, or a VM?",
        )
    if skipped:
        notes.append(
            f"{skipped} of the file's {len(facts.devices)} devices are not in vCenter's list: not used"
        )
    return found


def _named(fact: DeviceFact) -> str:
    return str(fact.address) if fact.label == str(fact.address) else f"{fact.label} {fact.address}"


def _nodes(
    present: Mapping[PciAddress, tuple[DeviceFact, PciDevice]],
    host: Host,
    contradictions: list[str],
    notes: list[str],
) -> dict[PciAddress, int]:
    """Return the NUMA nodes that can stand beside vCenter's.

    The numbers are those of another operating system. Where both know a device they must agree; if any
    device disagrees, nodes of devices that vCenter does not know are not believed either.
    """
    cores = {node.id: node.core_count for node in host.numa_nodes}
    told = {address: fact.node for address, (fact, _) in present.items() if fact.node is not None}
    # On a node without cores (a GPU's own memory) tools name the nearest CPU node: no contradiction.
    known = {
        address: node
        for address in told
        if (node := host.node_of(address)) is not None and cores.get(node, 0) > 0
    }
    _refuse_renumbered(told, known, host)
    clash = [address for address, node in known.items() if told[address] != node]
    strange = [address for address, node in told.items() if cores and node not in cores]
    for address in sorted({*clash, *strange}):
        fact = present[address][0]
        says = "which vCenter lacks" if address in strange else f"vCenter says pNUMA {known[address]}"
        contradictions.append(f"{_named(fact)}: the file says NUMA node {told[address]}, {says}")
    if clash or strange:
        dropped = [a for a in told if a not in known and a not in strange and host.node_of(a) is None]
        if dropped:
            notes.append(
                f"the file's NUMA nodes disagree with vCenter's, so those of {len(dropped)} devices that "
                "only the file knows are not used either"
            )
        return {a: n for a, n in told.items() if a not in clash and a not in strange and a not in dropped}
    if told and not known:
        notes.append(
            "vCenter knows the NUMA node of none of these devices, so it could not be checked that the file "
            "numbers the nodes as ESXi does"
        )
    return told


def _refuse_renumbered(told: Mapping[PciAddress, int], known: Mapping[PciAddress, int], host: Host) -> None:
    """Refuse numbers that are vCenter's in another order: the file is of another system or another host."""
    map_: dict[int, set[int]] = {}
    for address, node in known.items():
        map_.setdefault(told[address], set()).add(node)
    targets = [next(iter(nodes)) for nodes in map_.values() if len(nodes) == 1]
    moved = [node for node, nodes in map_.items() if nodes != {node}]
    if len(moved) < 2 or len(targets) != len(map_) or len(set(targets)) != len(targets):
        return

    def listed(nodes: Mapping[PciAddress, int]) -> str:
        groups: dict[int, list[str]] = {}
        for address in sorted(known):
            groups.setdefault(nodes[address], []).append(str(address))
        return ", ".join(f"{node}: {' '.join(items)}" for node, items in sorted(groups.items()))

    raise UsageError(
        "the file numbers NUMA nodes in another order than vCenter; nothing is renumbered",
        obj=host.name,
        why=f"the file says {listed(told)}; vCenter says {listed(known)}",
        hint="take it on the ESXi host itself, or give --links-only to take over the links alone",
    )


def _parent_contradictions(
    present: Mapping[PciAddress, tuple[DeviceFact, PciDevice]], host: Host
) -> list[str]:
    """Name GPUs, NICs and NVSwitches that the file has below another bridge than vCenter has."""
    told = {address: fact.parent for address, (fact, _) in present.items() if fact.parent is not None}
    if not told:
        return []
    tree = PciTree(PciNode(d.address, d.class_id, d.parent_bridge) for d in host.pci_devices)
    found = []
    for address, parent in sorted(told.items()):
        fact, device = present[address]
        chain = tree.chain(address)
        if parent not in tree or chain.root_bus is None or device_kind(device) not in _KEPT:
            continue
        if parent not in chain.bridges:
            above = f"below {chain.bridges[0]}" if chain.bridges else "on a root bus"
            found.append(f"{_named(fact)} is below {parent} in the file, and {above} in vCenter")
    return found


def _dependent_contradictions(present: Mapping[PciAddress, tuple[DeviceFact, PciDevice]]) -> list[str]:
    """Name devices that the file binds to another one than HostPciPassthruInfo.dependentDevice does."""
    found = []
    for _, (fact, device) in sorted(present.items()):
        told = None if device.passthrough is None else device.passthrough.dependent
        if fact.dependent is not None and told is not None and fact.dependent != told:
            found.append(f"{_named(fact)} depends on {fact.dependent} in the file, and on {told} in vCenter")
    return found


def sorted_links(links: Mapping[frozenset[PciAddress], int]) -> tuple[OverlayLink, ...]:
    """Return links by their ends, ordered."""
    found = []
    for ends, lanes in links.items():
        a, b = sorted(ends)
        found.append(OverlayLink(a, b, lanes))
    return tuple(sorted(found))


def fabric_links(
    gpus: Sequence[PciAddress],
    direct: Mapping[frozenset[PciAddress], int],
    to_switches: Mapping[PciAddress, int],
) -> dict[frozenset[PciAddress], int]:
    """Return the links of every pair of GPUs of a fabric: the direct ones, and those through NVSwitches.

    All switches are one fabric, so a pair has the smaller of both GPUs' links to switches. NCCL counts
    so (topo.cc merges them into one node), and so does hwloc (transitive closure of NVLinkBandwidth).

    Args:
        gpus: the GPUs whose links are known.
        direct: links by pair.
        to_switches: links of a GPU to all switches.
    """
    found = {}
    for index, a in enumerate(gpus):
        for b in gpus[index + 1 :]:
            pair = frozenset((a, b))
            through = min(to_switches.get(a, 0), to_switches.get(b, 0))
            found[pair] = direct.get(pair, 0) + through
    return found
