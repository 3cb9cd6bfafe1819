"""Compares the labels that cards have with those of a scheme, and says what a change comes to."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from vplacer.inventory.host import Host
from vplacer.inventory.moids import moid_order
from vplacer.inventory.pci import PciAddress
from vplacer.inventory.vcenter import Inventory
from vplacer.inventory.vm import Vm
from vplacer.plan.labels.model import (
    CardState,
    LabelHost,
    LabelledCard,
    LabelPlan,
    LabelScheme,
    LabelUse,
    Rebind,
)
from vplacer.plan.labels.outcome import label_uses, stranded_vms, with_labels
from vplacer.plan.labels.wanted import Wanted, is_ours, wanted_labels
from vplacer.plan.model import Source
from vplacer.topology.claims import host_cards
from vplacer.topology.device_use import device_use
from vplacer.topology.host_topology import HostTopology

_GROUP_RE = re.compile(r"-[ps]\d+$")


@dataclass(frozen=True, slots=True)
class Holders:
    """VMs that hold a card or may, by id in order; ``sure``: one does."""

    vms: tuple[str, ...] = ()
    sure: bool = False


NOBODY = Holders()


def build_label_plan(
    inventory: Inventory,
    topologies: Mapping[str, HostTopology],
    scheme: LabelScheme,
    hosts: Iterable[Host],
    *,
    created: str,
    tool_version: str,
    source: Source,
) -> LabelPlan:
    """Plan the labels of hosts; those of one cluster together, since their VMs may move among them.

    ``topologies``: of all hosts that are connected, by managed object id; others are left out.
    """
    chosen = [host for host in hosts if host.moid in topologies]
    cards: list[LabelledCard] = []
    for host in chosen:
        vms = inventory.vms_by_host.get(host.moid, ())
        held = holders_of(host, topologies[host.moid], vms)
        wanted = wanted_labels(host, topologies[host.moid], scheme)
        cards += _whole_groups(
            [_card(host, item, scheme, held.get(item.card.address, NOBODY)) for item in wanted]
        )
    after = with_labels(inventory, _after(cards))
    return LabelPlan(
        tool_version=tool_version,
        created=created,
        source=source,
        clusters=tuple(dict.fromkeys(host.cluster for host in chosen if host.cluster is not None)),
        scheme=scheme,
        cards=tuple(cards),
        hosts=_hosts(inventory, chosen, cards),
        labels=_uses(after, topologies, chosen),
        stranded=stranded_vms(inventory, after, topologies),
        notes=_notes(chosen, cards),
        names=_names(inventory, chosen, cards),
    )


def holders_of(host: Host, topology: HostTopology, vms: Iterable[Vm]) -> dict[PciAddress, Holders]:
    """Return for each card the VMs that hold it now, or may."""
    found: dict[PciAddress, list[str]] = {}
    sure = set()
    for claim in device_use(host_cards(host, topology), vms).now:
        if claim.address is not None:
            sure.add(claim.address)
        for address in (claim.address,) if claim.address is not None else claim.candidates:
            found.setdefault(address, []).append(claim.vm)
    return {
        address: Holders(tuple(sorted(set(ids), key=moid_order)), address in sure)
        for address, ids in found.items()
    }


def _card(host: Host, wanted: Wanted, scheme: LabelScheme, holders: Holders) -> LabelledCard:
    before = wanted.card.label
    state, why = _state(wanted, scheme, holders.vms)
    return LabelledCard(
        host=host.moid,
        address=wanted.card.address,
        kind=wanted.card.kind,
        model=wanted.card.model,
        ids=str(wanted.card.ids),
        node=wanted.node,
        state=state,
        wanted=wanted.label,
        before=before,
        after=wanted.label if state is CardState.SET else before,
        why=why,
        holders=holders.vms,
        held=holders.sure,
    )


def _whole_groups(cards: list[LabelledCard]) -> list[LabelledCard]:
    """Leave the cards of a pair or switch alone where not all of them can have its label.

    Half a pair by a label of its own would be a label that no VM with two GPUs can use.
    """
    barred = {card.wanted: card for card in cards if card.state in (CardState.KEPT, CardState.IN_USE)}
    found = []
    for card in cards:
        other = barred.get(card.wanted)
        if card.state is CardState.SET and other is not None and _GROUP_RE.search(card.wanted or ""):
            why = f"{other.address.short} beside it keeps its label: {other.why}"
            found.append(replace(card, state=other.state, after=card.before, why=why))
        else:
            found.append(card)
    return found


def _state(wanted: Wanted, scheme: LabelScheme, holders: tuple[str, ...]) -> tuple[CardState, str | None]:
    before = wanted.card.label
    if wanted.label is None:
        return CardState.LEFT_OUT, wanted.why
    if before == wanted.label:
        return CardState.RIGHT, None
    if before is not None and not scheme.replace and not is_ours(before, scheme):
        return CardState.KEPT, f"somebody gave it the label '{before}': --replace changes it"
    if holders and not scheme.in_use:
        return CardState.IN_USE, "--in-use changes it all the same"
    return CardState.SET, None


def _after(cards: Iterable[LabelledCard]) -> dict[str, dict[PciAddress, str | None]]:
    found: dict[str, dict[PciAddress, str | None]] = {}
    for card in cards:
        if card.state is CardState.SET:
            found.setdefault(card.host, {})[card.address] = card.after
    return found


def _hosts(
    inventory: Inventory, hosts: Iterable[Host], cards: Iterable[LabelledCard]
) -> tuple[LabelHost, ...]:
    changed = [card.host for card in cards if card.state is CardState.SET]
    words = {True: Rebind.NO_REBOOT, False: Rebind.REBOOT, None: Rebind.NOT_TOLD}
    return tuple(
        LabelHost(
            host.moid,
            words[host.capability.rebind_without_reboot],
            changed.count(host.moid),
            tuple(vm.moid for vm in inventory.vms_by_host.get(host.moid, ()) if vm.is_on),
        )
        for host in hosts
        if host.moid in changed
    )


def _uses(
    after: Inventory, topologies: Mapping[str, HostTopology], chosen: Iterable[Host]
) -> tuple[LabelUse, ...]:
    groups: dict[tuple[str | None, str], list[Host]] = {}
    for host in chosen:
        key = (host.cluster, "" if host.cluster is not None else host.moid)
        groups.setdefault(key, []).append(after.host_by_moid[host.moid])
    return tuple(
        use for (cluster, _), hosts in groups.items() for use in label_uses(hosts, topologies, cluster)
    )


def _notes(hosts: Iterable[Host], cards: Iterable[LabelledCard]) -> tuple[str, ...]:
    notes = []
    gone = sorted({card.before for card in cards if card.state is CardState.SET and card.before is not None})
    if gone:
        notes.append(f"requests and VMs that name these labels must follow: {', '.join(gone)}")
    untold = [host.name for host in hosts if host.capability.assign_label is None]
    if untold:
        notes.append(f"whether it takes labels is not told by: {', '.join(untold)}")
    return tuple(notes)


def _names(
    inventory: Inventory, hosts: Iterable[Host], cards: Iterable[LabelledCard]
) -> tuple[tuple[str, str], ...]:
    names = {host.moid: host.name for host in hosts}
    names |= {cluster.moid: cluster.name for cluster in inventory.clusters}
    named = {holder for card in cards for holder in card.holders}
    on = set(names)
    names |= {vm.moid: vm.name for vm in inventory.vms if vm.moid in named or vm.host in on}
    return tuple(sorted(names.items()))
