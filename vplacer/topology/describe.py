"""One host's topology as flat data: what the exporters print, with who holds what.

Labels are those of ``nvidia-smi topo -m``: GPU0.. and NIC0.. in the order of PCI addresses.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import combinations

from vplacer.inventory.cluster import Cluster
from vplacer.inventory.device_kind import DeviceKind
from vplacer.inventory.finding import Finding
from vplacer.inventory.gpu_models import gpu_by_ids
from vplacer.inventory.host import ConnectionState, Host, PciDevice, Pnic
from vplacer.inventory.measured import MeasuredHome
from vplacer.inventory.pci import PciAddress
from vplacer.inventory.vm import Vm
from vplacer.topology.cpu_features import CpuOffer, cpu_precisions
from vplacer.topology.describe_use import (
    ClaimLine,
    FindingLine,
    HolderLine,
    OpaqueHolder,
    TiedHolder,
    UseLines,
    describe_use,
    finding_line,
)
from vplacer.topology.host_topology import HostTopology
from vplacer.topology.levels import Level, NumaRelation, Relation
from vplacer.topology.measured import HostMeasurement
from vplacer.topology.nvlink_sets import NvlinkSet, nvlink_sets
from vplacer.topology.values import DeviceTopology, GroupOffer, NodeTopology
from vplacer.topology.vgpu_capacity import CardCapacity
from vplacer.topology.vm_places import VmPlace, vm_places

_LABELS = {DeviceKind.GPU: "GPU", DeviceKind.NIC: "NIC", DeviceKind.NVSWITCH: "NVSwitch"}


@dataclass(frozen=True, slots=True)
class LinkLine:
    """A GPU joined by ``lanes`` NVLinks (never 0)."""

    label: str
    address: PciAddress
    lanes: int


@dataclass(frozen=True, slots=True)
class DeviceLine:
    """One device. ``name``: GPU model or vmnic, else vCenter's device name.

    ``state``: active | enabled (reboot pending) | capable | none | unknown, of DirectPath I/O.
    ``precisions``: what a GPU computes in, None = not known, or no GPU.
    ``links``: GPUs joined by NVLink; ``open_links``: GPUs of which it is not known. ``nvlink_set``: the
    name of its set in `HostDescription.nvlink_sets`, None where no link is known. ``tied``: VMs that hold
    what is reset together with it, and so keep it from other VMs. ``capacity``: free vGPU
    capacity, None where the device is not set up for vGPU.
    """

    label: str
    place: DeviceTopology
    name: str
    state: str
    hardware_label: str | None
    link_mbps: int | None
    links: tuple[LinkLine, ...]
    open_links: tuple[str, ...]
    nvlink_set: str | None
    holders: tuple[HolderLine, ...]
    tied: tuple[TiedHolder, ...] = ()
    precisions: tuple[str, ...] | None = None
    capacity: CardCapacity | None = None


@dataclass(frozen=True, slots=True)
class PairLine:
    """Two devices, by label, and what is known of them. ``nearest``: NVLink aside."""

    a: str
    b: str
    relation: Relation
    word: str
    nearest: Level


@dataclass(frozen=True, slots=True)
class NodePair:
    """Two pNUMA nodes."""

    a: int
    b: int
    relation: NumaRelation


@dataclass(frozen=True, slots=True)
class MatrixRow:
    """One row of the matrix: its label, a cell a column, and the affinity columns (None = no cell)."""

    label: str
    cells: tuple[str, ...]
    cpu_affinity: str | None
    numa_affinity: str | None
    gpu_numa_id: str | None


@dataclass(frozen=True, slots=True)
class HostState:
    """How a host is. None = not told."""

    connection: ConnectionState
    in_maintenance: bool | None
    in_quarantine: bool | None
    reboot_required: bool | None


@dataclass(frozen=True, slots=True)
class HostDescription:
    """All that the exporters print of one host.

    ``matrix``: GPUs, then NICs. A cell is a word of nvidia-smi, "?" = unknown; a "?" after a word means
    that the word is that of the PCIe way, and whether NVLink joins the two is unknown.
    ``measured``: where VMs were; None = never measured.
    """

    moid: str
    name: str
    hardware: str
    state: HostState
    package_count: int | None
    nodes: tuple[NodeTopology, ...]
    node_pairs: tuple[NodePair, ...]
    devices: tuple[DeviceLine, ...]
    pairs: tuple[PairLine, ...]
    matrix: tuple[MatrixRow, ...]
    opaque_holders: tuple[OpaqueHolder, ...]
    use: tuple[ClaimLine, ...]
    findings: tuple[FindingLine, ...]
    vgpu_capacity: tuple[CardCapacity, ...]
    vm_names: Mapping[str, str]
    vms: tuple[VmPlace, ...]
    nvlink_sets: tuple[NvlinkSet, ...]
    board: str | None
    device_groups: tuple[GroupOffer, ...]
    ownership_groups: tuple[tuple[PciAddress, ...], ...]
    assumptions: tuple[str, ...]
    mismatches: tuple[str, ...]
    cpu: tuple[CpuOffer, ...] = ()
    measured: HostMeasurement | None = None


def describe_host(
    host: Host,
    topology: HostTopology,
    vms: Iterable[Vm] = (),
    cluster: Cluster | None = None,
    measured: HostMeasurement | None = None,
    everywhere: Mapping[str, Vm] | None = None,
    more_findings: Iterable[Finding] = (),
) -> HostDescription:
    """Describe a host.

    ``vms``: those registered on it, to say who holds what. ``cluster``: its own. ``everywhere``: all VMs of
    the vCenter by managed object id, to say where a holder is that is not registered on it.
    ``more_findings``: what was found on the settings of the host and its VMs.
    """
    vms = tuple(vms)
    labels = device_labels(topology)
    use = describe_use(host, topology, vms, everywhere)
    hardware = {device.address: device for device in host.pci_devices}
    pnics = {pnic.address: pnic for pnic in host.pnics if pnic.address is not None}
    sets = nvlink_sets(topology.gpus, topology.links)
    in_set = {address: found.name for found in sets for address in found.gpus}
    devices = tuple(
        _device_line(place, labels, topology, hardware[place.address], pnics.get(place.address), use, in_set)
        for place in topology.devices
    )
    shown = [*topology.gpus, *topology.nics]
    return HostDescription(
        moid=host.moid,
        name=host.name,
        hardware=" ".join(part for part in (host.vendor, host.model) if part),
        state=HostState(host.connection, host.in_maintenance, host.in_quarantine, host.reboot_required),
        package_count=host.package_count,
        nodes=topology.nodes,
        node_pairs=tuple(
            NodePair(a.id, b.id, topology.node_relation(a.id, b.id))
            for a, b in combinations(topology.nodes, 2)
        ),
        devices=devices,
        pairs=tuple(_pair(a, b, labels, topology) for a, b in combinations(topology.devices, 2)),
        matrix=tuple(_row(device, shown, labels, topology) for device in shown),
        opaque_holders=use.opaque,
        use=use.claims,
        findings=(*use.findings, *(finding_line(finding, use.names) for finding in more_findings)),
        vgpu_capacity=use.capacity,
        vm_names=use.names,
        vms=vm_places(host, topology, vms, use.held_by_vm(labels), _homes(measured)),
        nvlink_sets=sets,
        board=topology.board,
        device_groups=topology.device_groups,
        ownership_groups=topology.ownership_groups,
        assumptions=topology.assumptions,
        mismatches=topology.mismatches,
        cpu=cpu_precisions(host, cluster),
        measured=measured,
    )


def device_labels(topology: HostTopology) -> dict[PciAddress, str]:
    """Return the labels of the devices, numbered by kind in the order of their addresses: GPU0, NIC0."""
    return {
        device.address: f"{word}{index}"
        for kind, word in _LABELS.items()
        for index, device in enumerate(topology.of_kind(kind))
    }


def _device_line(
    place: DeviceTopology,
    labels: Mapping[PciAddress, str],
    topology: HostTopology,
    device: PciDevice,
    pnic: Pnic | None,
    use: UseLines,
    sets: Mapping[PciAddress, str],
) -> DeviceLine:
    links, open_links = [], []
    if place.kind is DeviceKind.GPU:
        for other in topology.gpus:
            lanes = topology.lanes(place.address, other.address)
            if other.address == place.address:
                continue
            if lanes is None:
                open_links.append(labels[other.address])
            elif lanes > 0:
                links.append(LinkLine(labels[other.address], other.address, lanes))
    model = gpu_by_ids(device.ids) if place.kind is DeviceKind.GPU else None
    return DeviceLine(
        label=labels[place.address],
        place=place,
        name=place.model or (pnic.device if pnic is not None else device.device_name),
        state=_state(device),
        hardware_label=None if device.passthrough is None else device.passthrough.label,
        link_mbps=None if pnic is None else pnic.link_mbps,
        links=tuple(links),
        open_links=tuple(open_links),
        nvlink_set=sets.get(place.address),
        holders=use.holders(place.address),
        tied=use.tied(place.address, topology.ownership_groups),
        precisions=None if model is None else model.types,
        capacity=use.capacity_of(place.address),
    )


def _homes(measured: HostMeasurement | None) -> dict[str, MeasuredHome]:
    seen = measured.vms if measured is not None else ()
    return {vm.moid: vm.home for vm in seen if vm.home is not None}


def _state(device: PciDevice) -> str:
    passthrough = device.passthrough
    if passthrough is None:
        return "unknown"
    if passthrough.active:
        return "active"
    if passthrough.enabled:
        return "enabled"
    return "capable" if passthrough.capable else "none"


def _pair(
    a: DeviceTopology, b: DeviceTopology, labels: Mapping[PciAddress, str], topology: HostTopology
) -> PairLine:
    relation = topology.relation(a.address, b.address)
    return PairLine(labels[a.address], labels[b.address], relation, relation.word(), relation.nearest)


def _row(
    device: DeviceTopology,
    shown: Iterable[DeviceTopology],
    labels: Mapping[PciAddress, str],
    topology: HostTopology,
) -> MatrixRow:
    cells = tuple(topology.relation(device.address, other.address).open_word() for other in shown)
    if device.kind is not DeviceKind.GPU:
        return MatrixRow(labels[device.address], cells, None, None, None)
    threads = [t for node in topology.nodes if node.id in device.cpu_nodes for t in node.thread_ids]
    own_node = topology.node(device.node) if device.node is not None else None
    return MatrixRow(
        label=labels[device.address],
        cells=cells,
        cpu_affinity=ranges(threads) or "?",
        numa_affinity=ranges(device.cpu_nodes) or "?",
        gpu_numa_id=str(own_node.id) if own_node is not None and own_node.core_count == 0 else "N/A",
    )


def ranges(numbers: Iterable[int]) -> str:
    """Write numbers as nvidia-smi and the kernel do: "0-27,56-83"."""
    parts: list[list[int]] = []
    for number in sorted(set(numbers)):
        if parts and number == parts[-1][1] + 1:
            parts[-1][1] = number
        else:
            parts.append([number, number])
    return ",".join(str(a) if a == b else f"{a}-{b}" for a, b in parts)
