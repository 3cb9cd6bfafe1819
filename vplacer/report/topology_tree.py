"""A host's topology as an indented text tree."""

from __future__ import annotations

from collections.abc import Sequence

from vplacer.inventory.pci import PciAddress
from vplacer.topology.describe import DeviceLine, HostDescription, ranges
from vplacer.topology.values import GroupOffer, LocalitySource, NodeTopology

_GIB = 1024**3
_DEVICE_INDENT = 4


def render_tree(description: HostDescription) -> str:
    """Return the tree, ending in a newline: packages, pNUMA nodes, switches, devices; then the notes."""
    lines = [_title(description)]
    widths = _widths(description.devices)
    for package in sorted({node.package for node in description.nodes if node.package is not None}):
        lines.append(f"package {package}")
        for node in description.nodes:
            if node.package == package:
                lines += _node(node, description.devices, widths)
    for node in description.nodes:
        if node.package is None:
            lines += _node(node, description.devices, widths)
    known = {node.id for node in description.nodes}
    lost = [line for line in description.devices if line.place.node not in known]
    if lost:
        lines.append("NUMA node unknown")
        lines += _devices(lost, widths)
    lines += _notes(description)
    return "\n".join(line.rstrip() for line in lines) + "\n"


def _title(description: HostDescription) -> str:
    count = len(description.nodes)
    nodes = f"{count} pNUMA node{'' if count == 1 else 's'}" if count else "NUMA nodes not told"
    return "  ".join(part for part in (description.name, description.hardware, nodes) if part)


def _node(node: NodeTopology, devices: Sequence[DeviceLine], widths: tuple[int, int, int]) -> list[str]:
    facts = [
        f"  pNUMA {node.id}",
        f"{node.core_count} cores" if node.core_count else "no cores",
        "memory not told" if node.memory_bytes is None else f"{node.memory_bytes / _GIB:.0f} GiB",
        "package not told" if node.package is None else "",
    ]
    head = "  ".join(fact for fact in facts if fact)
    return [head, *_devices([line for line in devices if line.place.node == node.id], widths)]


def _devices(devices: Sequence[DeviceLine], widths: tuple[int, int, int]) -> list[str]:
    """Print devices under their switches, a switch under the one above it, in address order."""
    lines: list[str] = []
    printed: set[PciAddress] = set()
    for line in sorted(devices, key=lambda item: (*item.place.switches[::-1], item.place.address)):
        indent = _DEVICE_INDENT
        for switch in reversed(line.place.switches):
            if switch not in printed:
                printed.add(switch)
                lines.append(f"{' ' * indent}switch {switch.short}")
            indent += 2
        lines.append(_device(line, indent, widths))
    return lines


def _widths(devices: Sequence[DeviceLine]) -> tuple[int, int, int]:
    """Widths of label and address, and the column where the facts start."""
    label = max((len(line.label) for line in devices), default=0)
    address = max((len(line.place.address.short) for line in devices), default=0)
    start = max((len(line.name) + 2 * len(line.place.switches) for line in devices), default=0)
    return label, address, start + _DEVICE_INDENT + label + address + 2


def _device(line: DeviceLine, indent: int, widths: tuple[int, int, int]) -> str:
    label, address, start = widths
    place = line.place
    head = f"{' ' * indent}{line.label:<{label}} {place.address.short:<{address}} {line.name}"
    hint = place.node_hint
    facts = [
        _links(line),
        f"{line.link_mbps / 1000:g} Gb/s" if line.link_mbps else "",
        f"{len(place.functions)} VFs" if place.functions else "",
        f"label {line.hardware_label}" if line.hardware_label else "",
        "passthrough after a reboot" if line.state == "enabled" else "",
        "node from an overlay" if place.source is LocalitySource.OVERLAY else "",
        f"the rest below its root port is on pNUMA {hint}" if hint is not None else "",
        ", ".join(holder.name for holder in line.holders),
    ]
    return "  ".join([f"{head:<{start}}", *(fact for fact in facts if fact)])


def _links(line: DeviceLine) -> str:
    """Write the GPUs joined by NVLink, by number of links: ``NV4 GPU2``, ``NV18 GPU1-7``."""
    by_lanes: dict[int, list[int]] = {}
    for link in line.links:
        by_lanes.setdefault(link.lanes, []).append(int(link.label.removeprefix("GPU")))
    return " ".join(f"NV{lanes} GPU{ranges(numbers)}" for lanes, numbers in sorted(by_lanes.items()))


def _notes(description: HostDescription) -> list[str]:
    lines: list[str] = []
    unknown = sum(len(line.open_links) for line in description.devices) // 2
    if unknown:
        pairs = "1 pair" if unknown == 1 else f"{unknown} pairs"
        lines += ["NVLink unknown", f"  {pairs} of GPUs: vCenter does not tell; an overlay would"]
    if description.device_groups:
        lines.append("device groups")
        lines += [f"  {_group(offer)}" for offer in description.device_groups]
    if description.ownership_groups:
        lines.append("leave the hypervisor together")
        lines += [
            "  " + " ".join(address.short for address in group) for group in description.ownership_groups
        ]
    for title, sentences in (("assumed", description.assumptions), ("not used", description.mismatches)):
        if sentences:
            lines.append(title)
            lines += [f"  {sentence}" for sentence in sentences]
    return lines


def _group(offer: GroupOffer) -> str:
    if offer.sets is None:
        return f"{offer.name}  cards not known: {offer.why}"
    if not offer.sets:
        return f"{offer.name}  no cards: {offer.why}"
    sets = " | ".join(" ".join(address.short for address in cards) for cards in offer.sets)
    return f"{offer.name}  {sets}"
