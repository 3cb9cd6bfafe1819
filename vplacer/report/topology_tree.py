"""A host's topology as an indented text tree of 100 columns: what is where, and which VM sits where."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from vplacer.inventory.device_kind import DeviceKind
from vplacer.inventory.pci import PciAddress
from vplacer.report.device_words import link_words, state_words, tied_words, where_words
from vplacer.report.host_formats import Format
from vplacer.report.host_notes import cpu_words, host_notes
from vplacer.report.host_notes import state_words as host_state_words
from vplacer.report.measured_text import measurement_lines
from vplacer.report.node_words import node_words
from vplacer.report.use_text import capacity_lines, holder_text, opaque_text
from vplacer.report.vm_words import POWER, holds_words, home_words, size_words
from vplacer.topology.describe import DeviceLine, HostDescription, ranges
from vplacer.topology.values import NodeTopology
from vplacer.topology.vm_places import HeldDevices, Home, VmPlace

_WIDTH: Final = 100
_DEVICE_INDENT: Final = 4
_FARTHEST_START: Final = 52
"""Where the facts of a device start at the latest; a longer name pushes its own alone."""


@dataclass(frozen=True, slots=True)
class _Layout:
    """Widths of label and address, the column where the facts start, and the number of GPUs."""

    label: int
    address: int
    start: int
    gpu_count: int


def render_tree(description: HostDescription) -> str:
    """Return the tree, ending in a newline: packages, pNUMA nodes, switches, devices, VMs; then the notes."""
    lines = [_title(description), *host_state_words(description.state), *_wrapped(cpu_words(description), "")]
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
    lines += _vms_elsewhere(description.vms)
    lines += _notes(description)
    lines += measurement_lines(description.measured)
    return "\n".join(line.rstrip() for line in lines) + "\n"


def _title(description: HostDescription) -> str:
    count = len(description.nodes)
    nodes = f"{count} pNUMA node{'' if count == 1 else 's'}" if count else "NUMA nodes not told"
    return "  ".join(part for part in (description.name, description.hardware, nodes) if part)


def _node(node: NodeTopology, description: HostDescription, layout: _Layout) -> list[str]:
    package = "  package not told" if node.package is None else ""
    devices = [line for line in description.devices if line.place.node == node.id]
    vms = [vm for vm in description.vms if vm.nodes == (node.id,)]
    return [
        f"  pNUMA {node.id}  {node_words(node)}{package}",
        *_devices(devices, layout, description.vm_names),
        *_vms(vms, " " * _DEVICE_INDENT),
    ]


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
        lines += _device(line, indent, layout)
        for text in [] if line.capacity is None else capacity_lines(line.capacity, names):
            lines += _wrapped(text.strip(), " " * (indent + 2 + len(text) - len(text.lstrip())))
    return lines


def _layout(devices: Sequence[DeviceLine]) -> _Layout:
    """Measure what all device lines share."""
    label = max((len(line.label) for line in devices), default=0)
    address = max((len(line.place.address.short) for line in devices), default=0)
    start = max((len(line.name) + 2 * len(line.place.switches) for line in devices), default=0)
    gpus = sum(1 for line in devices if line.place.kind is DeviceKind.GPU)
    return _Layout(label, address, min(start + _DEVICE_INDENT + label + address + 2, _FARTHEST_START), gpus)


def _device(line: DeviceLine, indent: int, layout: _Layout) -> list[str]:
    place = line.place
    head = f"{' ' * indent}{line.label:<{layout.label}} {place.address.short:<{layout.address}} {line.name}"
    facts = [
        _links(line, layout.gpu_count),
        f"{line.link_mbps / 1000:g} Gb/s" if line.link_mbps else "",
        f"{len(place.functions)} VFs" if place.functions else "",
        f"label {line.hardware_label}" if line.hardware_label else "",
        "" if line.capacity is not None else state_words(line),
        *where_words(line),
    ]
    facts += tied_words(line)
    names = [holder_text(holder) for holder in line.holders]
    held = [f"held by {name}" if index == 0 else name for index, name in enumerate(names)]
    held = [f"{name}," for name in held[:-1]] + held[-1:]
    return _filled(f"{head:<{layout.start}}", [fact for fact in facts if fact], held)


def _filled(head: str, facts: Sequence[str], listed: Sequence[str] = ()) -> list[str]:
    """Put facts after a head, two blanks apart, then a list, one blank apart; break where a line is full.

    What goes on stands below the first fact. A fact is never broken: it can be searched for and copied.
    """
    indent = " " * (len(head) + 2 if len(head) < _FARTHEST_START + 10 else _DEVICE_INDENT + 4)
    lines = [head]
    begun = False
    for index, text in enumerate((*facts, *listed)):
        gap = " " if index > len(facts) else "  "
        if begun and len(lines[-1]) + len(gap) + len(text) > _WIDTH:
            lines.append(indent + text)
        else:
            lines[-1] += gap + text
        begun = True
    return lines


def _links(line: DeviceLine, gpu_count: int) -> str:
    """Write the GPUs joined by NVLink, by number of links: ``NV4 GPU2``, ``NV18 all GPUs``."""
    lanes = {link.lanes for link in line.links}
    if len(lanes) == 1 and len(line.links) == gpu_count - 1 > 1:
        return f"NV{next(iter(lanes))} all GPUs"
    return link_words(line)


def _vms_elsewhere(vms: Sequence[VmPlace]) -> list[str]:
    """Print the VMs that sit in no single node."""
    lines: list[str] = []
    for nodes in sorted({vm.nodes for vm in vms if len(vm.nodes) > 1}):
        lines.append(f"VMs across pNUMA {ranges(nodes)}")
        lines += _vms([vm for vm in vms if vm.nodes == nodes], "  ")
    floating = [vm for vm in vms if vm.home is Home.FLOATING]
    running = [vm for vm in floating if vm.is_on]
    if running:
        lines.append("floating VMs: ESXi may run each on any node, and moves it at will")
        lines += _vms([vm for vm in running if _holds(vm)], "  ", home=False)
        lines += _listed("without devices", [vm.name for vm in running if not _holds(vm)])
    resting = [vm for vm in floating if not vm.is_on]
    if resting:
        lines.append("VMs not running, without a home")
        lines += _vms([vm for vm in resting if _holds(vm)], "  ", home=False)
        lines += _listed("without devices", [vm.name for vm in resting if not _holds(vm)])
    unread = [vm.name for vm in vms if vm.home is Home.UNREAD]
    if unread:
        lines.append("VMs whose configuration vCenter did not give")
        lines += _listed("", unread)
    return lines


def _holds(vm: VmPlace) -> bool:
    return vm.held != HeldDevices()


def _vms(vms: Sequence[VmPlace], indent: str, *, home: bool = True) -> list[str]:
    lines: list[str] = []
    wide = max((len(vm.name) for vm in vms), default=0)
    for vm in vms:
        facts = [
            size_words(vm),
            home_words(vm) if home else "",
            "" if vm.is_on else POWER.get(vm.power, vm.power),
            holds_words(vm),
        ]
        lines += _filled(f"{indent}VM {vm.name:<{min(wide, 40)}}", [fact for fact in facts if fact])
    return lines


def _listed(title: str, names: Iterable[str]) -> list[str]:
    """List names, as many a line as fit, none of them broken."""
    names = list(names)
    if not names:
        return []
    head = f"  {title}:" if title else " "
    words = [f"{name}," for name in names[:-1]] + names[-1:]
    lines = [head]
    for word in words:
        if len(lines[-1]) + 1 + len(word) > _WIDTH and lines[-1].strip():
            lines.append("   ")
        lines[-1] += f" {word}"
    return lines


def _notes(description: HostDescription) -> list[str]:
    lines: list[str] = []
    if description.opaque_holders:
        lines.append("held, vCenter does not tell which card")
        lines += [f"  {opaque_text(held)}" for held in description.opaque_holders]
    for title, sentences in host_notes(description):
        lines.append(title)
        for sentence in sentences:
            lines += _wrapped(sentence)
    return lines


def _wrapped(sentence: str, indent: str = "  ") -> list[str]:
    return textwrap.wrap(
        sentence,
        _WIDTH,
        initial_indent=indent,
        subsequent_indent=f"{indent}  ",
        break_long_words=False,
        break_on_hyphens=False,
        fix_sentence_endings=False,
    )


FORMAT = Format(".tree.txt", lambda view: render_tree(view.description))
