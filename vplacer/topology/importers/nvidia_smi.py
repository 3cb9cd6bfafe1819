"""Makes an overlay from ``nvidia-smi topo -m`` of a host, and holds it against what vCenter says."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

from vplacer.errors import UsageError
from vplacer.inventory.device_kind import DeviceKind, device_kind
from vplacer.inventory.gpu_models import NVIDIA
from vplacer.inventory.host import Host, PciDevice
from vplacer.inventory.overlay import Overlay, OverlayDevice, OverlayLink
from vplacer.inventory.pci import PciAddress
from vplacer.topology.importers.smi_matrix import SmiMatrix, SmiRow, is_gpu

_WITHIN_NODE = frozenset({"PIX", "PXB", "PHB", "NODE"})
_ACROSS_NODES = frozenset({"SYS", "SOC"})


@dataclass(frozen=True, slots=True)
class ImportResult:
    """The overlay, what of the matrix contradicts vCenter (left out), and what else is to be known."""

    overlay: Overlay
    contradictions: tuple[str, ...]
    notes: tuple[str, ...]


def overlay_from_matrix(
    matrix: SmiMatrix,
    host: Host,
    *,
    created: str,
    vcenter_uuid: str | None = None,
    gpu_addresses: Sequence[PciAddress] | None = None,
    nic_addresses: Mapping[str, PciAddress] | None = None,
) -> ImportResult:
    """Turn a matrix that was printed on ``host`` into an overlay for it.

    nvidia-smi numbers GPUs in the order of their PCI addresses, so the host's NVIDIA GPUs give the
    addresses, unless the matrix has a column for them or ``gpu_addresses`` names them.

    Args:
        matrix: see `parse_matrix`.
        host: the host it was printed on, not a VM: a guest has NUMA nodes and addresses of its own.
        created: when, ISO 8601 UTC.
        vcenter_uuid: the vCenter of the host, to keep hosts of several apart.
        gpu_addresses: the address of GPU0, GPU1, ...
        nic_addresses: addresses by label ("NIC0") or name in the legend ("mlx5_0"); NICs that are not
            in it are left out, since the matrix does not tell their addresses.

    Raises:
        UsageError: the matrix does not fit the host.
    """
    gpus = _gpu_devices(matrix, host, gpu_addresses)
    nics = _nic_devices(matrix, host, nic_addresses or {})
    contradictions: list[str] = []
    notes: list[str] = []
    nodes = _gpu_nodes(matrix.gpu_rows, gpus, host, contradictions, notes)
    nodes |= _nic_nodes(matrix, gpus, nics, nodes, host, contradictions)
    links = _links(matrix, gpus, notes)
    contradictions += _path_contradictions(matrix, gpus, host)
    notes += _missing_bridges(gpus, links)
    devices = tuple(
        OverlayDevice(device.address, device.ids, nodes.get(label))
        for label, device in sorted({**gpus, **nics}.items(), key=lambda item: item[1].address)
    )
    overlay = Overlay(
        host=host.name,
        host_uuid=host.uuid,
        vcenter_uuid=vcenter_uuid,
        created=created,
        source="nvidia-smi topo -m",
        devices=devices,
        links=links,
    )
    return ImportResult(overlay, tuple(contradictions), tuple(notes))


def _gpu_devices(matrix: SmiMatrix, host: Host, given: Sequence[PciAddress] | None) -> dict[str, PciDevice]:
    rows = matrix.gpu_rows
    present = {
        device.address: device
        for device in host.pci_devices
        if device_kind(device) is DeviceKind.GPU and device.ids.vendor == NVIDIA
    }
    if given is None and all(row.address is not None for row in rows):
        given = [row.address for row in rows if row.address is not None]
    if given is None:
        given = sorted(present)
        if len(given) != len(rows):
            raise UsageError(
                f"the matrix has {len(rows)} GPUs, the host has {len(given)} of NVIDIA",
                obj=host.name,
                hint="was it printed in a VM, or on another host? Else give the address of each GPU",
            )
    if len(given) != len(rows) or len(set(given)) != len(given):
        raise UsageError(
            f"the matrix has {len(rows)} GPUs, {len(set(given))} addresses are given", obj=host.name
        )
    for address in given:
        if address not in present:
            raise UsageError(f"{address} is not an NVIDIA GPU of this host", obj=host.name)
    return {row.label: present[address] for row, address in zip(rows, given, strict=True)}


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


def _gpu_nodes(
    rows: Sequence[SmiRow],
    gpus: Mapping[str, PciDevice],
    host: Host,
    contradictions: list[str],
    notes: list[str],
) -> dict[str, int]:
    ranges = [f"{row.label} ({row.numa_affinity})" for row in rows if _is_range(row)]
    if ranges:
        notes.append(
            f"NUMA Affinity of {', '.join(ranges)} names several nodes, as inside a cpuset: not used"
        )
    found: dict[str, int] = {}
    for row in rows:
        node = row.numa_node
        if node is not None and _fits(row.label, node, gpus[row.label], host, contradictions):
            found[row.label] = node
    return found


def _is_range(row: SmiRow) -> bool:
    text = row.numa_affinity or ""
    return row.numa_node is None and text[:1].isdigit() and not text.isdigit()


def _fits(label: str, node: int, device: PciDevice, host: Host, contradictions: list[str]) -> bool:
    """Whether a node told for a device can stand beside what vCenter says; else say why not."""
    cores = {item.id: item.core_count for item in host.numa_nodes}
    if cores and node not in cores:
        contradictions.append(
            f"{label} {device.address}: the matrix says NUMA node {node}, which vCenter lacks"
        )
        return False
    known = host.node_of(device.address)
    # A node without cores is the GPU's own memory; the matrix then names the nearest CPU node.
    if known is None or known == node or cores[known] == 0:
        return True
    contradictions.append(
        f"{label} {device.address}: the matrix says NUMA node {node}, vCenter says pNUMA {known}"
    )
    return False


def _nic_nodes(
    matrix: SmiMatrix,
    gpus: Mapping[str, PciDevice],
    nics: Mapping[str, PciDevice],
    nodes: Mapping[str, int],
    host: Host,
    contradictions: list[str],
) -> dict[str, int]:
    """A NIC within the node of a GPU whose node is told is on that node."""
    found: dict[str, int] = {}
    for nic, device in nics.items():
        near = {nodes[gpu] for gpu in gpus if gpu in nodes and _word(matrix, nic, gpu) in _WITHIN_NODE}
        if len(near) == 1:
            node = near.pop()
            if _fits(nic, node, device, host, contradictions):
                found[nic] = node
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
