"""The hosts of a subject as pictures: every card beside the VM that holds it, near or far."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import combinations

from vplacer.audit.subject import Subject
from vplacer.constraints.locality import card_relation
from vplacer.inventory.bound_by import BoundBy
from vplacer.inventory.device_kind import DeviceKind
from vplacer.inventory.host import Host, PciDevice
from vplacer.inventory.measured import MeasuredHome
from vplacer.inventory.nic_models import nic_by_ids
from vplacer.inventory.pci import PciAddress
from vplacer.topology.claims import VF, Claim, When
from vplacer.topology.describe import HostState, device_labels
from vplacer.topology.host_picture import (
    HostPicture,
    PictureCard,
    PictureHolder,
    PictureLinks,
    PictureNode,
    PictureVm,
    farthest,
)
from vplacer.topology.host_topology import HostTopology
from vplacer.topology.nvlink_sets import nvlink_sets
from vplacer.topology.values import DeviceTopology
from vplacer.topology.vm_places import VmPlace, vm_places


def host_pictures(subject: Subject) -> tuple[HostPicture, ...]:
    """Return a picture of each host, in the order of the inventory."""
    clusters = {cluster.moid: cluster.name for cluster in subject.inventory.clusters}
    return tuple(_picture(subject, host, clusters) for host in subject.inventory.hosts)


def _picture(subject: Subject, host: Host, clusters: Mapping[str, str]) -> HostPicture:
    topology = subject.topologies[host.moid]
    vms = subject.inventory.vms_by_host.get(host.moid, ())
    places = vm_places(host, topology, vms, {}, _homes(subject, host))
    labels = device_labels(topology)
    claims = [claim for claim in subject.use(host).claims if _counts(claim)]
    cards = tuple(_card(subject, host, device, labels, claims, places) for device in topology.devices)
    return HostPicture(
        moid=host.moid,
        name=host.name,
        cluster=clusters.get(host.cluster or ""),
        hardware=" ".join(part for part in (host.vendor, host.model) if part),
        state=HostState(host.connection, host.in_maintenance, host.in_quarantine, host.reboot_required),
        nodes=tuple(
            PictureNode(node.id, node.package, node.core_count, node.memory_bytes) for node in topology.nodes
        ),
        cards=cards,
        vms=tuple(_vm(place, cards, claims) for place in places),
        links=_links(topology, labels),
        untold_links=sum(
            1
            for one, other in combinations(topology.gpus, 2)
            if topology.lanes(one.address, other.address) is None
        ),
    )


def _homes(subject: Subject, host: Host) -> dict[str, MeasuredHome]:
    measured = subject.measured(host)
    return {} if measured is None else {vm.moid: vm.home for vm in measured.vms if vm.home is not None}


def _counts(claim: Claim) -> bool:
    """Whether a claim is shown: it counts now, or its card is named by the VM's configuration."""
    return claim.when is When.NOW or claim.bound_by is BoundBy.STATIC


def _card(
    subject: Subject,
    host: Host,
    device: DeviceTopology,
    labels: Mapping[PciAddress, str],
    claims: Iterable[Claim],
    places: Iterable[VmPlace],
) -> PictureCard:
    topology = subject.topologies[host.moid]
    cards = subject.cards(host)
    assignable = cards.by_address.get(device.address)
    homes = {place.moid: place.nodes for place in places}
    holders: dict[str, PictureHolder] = {}
    mine = [claim for claim in claims if claim.address == device.address]
    for claim in sorted(mine, key=lambda item: item.when is not When.NOW):
        vm = subject.inventory.vm_by_moid.get(claim.vm)
        holder = PictureHolder(
            vm=claim.vm,
            name=vm.name if vm is not None else claim.vm,
            relation=card_relation(topology, device.address, homes.get(claim.vm, ())),
            now=claim.when is When.NOW,
            how="virtual function" if claim.kind == VF else claim.profile or "",
            certainty=claim.certainty,
        )
        holders.setdefault(claim.vm, holder)
    return PictureCard(
        label=labels[device.address],
        kind=device.kind,
        name=_name(host, device, cards.hardware.get(device.address)),
        address=device.address,
        node=device.node,
        switches=device.switches[::-1],
        unusable=assignable.unusable if assignable is not None else None,
        holders=tuple(holders.values()),
        maybe_held=any(c.address is None and device.address in c.candidates for c in claims),
    )


def _name(host: Host, device: DeviceTopology, hardware: PciDevice | None) -> str:
    """Return the model of a card, and of a NIC its port: "CX6-DX, vmnic2"."""
    nic = nic_by_ids(device.ids) if device.kind is DeviceKind.NIC else None
    model = device.model or (nic.name if nic is not None else None)
    port = next((pnic.device for pnic in host.pnics if pnic.address == device.address), None)
    known = ", ".join(word for word in (model, port) if word)
    return known or (hardware.device_name if hardware is not None else str(device.ids))


def _vm(place: VmPlace, cards: Iterable[PictureCard], claims: Iterable[Claim]) -> PictureVm:
    mine = [(card, holder) for card in cards for holder in card.holders if holder.vm == place.moid]
    return PictureVm(
        place=place,
        cards=tuple((card.label, holder.relation) for card, holder in mine),
        untold=sum(1 for claim in claims if claim.vm == place.moid and claim.address is None),
        farthest=farthest(holder.relation for _, holder in mine if holder.now),
    )


def _links(topology: HostTopology, labels: Mapping[PciAddress, str]) -> tuple[PictureLinks, ...]:
    return tuple(
        PictureLinks(
            name=found.name,
            gpus=tuple(labels[address] for address in found.gpus),
            lanes=found.lanes,
            switched=found.switched,
            pairs=tuple((labels[link.a], labels[link.b], link.lanes) for link in found.links),
            nodes=found.nodes,
        )
        for found in nvlink_sets(topology.gpus, topology.links)
    )
