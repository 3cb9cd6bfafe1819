"""A host's topology as an indented text tree."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from vplacer.inventory.device_kind import DeviceKind
from vplacer.inventory.pci import PciAddress
from vplacer.report.measured_text import measurement_lines
from vplacer.report.use_text import capacity_lines, finding_lines, holder_text, opaque_text
from vplacer.topology.cpu_features import CpuOffer
from vplacer.topology.describe import DeviceLine, HostDescription, ranges
from vplacer.topology.values import GroupOffer, LocalitySource, NodeTopology

_GIB = 1024**3
_DEVICE_INDENT = 4


@dataclass(frozen=True, slots=True)
class _Layout:
    """Widths of label and address, the column where the facts start, and the number of GPUs."""

    label: int
    address: int
    start: int
    gpu_count: int


def render_tree(description: HostDescription) -> str:
    """Return the tree, ending in a newline: packages, pNUMA nodes, switches, devices; then the notes."""
    lines = [_title(description), *_cpu(description.cpu)]
    layout = _layout(description.devices)
    for package in sorted({node.package for node in description.nodes if node.package is not None}):
        lines.append(f"package {package}")
        for node in description.nodes:
            if node.package == package:
                lines += _node(node, description, layout)
    for node in description.nodes:
        if node.package is None:
            lines += _node(node, description, layout)
    known = {node.id for node in description.nodes}
    lost = [line for line in description.devices if line.place.node not in known]
    if lost:
        lines.append("NUMA node unknown")
        lines += _devices(lost, layout, description.vm_names)
    lines += _notes(description)
    lines += measurement_lines(description.measured)
    return "\n".join(line.rstrip() for line in lines) + "\n"


def _title(description: HostDescription) -> str:
    count = len(description.nodes)
    nodes = f"{count} pNUMA node{'' if count == 1 else 's'}" if count else "NUMA nodes not told"
    return "  ".join(part for part in (description.name, description.hardware, nodes) if part)


def _cpu(offers: Sequence[CpuOffer]) -> list[str]:
    """Print what the CPUs offer: "CPU: INT8 (AVX-512 VNNI); BF16, AMX: hidden by EVC mode intel-icelake"."""
    offered = [f"{offer.name} ({', '.join(offer.features)})" for offer in offers if offer.offered]
    parts = [", ".join(offered)] if offered else []
    for why in dict.fromkeys(offer.why for offer in offers if not offer.offered):
        names = [offer.name for offer in offers if not offer.offered and offer.why == why]
        parts.append(f"{', '.join(names)}: {why}")
    return [f"CPU: {'; '.join(parts)}"] if parts else []


def _node(node: NodeTopology, description: HostDescription, layout: _Layout) -> list[str]:
    facts = [
        f"  pNUMA {node.id}",
        f"{node.core_count} cores" if node.core_count else "no cores",
        "memory not told" if node.memory_bytes is None else f"{node.memory_bytes / _GIB:.0f} GiB",
        "package not told" if node.package is None else "",
    ]
    head = "  ".join(fact for fact in facts if fact)
    mine = [line for line in description.devices if line.place.node == node.id]
    return [head, *_devices(mine, layout, description.vm_names)]


def _devices(devices: Sequence[DeviceLine], layout: _Layout, names: Mapping[str, str]) -> list[str]:
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
        lines.append(_device(line, indent, layout))
        if line.capacity is not None:
            lines += [f"{' ' * (indent + 2)}{text}" for text in capacity_lines(line.capacity, names)]
    return lines


def _layout(devices: Sequence[DeviceLine]) -> _Layout:
    """Measure what all device lines share."""
    label = max((len(line.label) for line in devices), default=0)
    address = max((len(line.place.address.short) for line in devices), default=0)
    start = max((len(line.name) + 2 * len(line.place.switches) for line in devices), default=0)
    gpus = sum(1 for line in devices if line.place.kind is DeviceKind.GPU)
    return _Layout(label, address, start + _DEVICE_INDENT + label + address + 2, gpus)


def _device(line: DeviceLine, indent: int, layout: _Layout) -> str:
    place = line.place
    head = f"{' ' * indent}{line.label:<{layout.label}} {place.address.short:<{layout.address}} {line.name}"
    hint = place.node_hint
    facts = [
        _links(line, layout.gpu_count),
        f"{line.link_mbps / 1000:g} Gb/s" if line.link_mbps else "",
        f"{len(place.functions)} VFs" if place.functions else "",
        f"label {line.hardware_label}" if line.hardware_label else "",
        "passthrough after a reboot" if line.state == "enabled" else "",
        "no passthrough now" if _is_out_of_reach(line) else "",
        "node from an overlay" if place.source is LocalitySource.OVERLAY else "",
        f"the rest below its root port is on pNUMA {hint}" if hint is not None else "",
        ", ".join(holder_text(holder) for holder in line.holders),
    ]
    return "  ".join([f"{head:<{layout.start}}", *(fact for fact in facts if fact)])


def _is_out_of_reach(line: DeviceLine) -> bool:
    """Whether a VM's configuration names a card that the host does not give to VMs now."""
    return line.state in ("capable", "none") and any(holder.how == "static" for holder in line.holders)


def _links(line: DeviceLine, gpu_count: int) -> str:
    """Write the GPUs joined by NVLink, by number of links: ``NV4 GPU2``, ``NV18 all GPUs``."""
    by_lanes: dict[int, list[int]] = {}
    for link in line.links:
        by_lanes.setdefault(link.lanes, []).append(int(link.label.removeprefix("GPU")))
    if len(by_lanes) == 1 and len(line.links) == gpu_count - 1 > 1:
        return f"NV{next(iter(by_lanes))} all GPUs"
    return " ".join(f"NV{lanes} GPU{ranges(numbers)}" for lanes, numbers in sorted(by_lanes.items()))


def _notes(description: HostDescription) -> list[str]:
    lines: list[str] = []
    if description.opaque_holders:
        lines.append("held, vCenter does not tell which card")
        lines += [f"  {opaque_text(held)}" for held in description.opaque_holders]
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
    if description.findings:
        lines += ["findings", *finding_lines(description.findings)]
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
