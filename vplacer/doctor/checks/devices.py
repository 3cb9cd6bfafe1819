"""Checks of passthrough: what is active, what static backings need, labels."""

from __future__ import annotations

from collections import defaultdict

from vplacer.doctor.checks.common import count, described_hosts, differs, few, host_name, not_applicable, ok
from vplacer.doctor.marks import named, secret
from vplacer.doctor.model import Finding
from vplacer.inventory.device_kind import DeviceKind, device_kind
from vplacer.inventory.host import Host, PciDevice
from vplacer.inventory.vcenter import Inventory
from vplacer.inventory.vm import StaticBacking


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
    """Say whether static backings hold hexadecimal device ids, those of the card at their address."""
    found = [
        (vm, device.backing)
        for vm in inventory.vms
        for device in vm.devices
        if isinstance(device.backing, StaticBacking)
    ]
    if not found:
        return not_applicable("no VM has static DirectPath I/O")
    wrong = []
    for vm, backing in found:
        host = inventory.host_by_moid.get(vm.host or "")
        card = host.device(backing.address) if host is not None else None
        if card is None or backing.ids is None:
            wrong.append(f"{named('vm', vm.moid)}: {backing.address} is no device of its host")
        elif (backing.ids.vendor, backing.ids.device) != (card.ids.vendor, card.ids.device):
            wrong.append(
                f"{named('vm', vm.moid)}: {backing.address} is {card.ids}, the VM says {backing.ids}"
            )
    if wrong:
        return differs(
            f"another card is at the address of {count(len(wrong), 'static backing')}",
            few(wrong),
            "the card moved, or the id was written in decimal: such a VM does not start (govmomi #2248)",
        )
    return ok(f"the right card is named by {count(len(found), 'static backing')}, in hexadecimal")


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
