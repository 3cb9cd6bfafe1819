"""Checks of passthrough: what is active, what static backings need, labels."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from vplacer.doctor.checks.common import (
    count,
    described_hosts,
    differs,
    few,
    host_name,
    not_applicable,
    not_checked,
    ok,
)
from vplacer.doctor.marks import named, secret
from vplacer.doctor.model import Finding
from vplacer.doctor.observed import Untold
from vplacer.inventory.device_kind import DeviceKind, device_kind
from vplacer.inventory.host import Host, PciDevice
from vplacer.inventory.vcenter import Inventory
from vplacer.inventory.vm import StaticBacking, Vm
from vplacer.topology.build import build_host_topology
from vplacer.topology.claims import host_cards
from vplacer.topology.static_findings import static_findings


def _passed(inventory: Inventory) -> list[tuple[Host, PciDevice]]:
    return [
        (host, device)
        for host in described_hosts(inventory)
        for device in host.pci_devices
        if device.passthrough is not None and (device.passthrough.enabled or device.passthrough.active)
    ]


def active(inventory: Inventory) -> Finding:
    """Say which devices are enabled for passthrough and not active: they wait for a reboot."""
    found = _passed(inventory)
    if not found:
        return not_applicable("no device is enabled for passthrough")
    odd = [
        f"{host_name(host)} {device.address} {device.ids}: "
        + ("enabled, not active" if device.passthrough.enabled else "active, not enabled")
        + ("" if host.reboot_required is None else f", reboot required: {host.reboot_required}")
        for host, device in found
        if device.passthrough is not None and device.passthrough.enabled != device.passthrough.active
    ]
    told = f"{len(found) - len(odd)} of {count(len(found), 'device')} enabled and active"
    if odd:
        return differs(
            f"enabled and active differ for {count(len(odd), 'device')}",
            (told, *few(odd)),
            "reboot the host for what is enabled; until then the device is not offered to VMs",
        )
    return ok("what is enabled for passthrough is active", told)


def system_ids(inventory: Inventory) -> Finding:
    """Say whether ConfigTarget names a systemId for every active device, as static backings need it."""
    found = [
        (host, device)
        for host, device in _passed(inventory)
        if device.passthrough is not None and device.passthrough.active
    ]
    if not found:
        return not_applicable("no device is active for passthrough")
    lost = [f"{host_name(host)} {d.address} {d.ids}" for host, d in found if not d.system_id]
    several = []
    by_host: dict[str, set[str]] = defaultdict(set)
    for host, device in found:
        if device.system_id:
            by_host[host.moid].add(device.system_id)
    several = [named("host", moid) for moid, ids in by_host.items() if len(ids) > 1]
    told = [f"{len(found) - len(lost)} of {count(len(found), 'device')} have a systemId"]
    told.append(f"hosts with more than one systemId: {len(several)}")
    if lost:
        return differs(
            f"no systemId for {count(len(lost), 'active device')}",
            (*told, *few(lost)),
            "affinity `pin` cannot be used for them; labels can",
        )
    return ok("every active device has a systemId", *told)


def static_ids(inventory: Inventory) -> Finding:
    """Say whether static backings name the card at their address, with its id in hexadecimal."""
    found = [vm for vm in inventory.vms for device in vm.devices if isinstance(device.backing, StaticBacking)]
    if not found:
        return not_applicable("no VM has static DirectPath I/O")
    cards = {host.moid: host_cards(host, build_host_topology(host)) for host in _hosts_of(found, inventory)}
    compared = [vm for vm in found if vm.host in cards]
    if not compared:
        return not_checked(
            Untold("the hosts of VMs with static DirectPath I/O do not tell their devices", failed=False)
        )
    wrong = [
        f"{named('vm', vm.moid)} on {named('host', vm.host or '')}: {finding.address} "
        f"{STATIC_WORDS.get(finding.kind, 'is not as the VM says')} ({finding.kind})"
        for vm in dict.fromkeys(compared)
        for finding in static_findings(vm, cards[vm.host or ""])
    ]
    left = len(found) - len(compared)
    told = [f"not compared: {count(left, 'device')}, as the host does not tell its own"] if left else []
    if wrong:
        return differs(
            f"{count(len(wrong), 'static backing')} of {len(compared)} cannot be used as they are",
            (*told, *few(wrong)),
            "such a VM does not start (govmomi #2248); `vplacer topology show HOST` tells more",
        )
    return ok(f"the right card is named by {count(len(compared), 'static backing')}, in hexadecimal", *told)


STATIC_WORDS = {
    "static-device-gone": "is not the card that the VM names, and the host has none of these ids",
    "static-device-moved": "is not the card that the VM names, which is at another address",
    "static-device-not-passed-through": "is not given to VMs now",
    "static-id-decimal": "has its device id stored in decimal",
    "static-id-unreadable": "has a device id that is no hexadecimal number",
    "static-system-id-differs": "is named with the system id of another host",
}


def _hosts_of(vms: Iterable[Vm], inventory: Inventory) -> list[Host]:
    wanted = {vm.host for vm in vms}
    return [host for host in described_hosts(inventory) if host.moid in wanted]


def labels(inventory: Inventory) -> Finding:
    """Say whether each hardware label means one NUMA node and one kind of card in its cluster."""
    nodes: dict[tuple[str, str], set[int | None]] = defaultdict(set)
    kinds: dict[tuple[str, str], set[str]] = defaultdict(set)
    for host in described_hosts(inventory):
        for device in host.pci_devices:
            label = device.passthrough.label if device.passthrough is not None else None
            if label and device_kind(device) is not DeviceKind.VIRTUAL_FUNCTION:
                key = (host.cluster or host.moid, label)
                nodes[key].add(host.node_of(device.address))
                kinds[key].add(str(device.ids))
    if not nodes:
        return not_applicable("no device has a hardware label")
    mixed = [key for key, seen in nodes.items() if len(seen) > 1 or None in seen]
    told = [f"{count(len(nodes), 'label')} in use, {len(nodes) - len(mixed)} of them on one NUMA node number"]
    told += few([_label_text(key, kinds[key], nodes[key]) for key in sorted(mixed)])
    if mixed:
        return differs(
            f"no single NUMA node stands behind {count(len(mixed), 'label')}",
            told,
            "affinity `label` does not use them: label cards of one node number alike in the whole cluster",
        )
    return ok("hardware labels mean one NUMA node each", *told)


def _label_text(key: tuple[str, str], kinds: set[str], nodes: set[int | None]) -> str:
    unit, label = key
    where = " and ".join(sorted("unknown" if node is None else str(node) for node in nodes))
    place = named("host" if unit.startswith("host-") else "cluster", unit)
    return f"{secret('label', label)} in {place}: {count(len(kinds), 'kind')} of card, node {where}"
