"""Figures of an audit that are followed over time: how local each VM's cards and memory are."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields

from vplacer.audit.held import held_cards, open_devices
from vplacer.audit.remote_cards import relation_of_all
from vplacer.audit.subject import Subject
from vplacer.constraints.locality import card_relation
from vplacer.inventory.device_kind import DeviceKind
from vplacer.inventory.host import Host
from vplacer.inventory.measured import MeasuredHome
from vplacer.inventory.vm import Vm
from vplacer.topology.host_topology import HostTopology
from vplacer.topology.levels import NumaRelation

KINDS = (DeviceKind.GPU, DeviceKind.NIC)


@dataclass(frozen=True, slots=True)
class LocalityCounts:
    """How many cards of one kind running VMs hold, by where they are.

    local: on a node of their VM. same_socket: on another node of such a socket. remote: on another socket.
    unknown: the card, its node or the VM's nodes are not known.
    """

    local: int = 0
    same_socket: int = 0
    remote: int = 0
    unknown: int = 0

    def __add__(self, other: LocalityCounts) -> LocalityCounts:
        return LocalityCounts(*(getattr(self, f.name) + getattr(other, f.name) for f in fields(self)))


@dataclass(frozen=True, slots=True)
class VmGauges:
    """Of one running VM. ``moid``: managed object id; ``host``, ``cluster``: names.

    ``devices``: by kind, those it holds any of. ``local_percent``: measured share of its memory that is on
    its home nodes; ``migrations``: measured moves between nodes since power-on; ``measured_at``: when,
    ISO 8601 UTC. None = not measured.
    """

    moid: str
    name: str
    host: str
    cluster: str | None
    devices: Mapping[DeviceKind, LocalityCounts]
    local_percent: int | None
    migrations: int | None
    measured_at: str | None


@dataclass(frozen=True, slots=True)
class HostGauges:
    """Of one host. ``devices``: what its running VMs hold, by kind, for the kinds it has cards of."""

    moid: str
    name: str
    cluster: str | None
    devices: Mapping[DeviceKind, LocalityCounts]


@dataclass(frozen=True, slots=True)
class Gauges:
    """Of the VMs that hold cards or were measured, and of the hosts that have cards; by managed object id."""

    vms: tuple[VmGauges, ...]
    hosts: tuple[HostGauges, ...]


def gauges(subject: Subject) -> Gauges:
    """Return the gauges of a subject.

    The nodes of a VM are those of ``numa.nodeAffinity``, else those it was measured on, else all of a host
    that has a single one; a VM that floats over several is unknown.
    """
    clusters = {cluster.moid: cluster.name for cluster in subject.inventory.clusters}
    vms = []
    by_host: dict[str, list[VmGauges]] = {}
    for vm, host, topology in subject.placed:
        if vm.is_on:
            vms.append(_of_vm(subject, vm, host, topology, clusters))
            by_host.setdefault(host.moid, []).append(vms[-1])
    hosts = [
        _of_host(subject, host, by_host.get(host.moid, ()), clusters) for host in subject.inventory.hosts
    ]
    return Gauges(
        vms=tuple(vm for vm in vms if vm.devices or vm.measured_at is not None),
        hosts=tuple(host for host in hosts if host.devices),
    )


def _of_vm(
    subject: Subject, vm: Vm, host: Host, topology: HostTopology, clusters: Mapping[str, str]
) -> VmGauges:
    home = _homes(subject, host.moid).get(vm.moid)
    nodes = vm.node_affinity or (home.nodes if home is not None else ())
    if not nodes and len(topology.nodes) == 1:
        nodes = (topology.nodes[0].id,)
    counts = {kind: _counts(subject, vm, topology, kind, nodes) for kind in KINDS}
    spread = home.locality_percent if home is not None else None
    return VmGauges(
        moid=vm.moid,
        name=vm.name,
        host=host.name,
        cluster=clusters.get(host.cluster or ""),
        devices={kind: count for kind, count in counts.items() if count != LocalityCounts()},
        local_percent=None if spread is None else spread.median,
        migrations=None if home is None else home.migrations,
        measured_at=None if home is None else home.at,
    )


def _homes(subject: Subject, host: str) -> Mapping[str, MeasuredHome]:
    return subject.derive(_measured_on, host)


def _measured_on(subject: Subject, host: str) -> Mapping[str, MeasuredHome]:
    measured = subject.measured(subject.inventory.host_by_moid[host])
    return {} if measured is None else {vm.moid: vm.home for vm in measured.vms if vm.home is not None}


def _counts(
    subject: Subject, vm: Vm, topology: HostTopology, kind: DeviceKind, nodes: tuple[int, ...]
) -> LocalityCounts:
    found = [card_relation(topology, held.card.address, nodes) for held in held_cards(subject, vm, kind)]
    found += [relation_of_all(topology, item.cards, nodes) for item in open_devices(subject, vm, kind)]
    return LocalityCounts(
        local=found.count(NumaRelation.SAME_NODE),
        same_socket=found.count(NumaRelation.SAME_SOCKET),
        remote=found.count(NumaRelation.OTHER_SOCKET),
        unknown=found.count(NumaRelation.UNKNOWN),
    )


def _of_host(
    subject: Subject, host: Host, vms: Iterable[VmGauges], clusters: Mapping[str, str]
) -> HostGauges:
    topology = subject.topologies[host.moid]
    held = [vm.devices for vm in vms]
    found = {}
    for kind in KINDS:
        counts = [devices[kind] for devices in held if kind in devices]
        if counts or topology.of_kind(kind):
            found[kind] = sum(counts, LocalityCounts())
    return HostGauges(host.moid, host.name, clusters.get(host.cluster or ""), found)
