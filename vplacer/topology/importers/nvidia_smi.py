"""Reads ``nvidia-smi topo -m`` of a host, or of a VM on it, into facts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations

from vplacer.errors import UsageError
from vplacer.inventory.host import Host, PciDevice
from vplacer.inventory.overlay import OverlayLink
from vplacer.inventory.pci import PciAddress
from vplacer.topology.importers.facts import DeviceFact, Facts, ReadOptions
from vplacer.topology.importers.smi_matrix import SmiMatrix, has_heading, is_gpu, parse_matrix
from vplacer.topology.importers.smi_numbers import number_gpus, refuse_guest

TOOL = "nvidia-smi topo -m"
_WITHIN_NODE = frozenset({"PIX", "PXB", "PHB", "NODE"})
_ACROSS_NODES = frozenset({"SYS", "SOC"})


def recognises(text: str) -> bool:
    """Whether a text has the headings of a matrix."""
    return has_heading(text)


def read(text: str, path: str, host: Host, options: ReadOptions) -> Facts:
    """Read a matrix.

    Raises:
        FileFormatError: no matrix, or one that contradicts itself; carries the line.
        UsageError: the cards cannot be told, or the matrix is not of this host.
    """
    return matrix_facts(parse_matrix(text, path), host, options)


def matrix_facts(matrix: SmiMatrix, host: Host, options: ReadOptions) -> Facts:
    """Return the facts of a matrix.

    Of a guest only NVLinks count: its NUMA nodes and PCIe ways are virtual, and a link that is missing
    there may be there on the host.

    Raises:
        UsageError: the cards cannot be told, or the matrix is not of this host.
    """
    _refuse_unknown_nics(matrix, options.nics)
    numbering = number_gpus(matrix, host, options)
    gpus = numbering.cards
    notes: list[str] = []
    if options.taken_in is not None:
        links = tuple(link for link in _links(matrix, gpus, notes) if link.lanes > 0)
        notes.append("taken in a VM: only NVLinks are taken over, NUMA nodes there are virtual")
        return Facts(TOOL, _devices(matrix, gpus, {}), links, (numbering.how,), (), tuple(notes))
    refuse_guest(matrix, numbering, host)
    nodes = _gpu_nodes(matrix, notes)
    nics = _nic_devices(matrix, host, {**dict(matrix.nic_addresses), **options.nics})
    nodes |= _nic_nodes(matrix, gpus, nics, nodes)
    links = _links(matrix, gpus, notes)
    return Facts(
        tool=TOOL,
        devices=_devices(matrix, {**gpus, **nics}, nodes),
        links=links,
        options=(numbering.how,),
        contradictions=tuple(_path_contradictions(matrix, gpus, host)),
        notes=(*notes, *_missing_bridges(gpus, links)),
    )


def _devices(
    matrix: SmiMatrix, devices: Mapping[str, PciDevice], nodes: Mapping[str, int]
) -> tuple[DeviceFact, ...]:
    lines = {row.label: row.line for row in matrix.rows}
    return tuple(
        DeviceFact(label, device.address, lines[label], device.ids, device.class_id, nodes.get(label))
        for label, device in devices.items()
    )


def _refuse_unknown_nics(matrix: SmiMatrix, nics: Mapping[str, PciAddress]) -> None:
    known = {*matrix.labels, *(name for _, name in matrix.nic_names)}
    for name in nics:
        if name not in known:
            raise UsageError(
                "the matrix has no device of this name",
                obj=name,
                hint="give a label, such as NIC0, or a name of its legend",
            )


def _nic_devices(matrix: SmiMatrix, host: Host, given: Mapping[str, PciAddress]) -> dict[str, PciDevice]:
    names = dict(matrix.nic_names)
    found: dict[str, PciDevice] = {}
    for label in matrix.labels:
        address = given.get(label) or given.get(names.get(label, ""))
        if is_gpu(label) or address is None:
            continue
        device = host.device(address)
        if device is None:
            raise UsageError(f"{label}: there is no device {address}", obj=host.name)
        found[label] = device
    return found


def _gpu_nodes(matrix: SmiMatrix, notes: list[str]) -> dict[str, int]:
    ranges = [f"{row.label} ({row.numa_affinity})" for row in matrix.gpu_rows if row.several_nodes]
    if ranges:
        notes.append(
            f"NUMA Affinity of {', '.join(ranges)} names several nodes, as inside a cpuset: not used"
        )
    return {row.label: row.numa_node for row in matrix.gpu_rows if row.numa_node is not None}


def _nic_nodes(
    matrix: SmiMatrix,
    gpus: Mapping[str, PciDevice],
    nics: Mapping[str, PciDevice],
    nodes: Mapping[str, int],
) -> dict[str, int]:
    """A NIC within the node of a GPU whose node is told is on that node."""
    found: dict[str, int] = {}
    for nic in nics:
        near = {nodes[gpu] for gpu in gpus if gpu in nodes and _word(matrix, nic, gpu) in _WITHIN_NODE}
        if len(near) == 1:
            found[nic] = near.pop()
    return found


def _word(matrix: SmiMatrix, a: str, b: str) -> str:
    return matrix.word(a, b).removesuffix("?") or "?"


def _links(matrix: SmiMatrix, gpus: Mapping[str, PciDevice], notes: list[str]) -> tuple[OverlayLink, ...]:
    """Return a link for every pair of GPUs: NV# has # lanes, a word of the PCIe way proves there is none."""
    found = []
    for a, b in combinations(gpus, 2):
        word = matrix.word(a, b)
        one, other = sorted((gpus[a].address, gpus[b].address))
        if word.startswith("NV"):
            found.append(OverlayLink(one, other, int(word[2:].removesuffix("?"))))
        elif word in _WITHIN_NODE | _ACROSS_NODES:
            found.append(OverlayLink(one, other, 0))
        else:
            notes.append(f"{a} to {b} is '{word}': whether NVLink joins them stays unknown")
    return tuple(sorted(found))


def _path_contradictions(matrix: SmiMatrix, gpus: Mapping[str, PciDevice], host: Host) -> list[str]:
    """Name pairs of GPUs whose word cannot be, if vCenter's nodes are right."""
    found = []
    with_cores = {node.id for node in host.numa_nodes if node.core_count > 0}
    for a, b in combinations(gpus, 2):
        node_a, node_b = host.node_of(gpus[a].address), host.node_of(gpus[b].address)
        if node_a not in with_cores or node_b not in with_cores:
            continue
        word = _word(matrix, a, b)
        if word in _WITHIN_NODE and node_a != node_b:
            found.append(f"{a} to {b} is {word}, within one node; vCenter says pNUMA {node_a} and {node_b}")
        if word in _ACROSS_NODES and node_a == node_b:
            found.append(f"{a} to {b} is {word}, across nodes; vCenter says both are on pNUMA {node_a}")
    return found


def _missing_bridges(gpus: Mapping[str, PciDevice], links: Sequence[OverlayLink]) -> list[str]:
    """Name GPUs without any NVLink beside others of their kind that have it: a bridge may be missing."""
    joined = {end for link in links if link.lanes > 0 for end in (link.a, link.b)}
    kinds = {(d.ids.vendor, d.ids.device) for d in gpus.values() if d.address in joined}
    alone = [
        f"{label} {device.address}"
        for label, device in gpus.items()
        if device.address not in joined and (device.ids.vendor, device.ids.device) in kinds
    ]
    if not alone:
        return []
    return [f"{', '.join(alone)}: no NVLink, unlike others of the model; a bridge may be missing or inactive"]
