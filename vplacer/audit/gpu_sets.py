"""GPUs that a VM has singly, and what else it could have on its host: shared by the rules on NVLink."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations

from vplacer.audit.held import HeldCard, held_cards
from vplacer.audit.subject import Subject
from vplacer.inventory.bound_by import BoundBy
from vplacer.inventory.device_kind import DeviceKind
from vplacer.inventory.finding import Certainty
from vplacer.inventory.host import Host
from vplacer.inventory.pci import PciAddress
from vplacer.inventory.vm import Vm
from vplacer.topology.claims import PASSTHROUGH, VGPU
from vplacer.topology.host_topology import HostTopology
from vplacer.topology.levels import NumaRelation
from vplacer.topology.vgpu_capacity import vgpu_capacity
from vplacer.topology.vgpu_room import TIME_SLICED, profile_shape

_NUMA_ORDER = (
    NumaRelation.SAME_NODE,
    NumaRelation.SAME_SOCKET,
    NumaRelation.OTHER_SOCKET,
    NumaRelation.UNKNOWN,
)


@dataclass(frozen=True, slots=True)
class GpuSet:
    """GPUs of one model, and of one vGPU profile, that a running VM holds, each given singly.

    ``profile`` None = passed through. ``whole``: whether they are whole cards, so that NVLink can serve them.
    ``certainty``: of the addresses.
    """

    vm: Vm
    host: Host
    model: str
    profile: str | None
    cards: tuple[PciAddress, ...]
    whole: bool
    certainty: Certainty


def gpu_sets(subject: Subject) -> tuple[GpuSet, ...]:
    """Return the GPUs of running VMs as far as the cards are known, those of vendor groups left out."""
    return subject.derive(_gpu_sets)


def others(subject: Subject, found: GpuSet) -> tuple[PciAddress, ...]:
    """Return the cards of the model that a VM could have as well, certainly free for it."""
    return subject.derive(_others, found.host.moid, found.model, found.profile)


def _gpu_sets(subject: Subject) -> tuple[GpuSet, ...]:
    return tuple(_all_sets(subject))


def _all_sets(subject: Subject) -> Iterator[GpuSet]:
    for vm, host, topology in subject.placed:
        if not vm.is_on or not vm.devices or not topology.gpus:
            continue
        kinds: dict[tuple[str, str | None], list[HeldCard]] = {}
        for held in held_cards(subject, vm, DeviceKind.GPU):
            if held.claim.group is None and held.claim.kind in (PASSTHROUGH, VGPU):
                model = held.card.model or str(held.card.ids)
                kinds.setdefault((model, held.claim.profile), []).append(held)
        for (model, profile), cards in kinds.items():
            yield GpuSet(
                vm=vm,
                host=host,
                model=model,
                profile=profile,
                cards=tuple(held.card.address for held in cards),
                whole=profile is None or _takes_a_card(host, profile),
                certainty=_weakest(cards),
            )


def free_cards(subject: Subject, host: Host) -> frozenset[PciAddress]:
    """Return the GPUs of a host that certainly nobody has a share of, nor as a static device while off."""
    return subject.derive(_free, host.moid)


def numa_spread(topology: HostTopology, cards: tuple[PciAddress, ...]) -> NumaRelation:
    """Return how far the farthest two of some cards are; UNKNOWN only if none is known to be farther."""
    found = {topology.relation(a, b).numa for a, b in combinations(cards, 2)} or {NumaRelation.SAME_NODE}
    if NumaRelation.OTHER_SOCKET in found:
        return NumaRelation.OTHER_SOCKET
    return max(found, key=_NUMA_ORDER.index)


def _weakest(cards: list[HeldCard]) -> Certainty:
    order = tuple(Certainty)
    return max((held.certainty for held in cards), key=order.index)


def _takes_a_card(host: Host, profile: str) -> bool:
    """Whether a vGPU is a whole card, time-sliced: only such ones use NVLink (NVIDIA AI Enterprise)."""
    shape = profile_shape(host, profile)
    return shape is not None and shape.sharing == TIME_SLICED and shape.per_card_max == 1


def _free(subject: Subject, moid: str) -> frozenset[PciAddress]:
    all_use = subject.use(subject.inventory.host_by_moid[moid])
    use = all_use.use
    maybe = {address for claim in use.uncertain for address in claim.candidates}
    kept = {claim.address for claim in all_use.at_power_on if claim.bound_by is BoundBy.STATIC}
    gpus = {gpu.address for gpu in subject.topologies[moid].gpus}
    return frozenset(gpus.intersection(use.devices) - set(use.held) - maybe - kept)


def _others(subject: Subject, moid: str, model: str, profile: str | None) -> tuple[PciAddress, ...]:
    host, topology = subject.inventory.host_by_moid[moid], subject.topologies[moid]
    use = subject.use(host).use
    alike = {gpu.address for gpu in topology.gpus if (gpu.model or str(gpu.ids)) == model}
    if profile is None:
        free = free_cards(subject, host)
        return tuple(a for a in sorted(alike & free) if use.devices[a].passthrough)
    rooms = {c.address: c.rooms for c in vgpu_capacity(host, use) if c.address in alike}
    return tuple(
        address
        for address, found in sorted(rooms.items())
        if any(room.profile == profile and room.more > 0 for room in found)
    )
