"""A host's topology as the XML that NCCL reads by ``NCCL_TOPO_FILE`` and writes by ``NCCL_TOPO_DUMP_FILE``.

The elements and attributes are those of NCCL's reader (NVIDIA/nccl, src/graph/xml.cc and topo.cc): a CPU
a NUMA node, the PCIe switches and devices below it, in them the GPUs with their NVLinks and the NICs. As
NCCL itself does, a NUMA node that is not known is written as ``numaid="-1"``, the speed and width of a
PCIe link that nobody told as empty text, and a link to an NVSwitch as one to ``fffffff:ffff:ff``. What
else is not known is left out: NCCL then asks the machine it runs on. Of a GPU with some links NCCL takes
the others to be none, so where one pair of GPUs is not known, no link of the host is written.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final
from xml.etree import ElementTree as ET

from vplacer.errors import UsageError
from vplacer.inventory.device_kind import DeviceKind
from vplacer.inventory.gpu_models import AMD
from vplacer.inventory.pci import PciAddress
from vplacer.report.host_formats import Format
from vplacer.topology.describe import DeviceLine, HostDescription
from vplacer.topology.host_view import HostView
from vplacer.topology.nvlink_sets import NvlinkSet

_CPU_VENDORS: Final = {"intel": "GenuineIntel", "amd": "AuthenticAMD"}
"""HostCpuPackage.vendor, as the processor itself says it."""
_BRIDGE_CLASS: Final = "0x060400"
_NVSWITCH_CLASS: Final = "0x068000"
_NVSWITCH_TARGET: Final = "fffffff:ffff:ff"
_MOST_SEGMENTS: Final = 0xFFFF


def render_nccl(view: HostView) -> str:
    """Return the XML document, ending in a newline.

    Raises:
        UsageError: the host has a device whose address NCCL cannot read.
    """
    description = view.description
    shown = [line for line in description.devices if line.place.kind is not DeviceKind.NVSWITCH]
    _refuse(description, shown)
    classes = {device.address: device.class_id for device in view.host.pci_devices}
    switches = _whole_switches(shown)
    root = ET.Element("system", {"version": "1"})
    for note in _left_out(description, shown, switches):
        root.append(ET.Comment(f" {note.replace('--', '- -')} "))
    known = {node.id for node in description.nodes}
    cpus = {node.id: _cpu(root, str(node.id), view, node.thread_ids) for node in description.nodes}
    lost = [line for line in shown if line.place.node not in known]
    unknown = _cpu(root, "-1", view, ()) if lost else None
    places: dict[PciAddress, ET.Element] = {}
    for line in sorted(shown, key=lambda item: (*item.place.switches[::-1], item.place.address)):
        cpu = cpus.get(line.place.node) if line.place.node is not None else None
        outer = cpu if cpu is not None else unknown
        assert outer is not None
        for switch in reversed(line.place.switches):
            if switch in switches:
                if switch not in places:
                    places[switch] = _pci(outer, switch, _BRIDGE_CLASS)
                outer = places[switch]
        _device(outer, line, classes, description)
    ET.indent(root, "  ")
    return ET.tostring(root, encoding="unicode") + "\n"


def _refuse(description: HostDescription, shown: Sequence[DeviceLine]) -> None:
    for line in shown:
        if line.place.address.segment > _MOST_SEGMENTS:
            raise UsageError(
                "has no NCCL topology",
                obj=description.name,
                why=f"{line.label} is at {line.place.address}, and NCCL reads segments of four digits",
                hint="use another format for this host",
            )


def _whole_switches(shown: Sequence[DeviceLine]) -> frozenset[PciAddress]:
    """Return the switches below which all devices are on one node: the others are in no CPU's tree."""
    nodes: dict[PciAddress, set[int | None]] = {}
    for line in shown:
        for switch in line.place.switches:
            nodes.setdefault(switch, set()).add(line.place.node)
    return frozenset(switch for switch, below in nodes.items() if len(below) == 1)


def _left_out(
    description: HostDescription, shown: Sequence[DeviceLine], switches: frozenset[PciAddress]
) -> list[str]:
    """Say what the document does not, because it is not known or cannot be said."""
    notes = ["Addresses are those of the ESXi host; a guest has others."]
    unknown = [line.label for line in shown if line.open_links]
    if unknown:
        notes.append(f"NVLinks left out: not all of {' '.join(unknown)} are known")
    split = {s for line in shown for s in line.place.switches} - switches
    if split:
        listed = " ".join(str(address) for address in sorted(split))
        notes.append(f"Switches left out, not all below them is known to be on one NUMA node: {listed}")
    notes += [f"Assumed: {text}" for text in description.assumptions if text.startswith("NVLink")]
    return notes


def _cpu(root: ET.Element, node: str, view: HostView, threads: Sequence[int]) -> ET.Element:
    attributes = {"numaid": node}
    if threads:
        attributes["affinity"] = _mask(threads)
    attributes["arch"] = "x86_64"
    vendor = _CPU_VENDORS.get((view.host.cpu_vendor or "").lower())
    if vendor is not None:
        attributes["vendor"] = vendor
    return ET.SubElement(root, "cpu", attributes)


def _mask(threads: Sequence[int]) -> str:
    """Write a set of CPUs as the kernel does: words of 32 bits, the highest first."""
    bits = sum(1 << thread for thread in set(threads))
    words: list[str] = []
    while bits or not words:
        words.append(f"{bits & 0xFFFFFFFF:08x}")
        bits >>= 32
    return ",".join(reversed(words))


def _pci(outer: ET.Element, address: PciAddress, class_: str, **more: str) -> ET.Element:
    attributes = {"busid": str(address), "class": class_, **more, "link_speed": "", "link_width": ""}
    return ET.SubElement(outer, "pci", attributes)


def _device(
    outer: ET.Element,
    line: DeviceLine,
    classes: Mapping[PciAddress, int],
    description: HostDescription,
) -> None:
    ids = line.place.ids
    numbers = {
        "vendor": ids.vendor,
        "device": ids.device,
        "subsystem_vendor": ids.sub_vendor,
        "subsystem_device": ids.sub_device,
    }
    told = {name: f"0x{number:04x}" for name, number in numbers.items() if number is not None}
    pci = _pci(outer, line.place.address, _class(classes, line.place.address), **told)
    index = line.label.lstrip("GPUNIC")
    if line.place.kind is DeviceKind.GPU:
        gpu = ET.SubElement(pci, "gpu", {"dev": index})
        told_all = not any(other.open_links for other in description.devices)
        for found in description.nvlink_sets if told_all else ():
            if line.place.address in found.gpus:
                _links(gpu, line, found, classes)
        return
    nic = ET.SubElement(pci, "nic")
    if line.link_mbps is not None:
        ET.SubElement(nic, "net", {"name": line.name, "dev": index, "speed": str(line.link_mbps)})


def _class(classes: Mapping[PciAddress, int], address: PciAddress) -> str:
    """Write a class; vSphere tells base and sub-class, not the programming interface."""
    return f"0x{classes[address]:04x}00"


def _links(gpu: ET.Element, line: DeviceLine, found: NvlinkSet, classes: Mapping[PciAddress, int]) -> None:
    tag = "xgmi" if line.place.ids.vendor == AMD else "nvlink"
    if found.switched:
        target = {"target": _NVSWITCH_TARGET, "count": str(found.lanes), "tclass": _NVSWITCH_CLASS}
        ET.SubElement(gpu, tag, target)
        return
    for link in line.links:
        other = {"target": str(link.address), "count": str(link.lanes)}
        ET.SubElement(gpu, tag, {**other, "tclass": _class(classes, link.address)})


FORMAT = Format(".xml", render_nccl, ("<system",))
