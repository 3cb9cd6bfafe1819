"""Whether DRS and HA can take a VM elsewhere, given its devices: shared by the rules on both."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from vplacer.audit.subject import Subject
from vplacer.inventory.cluster import Cluster
from vplacer.inventory.gpu_models import gpus_of_device
from vplacer.inventory.host import ConnectionState, Host
from vplacer.inventory.nic_models import nic_by_ids
from vplacer.inventory.pci import PciIds
from vplacer.inventory.vm import (
    AllowedDevice,
    DvxBacking,
    DynamicBacking,
    SriovBacking,
    StaticBacking,
    VgpuBacking,
    Vm,
)
from vplacer.topology.assignable import offers
from vplacer.topology.backing_cards import matching_cards
from vplacer.topology.claims import HostCards


def pins(vm: Vm) -> tuple[str, ...]:
    """Return the devices that name a card of one host: static DirectPath, a function of a named port."""
    found = []
    for device in vm.devices:
        match device.backing:
            case StaticBacking(address=address):
                found.append(str(address))
            case SriovBacking(physical_function=port) if port is not None:
                found.append(f"a virtual function of {port}")
            case _:
                pass
    return tuple(found)


def directpath(vm: Vm) -> bool:
    """Whether it has a device with which vMotion cannot move it: DirectPath of any kind, SR-IOV."""
    kinds = (StaticBacking, DynamicBacking, SriovBacking, DvxBacking)
    return any(isinstance(device.backing, kinds) for device in vm.devices)


def cluster_of(subject: Subject, vm: Vm) -> Cluster | None:
    """Return the cluster of a VM's host."""
    host = subject.inventory.host_by_moid.get(vm.host or "")
    return None if host is None else subject.inventory.cluster_by_moid.get(host.cluster or "")


def drs_level(cluster: Cluster, vm: Vm) -> str | None:
    """Return at which level DRS works on a VM; None = it does not."""
    own = dict(cluster.drs_overrides).get(vm.moid)
    if cluster.drs_level is None or own == "disabled":
        return None
    return own or cluster.drs_level


@dataclass(frozen=True, slots=True)
class Need:
    """Cards that a VM needs on any host: ``count`` by Dynamic DirectPath, vGPUs of a profile, or a group.

    ``what``: the backing without what vSphere chose, or the name of a vendor device group.
    """

    what: DynamicBacking | VgpuBacking | str
    count: int

    @property
    def label(self) -> str | None:
        """The hardware label it asks for."""
        return (self.what.label or None) if isinstance(self.what, DynamicBacking) else None

    @property
    def words(self) -> str:
        """What it is, for people."""
        match self.what:
            case DynamicBacking(allowed=allowed, label=label):
                models = "/".join(dict.fromkeys(_model(item) for item in allowed))
                return f"{self.count} x {models or 'a card'}{f' with label {label!r}' if label else ''}"
            case VgpuBacking(profile=profile):
                return f"vGPU {profile}"
            case group:
                return f"device group {group}"


def _model(allowed: AllowedDevice) -> str:
    vendor, device = allowed.vendor & 0xFFFF, allowed.device & 0xFFFF
    models = [model.name for model in gpus_of_device(vendor, device)]
    nic = nic_by_ids(PciIds(vendor, device))
    if nic is not None:
        models.append(nic.name)
    return "/".join(models) or f"{vendor:04x}:{device:04x}"


def needs(vm: Vm) -> tuple[Need, ...]:
    """Return what a VM needs of a host's cards, in a stable order; what names one card (`pins`) left out."""
    found: dict[DynamicBacking | VgpuBacking | str, int] = {}
    for device in vm.devices:
        what: DynamicBacking | VgpuBacking
        match device.backing:
            case DynamicBacking(allowed=allowed, label=label):
                what = DynamicBacking(allowed, label)
            case VgpuBacking(profile=profile):
                what = VgpuBacking(profile)
            case _:
                continue
        if device.group_key is None:
            found[what] = found.get(what, 0) + 1
    for group in vm.device_groups:
        found[group.name] = found.get(group.name, 0) + 1
    return tuple(Need(what, count) for what, count in found.items())


def homes(subject: Subject, cluster: str, need: Need) -> tuple[Host, ...]:
    """Return the hosts of a cluster that have such cards, whoever holds them, and are not in maintenance."""
    return subject.derive(_homes, cluster, need)


def all_known(subject: Subject, cluster: str) -> bool:
    """Whether the cards of all hosts of a cluster are known."""
    return subject.derive(_all_known, cluster)


def hosts_of(subject: Subject, cluster: str) -> tuple[Host, ...]:
    """Return the hosts of a cluster."""
    return subject.derive(_hosts).get(cluster, ())


def has_cards(cards: HostCards, need: Need) -> bool:
    """Whether a host has as many such cards, whoever holds them; for vGPUs one is enough."""
    match need.what:
        case DynamicBacking() as backing:
            return len(matching_cards(backing, cards)) >= need.count
        case VgpuBacking(profile=profile):
            return any(card.vgpu and offers(cards.host, card, profile) for card in cards.devices)
        case group:
            return any(offered.name == group for offered in cards.host.device_groups)


def _all_known(subject: Subject, cluster: str) -> bool:
    return all(host.connection is ConnectionState.CONNECTED for host in hosts_of(subject, cluster))


def _homes(subject: Subject, cluster: str, need: Need) -> tuple[Host, ...]:
    return tuple(
        host
        for host in hosts_of(subject, cluster)
        if not host.in_maintenance and has_cards(subject.cards(host), need)
    )


def _hosts(subject: Subject) -> Mapping[str, tuple[Host, ...]]:
    found: dict[str, list[Host]] = {}
    for host in subject.inventory.hosts:
        if host.cluster is not None:
            found.setdefault(host.cluster, []).append(host)
    return {cluster: tuple(hosts) for cluster, hosts in found.items()}


def nowhere_else(subject: Subject, vm: Vm) -> Need | None:
    """Return what of a VM no other host of its cluster has; None = others have all, or nobody can tell."""
    host = subject.inventory.host_by_moid.get(vm.host or "")
    if host is None or host.cluster is None or not all_known(subject, host.cluster):
        return None
    for need in needs(vm):
        if not any(home.moid != host.moid for home in homes(subject, host.cluster, need)):
            return need
    return None
