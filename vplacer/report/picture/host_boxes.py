"""The picture of a host as boxes: what is where, before anything has a place on the page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from vplacer.inventory.device_kind import DeviceKind
from vplacer.inventory.pci import PciAddress
from vplacer.report.host_notes import cpu_words, host_notes, measured_words, state_words
from vplacer.report.node_words import node_words
from vplacer.report.picture.box import Box, Line
from vplacer.report.picture.device_boxes import device_tree, device_width
from vplacer.report.picture.style import GAP, PADDING
from vplacer.report.picture.text import wrap
from vplacer.report.picture.vm_boxes import chip_width, untold_box, vms_elsewhere, vms_of_node
from vplacer.topology.describe import DeviceLine, HostDescription
from vplacer.topology.nvlink_sets import NvlinkSet
from vplacer.topology.values import NodeTopology

_CARDS_ACROSS: Final = 3
"""Devices side by side in a NUMA node on one or two nodes across the page: two GPUs and their NIC."""
_NARROWEST: Final = 940
_HEAD_COLUMNS: Final = 130
_PIXELS_A_COLUMN: Final = 6.6
_LEGEND: Final = (
    "square corners: devices   round corners: VMs (\u25cf on  \u25cb off  \u25d0 suspended)   "
    "\u25b8 NAME: VM that holds the device   A, B: GPUs joined by NVLink   dashed: not known, or floating"
)


@dataclass(frozen=True, slots=True)
class Measures:
    """Widths in pixels: of the page, of a NUMA node at least, of a device, of a VM."""

    page: float
    node: float
    device: float
    vm: float


def measures(description: HostDescription) -> Measures:
    """Choose the widths: of the text in the boxes, and of how many nodes are to be side by side."""
    device = device_width(description.devices)
    across = [_nodes_across(len(nodes)) for _, nodes in _packages(description)[:2]]
    cards = _CARDS_ACROSS if sum(across) <= 2 else _CARDS_ACROSS - 1
    around = 1 + _depth(device_tree(description.devices, device))
    node = cards * (device + GAP) - GAP + 2 * PADDING * around
    page = sum(_package_width(node, count) + GAP for count in across) - GAP + 2 * PADDING
    return Measures(max(_NARROWEST, page), node, device, chip_width(description))


def _depth(boxes: Sequence[Box]) -> int:
    """Return how many switches are around the innermost device."""
    return max((1 + _depth(box.children) for box in boxes if box.children), default=0)


def _package_width(node: float, across: int) -> float:
    return across * (node + GAP) - GAP + 2 * PADDING


def host_box(description: HostDescription, sizes: Measures) -> Box:
    """Return the whole picture."""
    wide, chip = sizes.device, sizes.vm
    known = {node.id for node in description.nodes}
    lost = [line for line in description.devices if line.place.node not in known]
    packages = tuple(_package(number, nodes, description, sizes) for number, nodes in _packages(description))
    parts = [_head(description)]
    if packages:
        parts.append(Box("row", (), packages, across=True, grow=True))
    if lost:
        about = "vCenter lists these devices under no NUMA node. They may be on any."
        lines = (Line("Locality not known", "strong"), Line(about, "faint"))
        parts.append(Box("unknown", lines, device_tree(lost, wide), across=True, grow=True))
    links = _nvlinks(description)
    if links:
        parts.append(Box("row", (), links, across=True, grow=True))
    parts += untold_box(description.opaque_holders, chip)
    parts += vms_elsewhere(description, chip)
    parts += _notes(description, sizes.page)
    return Box("page", (), tuple(parts), grow=True)


def _head(description: HostDescription) -> Box:
    counts = [
        (sum(1 for line in description.devices if line.place.kind is kind), word)
        for kind, word in ((DeviceKind.GPU, "GPU"), (DeviceKind.NIC, "NIC port"))
    ]
    running = sum(1 for vm in description.vms if vm.is_on)
    facts = [
        description.hardware,
        *(f"{count} {word}{'' if count == 1 else 's'}" for count, word in counts),
        f"{len(description.vms)} VM{'' if len(description.vms) == 1 else 's'}, {running} running",
    ]
    lines = [Line(description.name, "title"), Line("   ".join(fact for fact in facts if fact), "faint")]
    lines += [Line(text, "faint") for text in wrap(cpu_words(description), _HEAD_COLUMNS) if text]
    if measured_words(description):
        lines.append(Line(measured_words(description), "faint"))
    lines += [Line(word, "warn") for word in state_words(description.state)]
    return Box("group", tuple(lines), grow=True)


def _packages(description: HostDescription) -> list[tuple[int | None, list[NodeTopology]]]:
    """Return the nodes by package; those whose package is not told come last, under None."""
    found: dict[int | None, list[NodeTopology]] = {}
    for node in description.nodes:
        found.setdefault(node.package, []).append(node)
    return sorted(found.items(), key=lambda item: (item[0] is None, item[0] or 0))


def _nodes_across(count: int) -> int:
    return 1 if count == 1 else 2


def _package(
    number: int | None,
    nodes: Sequence[NodeTopology],
    description: HostDescription,
    sizes: Measures,
) -> Box:
    text = "package (socket) not told" if number is None else f"package {number}"
    inner = []
    for node in nodes:
        here = [line for line in description.devices if line.place.node == node.id]
        devices = device_tree(here, sizes.device)
        parts: tuple[Box, ...] = (Box("row", (), devices, across=True, grow=True),) if devices else ()
        parts += vms_of_node(description.vms, node.id, sizes.vm)
        empty = () if here else (Line("no GPU, no NIC", "faint"),)
        lines = (Line(f"pNUMA {node.id}", "strong"), Line(node_words(node), "faint"), *empty)
        inner.append(Box("node", lines, parts, grow=True, least=sizes.node, key=f"node-{node.id}"))
    least = _package_width(sizes.node, _nodes_across(len(nodes)))
    return Box("package", (Line(text, "strong"),), tuple(inner), across=True, grow=True, least=least)


def _nvlinks(description: HostDescription) -> tuple[Box, ...]:
    labels = {line.place.address: line for line in description.devices}
    return tuple(_nvlink(found, labels, description) for found in description.nvlink_sets)


def _nvlink(found: NvlinkSet, labels: dict[PciAddress, DeviceLine], description: HostDescription) -> Box:
    gpus = [labels[address].label for address in found.gpus]
    lines = []
    if found.lanes is None:
        lines.append(Line(f"NVLink {found.name}: {len(gpus)} GPUs, not all alike", "strong"))
        pairs = "   ".join(
            f"{labels[link.a].label}\u2550{labels[link.b].label} NV{link.lanes}" for link in found.links
        )
        lines += [Line(text) for text in wrap(pairs, 100)]
    elif len(gpus) == 2:
        lines.append(
            Line(f"NVLink {found.name}: {gpus[0]} \u2550 NV{found.lanes} \u2550 {gpus[1]}", "strong")
        )
    else:
        over = "over NVSwitch" if found.switched else "directly"
        text = f"NVLink {found.name}: NV{found.lanes} {over} between any two of {len(gpus)} GPUs"
        lines.append(Line(text, "strong"))
        lines += [Line(text) for text in wrap(" ".join(gpus), 100)]
    if len(found.nodes) > 1:
        across = ", ".join(map(str, found.nodes))
        lines.append(Line(f"across pNUMA {across}", "faint" if found.switched else "warn"))
    board = f"\n{description.board}" if description.board else ""
    about = f"told by {'; '.join(found.sources)}{board}"
    return Box("nvlink", tuple(lines), grow=True, least=300, about=about, key=f"nvlink-{found.name}")


def _notes(description: HostDescription, page: float) -> tuple[Box, ...]:
    limit = int((page - 60) / _PIXELS_A_COLUMN)
    boxes = []
    for title, sentences in host_notes(description):
        lines = [Line(f"{title[0].upper()}{title[1:]}", "strong")]
        lines += [Line(text, "faint") for sentence in sentences for text in wrap(sentence, limit)]
        boxes.append(Box("note", tuple(lines), grow=True))
    legend = [Line(text, "faint") for text in wrap(_LEGEND, limit)]
    return (*boxes, Box("note", tuple(legend), grow=True))
