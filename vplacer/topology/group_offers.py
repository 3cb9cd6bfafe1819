"""Vendor device groups of a host, and which cards can serve them as far as that is known.

The vendor's driver makes the groups; vCenter gives the name, the kinds of members and nothing of the
cards behind them (vSphere API: VendorDeviceGroupInfo). Names are not parsed: their grammar is not
documented. The members tell: GPUs alone are joined by NVLink or NVSwitch, a GPU with a NIC hangs with
it on one PCIe switch (NVIDIA AI Enterprise documentation, device groups).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import combinations

from vplacer.inventory.host import DeviceGroupType, GroupComponent, VgpuProfile
from vplacer.inventory.pci import PciAddress, PciIds
from vplacer.topology.pci_tree import PciTree
from vplacer.topology.values import GroupOffer

Sets = tuple[tuple[PciAddress, ...], ...]
Answer = tuple[Sets | None, str]

_NIC_KINDS = frozenset({"sriovNic", "dvx"})


class _Unmatched(Exception):
    """A member's template names no device that could be looked for."""


def group_offers(
    groups: Sequence[DeviceGroupType],
    profiles: Sequence[VgpuProfile],
    gpus: Mapping[PciAddress, PciIds],
    nics: Mapping[PciAddress, PciIds],
    lanes: Callable[[PciAddress, PciAddress], int | None],
    nvlink_groups: Sets,
    tree: PciTree,
) -> tuple[GroupOffer, ...]:
    """Describe each group a host offers.

    ``gpus`` and ``nics``: the host's cards; ``lanes``: NVLinks of a pair, None = unknown;
    ``nvlink_groups``: the largest sets fully joined; ``tree``: where they hang.
    """
    offers = []
    for group in groups:
        try:
            members = [_cards(component, profiles, gpus, nics) for component in group.components]
        except _Unmatched as problem:
            gpu_count = sum(1 for component in group.components if component.kind not in _NIC_KINDS)
            nic_count = len(group.components) - gpu_count
            answer: Answer = (None, str(problem))
        else:
            gpu_members = [cards for cards in members if not cards or cards[0] in gpus]
            nic_members = [cards for cards in members if cards and cards[0] in nics]
            gpu_count, nic_count = len(gpu_members), len(nic_members)
            answer = _serve(gpu_members, nic_members, lanes, nvlink_groups, tree)
        offers.append(GroupOffer(group.name, group.description, gpu_count, nic_count, *answer))
    return tuple(sorted(offers, key=lambda offer: offer.name))


def _cards(
    component: GroupComponent,
    profiles: Sequence[VgpuProfile],
    gpus: Mapping[PciAddress, PciIds],
    nics: Mapping[PciAddress, PciIds],
) -> tuple[PciAddress, ...]:
    """Return the cards of the host that fit one member of a group, in address order."""
    if component.kind in _NIC_KINDS:
        return tuple(sorted(nics))
    if component.kind == "nvidiaVgpu":
        models = {(p.vendor, p.device) for p in profiles if p.name == component.profile}
        if not models:
            raise _Unmatched(f"the host does not say which card has the profile {component.profile}")
        return tuple(a for a, ids in sorted(gpus.items()) if (ids.vendor, ids.device) in models)
    if not component.allowed:
        raise _Unmatched(f"a member of kind {component.kind} names no device ids")
    both = sorted({**gpus, **nics}.items())
    return tuple(a for a, ids in both if any(_fits(allowed, ids) for allowed in component.allowed))


def _fits(allowed: PciIds, ids: PciIds) -> bool:
    if (allowed.vendor, allowed.device) != (ids.vendor, ids.device):
        return False
    pairs = ((allowed.sub_vendor, ids.sub_vendor), (allowed.sub_device, ids.sub_device))
    return all(want is None or want == have for want, have in pairs)


def _serve(
    gpu_members: Sequence[tuple[PciAddress, ...]],
    nic_members: Sequence[tuple[PciAddress, ...]],
    lanes: Callable[[PciAddress, PciAddress], int | None],
    nvlink_groups: Sets,
    tree: PciTree,
) -> Answer:
    if any(not cards for cards in (*gpu_members, *nic_members)):
        return (), "no card of this host fits a member"
    if any(cards != gpu_members[0] for cards in gpu_members):
        return None, "members of different kinds of card: the sets are not known"
    if not nic_members and len(gpu_members) > 1:
        return _by_nvlink(gpu_members[0], len(gpu_members), lanes, nvlink_groups)
    if len(gpu_members) == 1 and len(nic_members) == 1:
        return _by_switch(gpu_members[0], nic_members[0], tree)
    return None, "vSphere does not tell which cards such a group takes"


def _by_nvlink(
    cards: tuple[PciAddress, ...],
    size: int,
    lanes: Callable[[PciAddress, PciAddress], int | None],
    nvlink_groups: Sets,
) -> Answer:
    open_pairs = sum(1 for a, b in combinations(cards, 2) if lanes(a, b) is None)
    if open_pairs:
        return None, f"NVLink of {open_pairs} pairs of these cards is unknown: an overlay would tell"
    sets = [group for group in nvlink_groups if set(group) <= set(cards)]
    larger = [group for group in sets if len(group) > size]
    if larger:
        return None, f"the driver divides {len(larger[0])} joined GPUs at boundaries that it does not tell"
    exact = tuple(group for group in sets if len(group) == size)
    return (
        exact,
        f"sets of {size} GPUs that NVLink joins" if exact else f"NVLink joins no {size} of these GPUs",
    )


def _by_switch(
    gpus: tuple[PciAddress, ...],
    nics: tuple[PciAddress, ...],
    tree: PciTree,
) -> Answer:
    if any(tree.chain(card).root_bus is None for card in (*gpus, *nics)):
        return None, "the host does not tell the PCIe way of all these cards"
    sets = []
    for gpu in gpus:
        above = tree.switch(gpu)
        near = [nic for nic in nics if above is not None and tree.switch(nic) == above]
        places = {(nic.segment, nic.bus, nic.device) for nic in near}
        if len(places) > 1:
            return None, f"several NICs share a switch with {gpu}: the driver chooses, and does not tell"
        if len(near) > 1:
            return None, f"the NIC on the switch of {gpu} has several ports: the driver chooses"
        if near:
            sets.append((gpu, near[0]))
    if not sets:
        return (), "none of these GPUs shares a PCIe switch with a NIC"
    return tuple(sets), "a GPU and the only NIC that shares its PCIe switch"
