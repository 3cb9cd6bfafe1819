"""Reads NCCL's topology XML (NCCL_TOPO_DUMP_FILE, NCCL_TOPO_FILE), and RCCL's, which is the same.

``system`` holds a ``cpu`` a NUMA node (``numaid``, -1 = unknown), that the ``pci`` functions below it,
nested as bridges are; NCCL leaves out downstream ports of switches. A ``gpu`` lists its ``nvlink`` (AMD:
``xgmi``) by ``target``, ``count`` and ``tclass``: 0x03.. and 0x12.. are GPUs, 0x068000 an NVSwitch,
0x068001 a CPU (NVIDIA/nccl: xml.cc, topo.cc). Files that are shipped with machine images name no links
and make bridges up (``ffff:ff:01.0``).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from vplacer.errors import FileFormatError
from vplacer.inventory.pci import PciAddress, PciIds, known_index
from vplacer.topology.importers.facts import DeviceFact, Facts
from vplacer.topology.importers.fit import fabric_links, sorted_links
from vplacer.topology.importers.safe_xml import Element, parse_xml, root_tag

TOOL = "NCCL topology XML"
_MADE_UP_SEGMENT = 0xFFFF
_SWITCH = 0x0680
_CPU_CLASS = 0x068001
_MAX_LINKS = 255
_NO_ID = 0xFFFF


@dataclass(slots=True)
class _Gpu:
    """A ``gpu`` element: its function, and its links as told."""

    address: PciAddress
    label: str
    line: int
    direct: dict[PciAddress, tuple[int, int]] = field(default_factory=dict)
    to_switches: int = 0
    to_cpus: int = 0


def recognises(text: str) -> bool:
    """Whether a text is XML with the root element ``system``."""
    return root_tag(text) == "system"


def read(text: str, path: str) -> Facts:
    """Read the file.

    Raises:
        FileFormatError: it is no such file, or contradicts itself; carries the line.
    """
    root = parse_xml(text, path, "system")
    devices: dict[PciAddress, DeviceFact] = {}
    gpus: dict[PciAddress, _Gpu] = {}
    notes: list[str] = []
    for element, node, parent in _functions(root, path):
        fact = _device(element, node, parent, path)
        if fact is None:
            continue
        if fact.address in devices:
            first = devices[fact.address].line
            raise FileFormatError(
                f"{fact.address} stands twice", path=path, line=element.line, why=f"the first is line {first}"
            )
        devices[fact.address] = fact
        for child in element.all("gpu"):
            if fact.address in gpus:
                raise FileFormatError("two gpu elements in one pci", path=path, line=child.line)
            gpus[fact.address] = _gpu(child, fact, path)
    if not devices:
        raise FileFormatError("no pci element with an address", path=path, line=root.line)
    return Facts(
        tool=TOOL,
        devices=tuple(devices.values()),
        links=sorted_links(_links(gpus, path, notes)),
        notes=tuple(notes),
    )


def _functions(root: Element, path: str) -> Iterator[tuple[Element, int | None, PciAddress | None]]:
    """Yield every pci element with its NUMA node and the bridge above it, in the order of the file."""
    for cpu in root.all("cpu"):
        node = _number(cpu, "numaid", path, base=10)
        waiting: list[tuple[Element, PciAddress | None]] = [(e, None) for e in reversed(cpu.children)]
        while waiting:
            element, parent = waiting.pop()
            if element.tag != "pci":
                continue
            yield element, known_index(node), parent
            here = _address(element, "busid", path)
            above = here if here.segment != _MADE_UP_SEGMENT else None
            waiting += [(child, above) for child in reversed(element.children)]


def _device(element: Element, node: int | None, parent: PciAddress | None, path: str) -> DeviceFact | None:
    address = _address(element, "busid", path)
    if address.segment == _MADE_UP_SEGMENT:
        return None
    class_id = _number(element, "class", path, base=16)
    vendor, device = (_id(element, name, path) for name in ("vendor", "device"))
    subs: tuple[int | None, int | None] = (_id(element, "subsystem_vendor", path), None)
    if subs[0] is not None:
        subs = (subs[0], _number(element, "subsystem_device", path, base=16))
    if subs[1] is None or not 0 <= subs[1] <= _NO_ID:
        subs = (None, None)
    ids = None if vendor is None or device is None else PciIds(vendor, device, *subs)
    short = None if class_id is None else (class_id >> 8) & 0xFFFF
    gpu = next(element.all("gpu"), None)
    dev = None if gpu is None else gpu.get("dev")
    return DeviceFact(
        label=str(address) if dev is None else f"gpu {dev}",
        address=address,
        line=element.line,
        ids=ids,
        class_id=short,
        node=node,
        parent=parent,
        needed=gpu is not None or short is None or short >> 8 in (0x03, 0x12),
    )


def _gpu(element: Element, fact: DeviceFact, path: str) -> _Gpu:
    found = _Gpu(fact.address, fact.label, element.line)
    for link in element.children:
        if link.tag not in ("nvlink", "xgmi"):
            continue
        count = _number(link, "count", path, base=10)
        if count is None or not 0 < count <= _MAX_LINKS:
            raise FileFormatError("a link without a count above 0", path=path, line=link.line)
        target_class = _number(link, "tclass", path, base=16)
        base = None if target_class is None else (target_class >> 8) & 0xFFFF
        if target_class == _CPU_CLASS:
            found.to_cpus += count
        elif base == _SWITCH:
            found.to_switches += count
        else:
            target = _address(link, "target", path)
            if target == fact.address or target in found.direct:
                what = "to itself" if target == fact.address else f"to {target} a second time"
                raise FileFormatError(f"{fact.address} is linked {what}", path=path, line=link.line)
            found.direct[target] = (count, link.line)
    return found


def _links(gpus: Mapping[PciAddress, _Gpu], path: str, notes: list[str]) -> dict[frozenset[PciAddress], int]:
    """Return links of every pair whose GPUs are listed; none where the file tells no link at all."""
    direct: dict[frozenset[PciAddress], int] = {}
    for gpu in gpus.values():
        for target, (count, line) in gpu.direct.items():
            other = gpus.get(target)
            if other is None:
                notes.append(f"line {line}: {gpu.address} is linked to {target}, which is no GPU of the file")
                continue
            back = other.direct.get(gpu.address)
            if back is None or back[0] != count:
                says = "nothing" if back is None else f"{back[0]} (line {back[1]})"
                raise FileFormatError(
                    f"{gpu.address} has {count} links to {target}, {target} has {says} to {gpu.address}",
                    path=path,
                    line=line,
                )
            direct[frozenset((gpu.address, target))] = count
    to_switches = {gpu.address: gpu.to_switches for gpu in gpus.values() if gpu.to_switches}
    if not direct and not to_switches:
        notes.append("the file tells no NVLink (or xGMI) of any GPU: whether there are links stays unknown")
        return {}
    if any(gpu.to_cpus for gpu in gpus.values()):
        notes.append("links between GPUs and CPUs are not taken over")
    return fabric_links(sorted(gpus), direct, to_switches)


def _address(element: Element, name: str, path: str) -> PciAddress:
    text = element.get(name)
    if text is None:
        raise FileFormatError(f"<{element.tag}> without {name}", path=path, line=element.line)
    try:
        return PciAddress.parse(text)
    except ValueError as problem:
        raise FileFormatError(str(problem), path=path, line=element.line) from None


def _number(element: Element, name: str, path: str, *, base: int) -> int | None:
    text = element.get(name)
    if text is None or text == "":
        return None
    try:
        if len(text) > 20:
            raise ValueError
        return int(text, base)
    except ValueError:
        raise FileFormatError(f'{name}="{text[:40]}" is no number', path=path, line=element.line) from None


def _id(element: Element, name: str, path: str) -> int | None:
    """Return an id of 16 bits; None where the file has none (0x0000 and 0xffff are made up)."""
    value = _number(element, name, path, base=16)
    return None if value is None or value in (0, _NO_ID) or not 0 <= value <= _NO_ID else value
