"""Reads the XML of hwloc (``lstopo topology.xml``), formats 1 and 2 (also written as 2.x and 3.0).

A PCI function's NUMA nodes are those of the nearest object above it that has any: ``nodeset`` is a bitmap
of the operating system's node numbers, in words of 32 bits, the highest first, an empty word being 0. In
format 1 NUMA nodes are such objects themselves, in format 2 they hang beside the cores. Of NVLink there
is the matrix "NVLinkBandwidth" in MB/s, one way: 20,000 a link of the first generation (P100), 25,000 of
later ones (hwloc: topology-nvml.c).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from vplacer.errors import FileFormatError
from vplacer.inventory.gpu_models import AMD, NVIDIA
from vplacer.inventory.pci import PciAddress, PciIds
from vplacer.topology.importers.facts import DeviceFact, Facts
from vplacer.topology.importers.fit import fabric_links, sorted_links
from vplacer.topology.importers.safe_xml import Element, parse_xml, root_tag

TOOL = "hwloc"
MATRIX = "NVLinkBandwidth"
_FIRST_GENERATION = frozenset({0x15F9})
_MB_S = {True: 20_000, False: 25_000}
_MAX_BITS = 1 << 16
_TYPE_RE = re.compile(
    r"(?P<class>[0-9a-fA-F]{4}) \[(?P<vendor>[0-9a-fA-F]{4}):(?P<device>[0-9a-fA-F]{4})\]"
    r" \[(?P<sub_vendor>[0-9a-fA-F]{4}):(?P<sub_device>[0-9a-fA-F]{4})\].*"
)


@dataclass(frozen=True, slots=True)
class _Place:
    """Where in the tree an object stands: NUMA nodes of what is above it, the PCI functions above it."""

    nodes: frozenset[int] | None
    function: PciAddress | None


@dataclass(slots=True)
class _Tree:
    """What a walk through the objects finds. ``functions``: by "Type:gp_index", as distances name them.

    ``switches``: ends of NVLinks that are no GPUs; hwloc marks NVSwitches, whose class may be unread.
    """

    devices: dict[PciAddress, DeviceFact]
    functions: dict[str, PciAddress]
    cpu_objects: set[str]
    switches: set[PciAddress]
    several: dict[frozenset[int], list[PciAddress]]


def recognises(text: str) -> bool:
    """Whether a text is XML with the root element ``topology``."""
    return root_tag(text) == "topology"


def read(text: str, path: str) -> Facts:
    """Read the file.

    Raises:
        FileFormatError: it is no such file, or contradicts itself; carries the line.
    """
    root = parse_xml(text, path, "topology")
    tree = _Tree({}, {}, set(), set(), {})
    _walk(root, tree, path)
    if not tree.devices:
        raise FileFormatError(
            "the file lists no PCI device", path=path, hint="write it with: lstopo --whole-io topology.xml"
        )
    notes = [
        f"{len(at)} devices are near several NUMA nodes ({', '.join(map(str, sorted(nodes)))}), such as "
        f"{min(at)}: no node is taken over"
        for nodes, at in sorted(tree.several.items(), key=lambda item: sorted(item[0]))
    ]
    links = _links(root, tree, path, notes)
    return Facts(
        tool=TOOL, devices=tuple(tree.devices.values()), links=sorted_links(links), notes=tuple(notes)
    )


def _walk(root: Element, tree: _Tree, path: str) -> None:
    nodes_of_all = _all_nodes(root, path)
    waiting = [(child, _Place(None, None)) for child in root.all("object")]
    waiting.reverse()
    while waiting:
        element, place = waiting.pop()
        kind = element.get("type") or ""
        text = element.get("nodeset")
        if text is not None:
            place = _Place(_bits(text, element, path) & nodes_of_all or None, place.function)
        index = element.get("gp_index")
        if element.get("pci_busid") is not None:
            fact = _device(element, place, path)
            _add(fact, element.get("subtype"), place, tree, path)
            place = _Place(place.nodes, fact.address)
        if index is not None and place.function is not None:
            tree.functions[f"{kind}:{index}"] = place.function
        elif index is not None:
            tree.cpu_objects.add(f"{kind}:{index}")
        waiting += [(child, place) for child in reversed(list(element.all("object")))]


def _all_nodes(root: Element, path: str) -> frozenset[int]:
    """Return the NUMA nodes that the file lists; nodesets may name more than there are."""
    found = set()
    for element in root.walk():
        if element.tag == "object" and element.get("type") in ("NUMANode", "Node"):
            text = element.get("os_index")
            if text is None:
                continue
            if not re.fullmatch(r"[0-9]{1,6}", text):
                raise FileFormatError(f'os_index="{text[:40]}" is no number', path=path, line=element.line)
            found.add(int(text))
    return frozenset(found)


def _add(fact: DeviceFact, subtype: str | None, place: _Place, tree: _Tree, path: str) -> None:
    if fact.address in tree.devices:
        first = tree.devices[fact.address].line
        raise FileFormatError(
            f"{fact.address} stands twice", path=path, line=fact.line, why=f"the first is line {first}"
        )
    tree.devices[fact.address] = fact
    if subtype == "NVSwitch" or _is_bridge(fact):
        tree.switches.add(fact.address)
    if place.nodes is not None and len(place.nodes) > 1 and not _is_bridge(fact):
        tree.several.setdefault(place.nodes, []).append(fact.address)


def _is_bridge(fact: DeviceFact) -> bool:
    return fact.class_id is not None and fact.class_id >> 8 == 0x06


def _device(element: Element, place: _Place, path: str) -> DeviceFact:
    text = element.get("pci_busid") or ""
    try:
        address = PciAddress.parse(text)
    except ValueError as problem:
        raise FileFormatError(str(problem), path=path, line=element.line) from None
    match = _TYPE_RE.fullmatch(element.get("pci_type") or "")
    if match is None:
        raise FileFormatError(f"{address} without class and ids (pci_type)", path=path, line=element.line)
    numbers = {name: int(value, 16) for name, value in match.groupdict().items()}
    # hwloc writes zeros where it could not read the device.
    read = numbers["vendor"] not in (0, 0xFFFF)
    subs = (numbers["sub_vendor"], numbers["sub_device"]) if numbers["sub_vendor"] else (None, None)
    class_id = numbers["class"]
    return DeviceFact(
        label=str(address),
        address=address,
        line=element.line,
        ids=PciIds(numbers["vendor"], numbers["device"], *subs) if read else None,
        class_id=class_id if read else None,
        node=next(iter(place.nodes)) if place.nodes is not None and len(place.nodes) == 1 else None,
        parent=place.function,
        needed=class_id >> 8 in (0x03, 0x12) and numbers["vendor"] in (NVIDIA, AMD),
    )


def _bits(text: str, element: Element, path: str) -> frozenset[int]:
    """Return the numbers in a bitmap such as ``0x00000303,,0x3``."""
    found = set()
    words = text.split(",")
    if not text or len(words) * 32 > _MAX_BITS or "0xf...f" in text:
        raise FileFormatError(f'nodeset="{text[:40]}" is no finite bitmap', path=path, line=element.line)
    for place, word in enumerate(reversed(words)):
        if word and not re.fullmatch(r"0x[0-9a-fA-F]{1,8}", word):
            raise FileFormatError(f'nodeset="{text[:40]}" is no bitmap', path=path, line=element.line)
        value = int(word, 16) if word else 0
        found |= {32 * place + bit for bit in range(32) if value >> bit & 1}
    return frozenset(found)


def _links(root: Element, tree: _Tree, path: str, notes: list[str]) -> dict[frozenset[PciAddress], int]:
    matrices = [element for element in root.children if element.get("name") == MATRIX]
    if not matrices:
        notes.append("the file has no matrix NVLinkBandwidth: whether NVLink joins GPUs stays unknown")
        return {}
    if len(matrices) > 1:
        raise FileFormatError(f"two matrices {MATRIX}", path=path, line=matrices[1].line)
    matrix = matrices[0]
    names = _names(matrix)
    values = [int(text) for text in _words(matrix, "u64values", path) if len(text) <= 20]
    if not names or len(values) != len(names) ** 2:
        raise FileFormatError(
            f"{len(names)} objects and {len(values)} values do not make a matrix",
            path=path,
            line=matrix.line,
        )
    ends = [_end(name, tree, matrix, path) for name in names]
    return _joined(ends, values, tree, matrix, path, notes)


def _names(matrix: Element) -> list[str]:
    """Return the objects of a matrix as "Type:gp_index"; a matrix of one type names only the index."""
    words = [word for part in matrix.all("indexes") for word in part.text.split()]
    kind = matrix.get("type")
    return [word if ":" in word or kind is None else f"{kind}:{word}" for word in words]


def _words(matrix: Element, tag: str, path: str) -> list[str]:
    found = []
    for part in matrix.all(tag):
        for word in part.text.split():
            if not re.fullmatch(r"[0-9]{1,20}", word):
                raise FileFormatError(f"'{word[:40]}' is no number", path=path, line=part.line)
            found.append(word)
    return found


def _end(name: str, tree: _Tree, matrix: Element, path: str) -> PciAddress | None:
    """Return the PCI function of an object of the matrix; None = a CPU."""
    if name in tree.functions:
        return tree.functions[name]
    if name in tree.cpu_objects:
        return None
    raise FileFormatError(
        f"the matrix names {name}, which is no object of the file", path=path, line=matrix.line
    )


def _joined(
    ends: Sequence[PciAddress | None],
    values: Sequence[int],
    tree: _Tree,
    matrix: Element,
    path: str,
    notes: list[str],
) -> dict[frozenset[PciAddress], int]:
    size = len(ends)
    gpus = [end for end in ends if end is not None and end not in tree.switches]
    if len(set(gpus)) != len(gpus):
        raise FileFormatError("a GPU stands twice in the matrix", path=path, line=matrix.line)
    direct: dict[frozenset[PciAddress], int] = {}
    to_switches: dict[PciAddress, int] = {}
    odd: list[str] = []
    to_cpus = False
    for row, a in enumerate(ends):
        for column, b in enumerate(ends):
            value = values[row * size + column]
            if values[column * size + row] != value:
                raise FileFormatError(
                    f"{a} to {b} has {value} MB/s, the way back {values[column * size + row]}",
                    path=path,
                    line=matrix.line,
                )
            if row == column or value == 0 or a is None or a in tree.switches:
                continue
            if b is None:
                to_cpus = True
                continue
            rate = _MB_S[_first_generation(tree.devices[a])]
            if value % rate:
                odd.append(f"{a} to {b} ({value} MB/s)")
            elif b in tree.switches:
                to_switches[a] = to_switches.get(a, 0) + value // rate
            else:
                direct[frozenset((a, b))] = value // rate
    if odd:
        notes.append(f"NVLinks of {odd[0]} cannot be counted from the bandwidth, so no links are taken over")
        return {}
    if to_cpus:
        notes.append("links between GPUs and CPUs are not taken over")
    return fabric_links(sorted(gpus), direct, to_switches)


def _first_generation(fact: DeviceFact) -> bool:
    return fact.ids is not None and fact.ids.vendor == NVIDIA and fact.ids.device in _FIRST_GENERATION
