"""What labels come to: how an inventory looks with them, which travel, and which VMs they strand."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace

from vplacer.inventory.host import Host
from vplacer.inventory.moids import moid_order
from vplacer.inventory.pci import PciAddress
from vplacer.inventory.vcenter import Inventory
from vplacer.inventory.vm import DynamicBacking, Vm
from vplacer.plan.labels.model import CardCount, LabelUse, StrandedVm
from vplacer.topology.assignable import allowed_by, assignable_devices
from vplacer.topology.host_topology import HostTopology

LabelsAfter = Mapping[str, Mapping[PciAddress, str | None]]
"""Labels by host and card; None = none. Cards that are missing keep theirs."""


def with_labels(inventory: Inventory, after: LabelsAfter) -> Inventory:
    """Return an inventory as it is with other labels."""
    hosts = tuple(
        _relabelled(host, after[host.moid]) if host.moid in after else host for host in inventory.hosts
    )
    return replace(inventory, hosts=hosts)


def _relabelled(host: Host, after: Mapping[PciAddress, str | None]) -> Host:
    devices = tuple(
        replace(device, passthrough=replace(device.passthrough, label=after[device.address]))
        if device.address in after and device.passthrough is not None
        else device
        for device in host.pci_devices
    )
    return replace(host, pci_devices=devices)


def label_uses(
    hosts: Sequence[Host], topologies: Mapping[str, HostTopology], cluster: str | None
) -> tuple[LabelUse, ...]:
    """Return the labels of hosts that VMs may move between, in the order of the labels."""
    places: dict[str, dict[str, set[int | None]]] = {}
    cards: dict[str, Counter[tuple[str, str]]] = {}
    with_cards = []
    for host in hosts:
        devices = [d for d in assignable_devices(host, topologies[host.moid]) if d.passthrough or d.label]
        if any(device.kind == "gpu" for device in devices):
            with_cards.append(host.moid)
        for device in devices:
            if device.label is not None:
                node = topologies[host.moid].cpu_node_for(device.address)
                places.setdefault(device.label, {}).setdefault(host.moid, set()).add(node)
                cards.setdefault(device.label, Counter())[host.moid, device.model] += 1
    names = {host.moid: host.name for host in hosts}
    return tuple(
        _use(cluster, label, places[label], cards[label], with_cards, names) for label in sorted(places)
    )


def _use(
    cluster: str | None,
    label: str,
    places: Mapping[str, set[int | None]],
    cards: Counter[tuple[str, str]],
    with_cards: Sequence[str],
    names: Mapping[str, str],
) -> LabelUse:
    nodes = {node for seen in places.values() for node in seen}
    node = next(iter(nodes)) if len(nodes) == 1 else None
    why: list[str] = []
    advice: list[str] = []
    if None in nodes:
        where = [names[host] for host, seen in places.items() if None in seen]
        why.append(f"the NUMA node of a card is not known on {_listed(where)}")
        advice.append("import the locality of its cards (vplacer topology import), or read it with --esxcli")
    elif len(nodes) > 1:
        texts = [f"{names[host]}: {_nodes(seen)}" for host, seen in places.items()]
        why.append(f"it is on several NUMA nodes ({_listed(texts)})")
        advice.append(
            "let it be replaced (--replace), free cards in use (--in-use), or choose another --prefix"
        )
    kinds = {
        host: tuple(sorted((model, count) for (on, model), count in cards.items() if on == host))
        for host in places
    }
    if len(set(kinds.values())) > 1:
        texts = [f"{names[host]}: {_kinds(found)}" for host, found in kinds.items()]
        why.append(f"it does not have the same cards everywhere ({_listed(texts)})")
        advice.append("VMs that need more than the fewest run on some of these hosts only: equip them alike")
    missing = [names[host] for host in with_cards if host not in places]
    if missing:
        why.append(f"{_listed(missing)} {'has' if len(missing) == 1 else 'have'} GPUs, but none with it")
        advice.append("VMs of this label cannot go there: no DRS, no HA restart")
    counts = tuple(
        CardCount(host, model, count)
        for (host, model), count in sorted(
            cards.items(), key=lambda item: (moid_order(item[0][0]), item[0][1])
        )
    )
    everywhere = len(set(kinds.values())) == 1 and not missing
    return LabelUse(cluster, label, node, everywhere, counts, tuple(why), tuple(dict.fromkeys(advice)))


def _nodes(nodes: set[int | None]) -> str:
    return "+".join(f"pNUMA {node}" for node in sorted(n for n in nodes if n is not None))


def _kinds(found: Sequence[tuple[str, int]]) -> str:
    return " and ".join(f"{count} x {model}" for model, count in found)


def _listed(texts: Sequence[str], shown: int = 4) -> str:
    more = len(texts) - shown
    return ", ".join(texts[:shown]) + (f" and {more} more" if more > 0 else "")


def stranded_vms(
    before: Inventory, after: Inventory, topologies: Mapping[str, HostTopology]
) -> tuple[StrandedVm, ...]:
    """Return the VMs that could start on their host with the labels before, and cannot with those after."""
    found = []
    for vm in sorted(before.vms, key=lambda item: moid_order(item.moid)):
        if (
            vm.host is None
            or vm.host not in topologies
            or before.host_by_moid[vm.host] == after.host_by_moid[vm.host]
        ):
            continue
        for backing, needs in _labelled_backings(vm).items():
            had = _matching(before.host_by_moid[vm.host], topologies[vm.host], backing)
            has = _matching(after.host_by_moid[vm.host], topologies[vm.host], backing)
            if has < needs <= had:
                found.append(StrandedVm(vm.moid, vm.host, backing.label or "", needs, has, vm.is_on))
    return tuple(found)


def _labelled_backings(vm: Vm) -> Counter[DynamicBacking]:
    return Counter(
        replace(device.backing, assigned_id=None)
        for device in vm.devices
        if isinstance(device.backing, DynamicBacking) and device.backing.label
    )


def _matching(host: Host, topology: HostTopology, backing: DynamicBacking) -> int:
    return sum(
        1
        for card in assignable_devices(host, topology)
        if card.passthrough and card.label == backing.label and allowed_by(backing.allowed, card.ids)
    )
