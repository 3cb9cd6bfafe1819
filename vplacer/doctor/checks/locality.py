"""Checks of what hosts tell of NUMA nodes, the PCIe tree and numbers."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable

from vplacer.doctor.checks.common import (
    cards,
    count,
    described_hosts,
    differs,
    few,
    host_name,
    not_applicable,
    not_checked,
    ok,
)
from vplacer.doctor.marks import named
from vplacer.doctor.model import Evidence, Finding
from vplacer.doctor.observed import RawHost, Untold
from vplacer.inventory.device_kind import DeviceKind, device_kind, virtual_functions
from vplacer.inventory.host import Host, PciDevice
from vplacer.inventory.overlay import Overlay
from vplacer.inventory.overlay_file import belongs_to
from vplacer.inventory.pci import PciAddress
from vplacer.inventory.vcenter import Inventory
from vplacer.topology.pci_tree import PciNode, PciTree

_ESXCLI = "ask the hosts with --esxcli, or import another tool's answer (`vplacer topology import`)"
_NO_HOST = "no connected host describes its devices"
_SPELLINGS = (
    ("ssss:bb:dd.f, lower case", re.compile(r"[0-9a-f]{4}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]")),
    ("ssss:bb:dd.f, upper case", re.compile(r"[0-9A-F]{4}:[0-9A-F]{2}:[0-9A-F]{2}\.[0-7]")),
    ("longer segment", re.compile(r"[0-9a-fA-F]{5,8}:[0-9a-fA-F]{2}:[0-9a-fA-F]{2}\.[0-7]")),
    ("no segment", re.compile(r"[0-9a-fA-F]{1,2}:[0-9a-fA-F]{1,2}\.[0-7]")),
)


def node_lists(inventory: Inventory) -> Finding:
    """Say on which hosts numaNode[].pciId is filled, and what is in it."""
    hosts = [host for host in described_hosts(inventory) if host.numa_nodes]
    if not hosts:
        return not_applicable(_NO_HOST)
    empty = [host for host in hosts if not any(node.devices for node in host.numa_nodes)]
    kinds = Counter(kind for host in hosts for kind in _listed_kinds(host))
    told = [f"{count(len(hosts) - len(empty), 'host')} of {len(hosts)} list devices by node"]
    told.append("listed: " + (", ".join(f"{n} {kind}" for kind, n in sorted(kinds.items())) or "nothing"))
    several = [host for host in empty if len(host.numa_nodes) > 1]
    if several:
        told += few([f"{host_name(host)}: {_model(host)}" for host in several])
        return differs(
            f"no device is listed by {count(len(several), 'host')} with several NUMA nodes", told, _ESXCLI
        )
    if len(empty) == len(hosts):
        return not_applicable("hosts with one NUMA node, and none lists its devices")
    return ok("hosts tell which devices are on which NUMA node", *told)


def _listed_kinds(host: Host) -> Iterable[str]:
    virtual = virtual_functions(host)
    for node in host.numa_nodes:
        for address in node.devices:
            device = host.device(address)
            if device is None:
                yield "not among the devices"
            elif address in virtual:
                yield DeviceKind.VIRTUAL_FUNCTION.value
            else:
                yield device_kind(device).value


def _model(host: Host) -> str:
    return f"{host.vendor or '?'} {host.model or '?'}, ESXi {host.version or '?'}"


def spelling(facts: tuple[RawHost, ...], _evidence: Evidence) -> Finding:
    """Say how addresses are spelled, and whether node lists and devices name the same ones."""
    if not any(host.pci_ids for host in facts):
        return not_applicable(_NO_HOST)
    told, unread, strangers = [], [], []
    for field in ("pci_ids", "node_ids", "parents"):
        texts = [(host.moid, text) for host in facts for text in getattr(host, field)]
        forms = Counter(_form(text) for _, text in texts)
        told.append(
            f"{_FIELDS[field]}: " + (", ".join(f"{n} {form}" for form, n in sorted(forms.items())) or "none")
        )
        unread += [f"{named('host', moid)}: a {_FIELDS[field]} of another form" for moid, text in texts
                   if _form(text) == "another form"]  # fmt: skip
    for host in facts:
        known = {address for text in host.pci_ids if (address := _parse(text)) is not None}
        lost = [a for text in host.node_ids if (a := _parse(text)) is not None and a not in known]
        if lost:
            strangers.append(f"{named('host', host.moid)}: {lost[0]} is on a node and is no device")
    if unread or strangers:
        return differs(
            "addresses are spelled, or listed, in a way that is not expected",
            (*told, *few(unread + strangers)),
            "report these spellings; such devices count as of unknown locality",
        )
    return ok("addresses are spelled as expected", *told)


_FIELDS = {"pci_ids": "pciDevice.id", "node_ids": "numaNode.pciId", "parents": "parentBridge"}


def _form(text: str) -> str:
    return next((name for name, pattern in _SPELLINGS if pattern.fullmatch(text)), "another form")


def _parse(text: str) -> PciAddress | None:
    try:
        return PciAddress.parse(text)
    except ValueError:
        return None


def cards_with_node(evidence: Evidence) -> Finding:
    """Say which GPUs and NICs vCenter places on no NUMA node, and for how many of them an overlay does."""
    inventory = evidence.inventory
    if isinstance(inventory, Untold):
        return not_checked(inventory)
    hosts = [host for host in described_hosts(inventory) if len(host.numa_nodes) > 1]
    known = [(host, device) for host in hosts for device in cards(host)]
    if not known:
        return not_applicable("no host with several NUMA nodes has a GPU or NIC")
    lost = [(host, device) for host, device in known if host.node_of(device.address) is None]
    told = (
        f"{len(known) - len(lost)} of {count(len(known), 'card')} on {count(len(hosts), 'host')} have a node"
    )
    if lost:
        names = [f"{host_name(host)} {d.address} {d.ids} ({device_kind(d).value})" for host, d in lost]
        placed = sum(_placed_by_overlay(host, device, evidence.overlays) for host, device in lost)
        more = [f"overlays tell the node of {placed} of the others"] if evidence.overlays else []
        return differs(f"no NUMA node for {count(len(lost), 'card')}", (told, *more, *few(names)), _ESXCLI)
    return ok("every GPU and NIC has a NUMA node", told)


def _placed_by_overlay(host: Host, device: PciDevice, overlays: Iterable[Overlay]) -> bool:
    return any(
        item.address == device.address and item.ids == device.ids and item.numa_node is not None
        for overlay in overlays
        if belongs_to(overlay, host)
        for item in overlay.devices
    )


def siblings(inventory: Inventory) -> Finding:
    """Say whether devices below one root port are on one node, and whether any is on two."""
    compared, wrong = 0, []
    for host in described_hosts(inventory):
        tree, nodes = _tree(host), _nodes(host)
        wrong += [
            f"{host_name(host)} {address} is in the lists of {len(ids)} nodes"
            for address, ids in sorted(nodes.items())
            if len(ids) > 1
        ]
        by_root: dict[PciAddress, set[int]] = defaultdict(set)
        members: Counter[PciAddress] = Counter()
        for address, ids in nodes.items():
            root = tree.root(address)
            if root is not None and len(ids) == 1:
                by_root[root] |= ids
                members[root] += 1
        compared += sum(1 for number in members.values() if number > 1)
        wrong += [
            f"{host_name(host)}: devices below root port {root} are on pNUMA "
            + " and ".join(str(node) for node in sorted(ids))
            for root, ids in sorted(by_root.items())
            if len(ids) > 1
        ]
    if wrong:
        return differs(
            "NUMA nodes contradict the PCIe tree",
            few(wrong),
            "do not trust the locality of these devices; report host model and ESXi build",
        )
    if not compared:
        return not_applicable("no root port has two devices whose node is told")
    return ok("devices below one root port are on one node", f"{count(compared, 'root port')} compared")


def _nodes(host: Host) -> dict[PciAddress, set[int]]:
    found: dict[PciAddress, set[int]] = defaultdict(set)
    for node in host.numa_nodes:
        for address in node.devices:
            found[address].add(node.id)
    return found


def _tree(host: Host) -> PciTree:
    virtual = virtual_functions(host)
    return PciTree(
        PciNode(device.address, device.class_id, device.parent_bridge, device.address in virtual)
        for device in host.pci_devices
    )


def parents(inventory: Inventory) -> Finding:
    """Say whether parentBridge leads from every card to a root bus."""
    known, lost, ports = 0, [], 0
    for host in described_hosts(inventory):
        tree = _tree(host)
        for device in cards(host):
            known += 1
            chain = tree.chain(device.address)
            if chain.root_bus is None:
                lost.append(
                    f"{host_name(host)} {device.address}: " + ("cut" if chain.bridges else "no parent")
                )
            ports += bool(chain.bridges)
    if not known:
        return not_applicable("no host has a GPU or NIC")
    told = f"{ports} of {count(known, 'card')} hang below a bridge that is told"
    if lost:
        return differs(
            f"the PCIe tree of {count(len(lost), 'card')} is not told to its root",
            (told, *few(lost)),
            "which cards share a switch is then not known there; NUMA nodes still count",
        )
    return ok("parentBridge leads to a root bus from every card", told)


def signed_numbers(facts: tuple[RawHost, ...], _evidence: Evidence) -> Finding:
    """Say whether numbers came signed, as the API's types make them."""
    if not any(host.pci_ids for host in facts):
        return not_applicable(_NO_HOST)
    total: Counter[str] = Counter()
    for host in facts:
        total.update(host.negative)
    seen = ", ".join(f"{field} {number}" for field, number in sorted(total.items()) if number)
    return ok("numbers are read with their sign undone", f"negative on the wire: {seen or 'none seen'}")


def cpu_numbers(inventory: Inventory) -> Finding:
    """Say whether threads of nodes and packages are numbered alike and add up."""
    hosts = [host for host in described_hosts(inventory) if host.numa_nodes]
    if not hosts:
        return not_applicable(_NO_HOST)
    wrong = []
    for host in hosts:
        listed = [thread for node in host.numa_nodes for thread in node.thread_ids]
        cores = sum(node.core_count for node in host.numa_nodes)
        if len(set(listed)) != len(listed):
            wrong.append(f"{host_name(host)}: a thread is on two NUMA nodes")
        elif host.thread_count is not None and len(listed) != host.thread_count:
            wrong.append(f"{host_name(host)}: nodes have {len(listed)} threads, the host {host.thread_count}")
        elif host.core_count is not None and cores != host.core_count:
            wrong.append(f"{host_name(host)}: nodes have {cores} cores, the host {host.core_count}")
        elif (host.package_count or 1) > 1 and any(
            n.core_count and n.package is None for n in host.numa_nodes
        ):
            wrong.append(f"{host_name(host)}: the package of a NUMA node does not follow from its threads")
    if wrong:
        return differs(
            "CPU numbers of NUMA nodes do not add up",
            few(wrong),
            "cores per node are then wrong or packages unknown; report host model and ESXi build",
        )
    split = sum(1 for host in hosts if len(host.numa_nodes) > (host.package_count or 1))
    return ok(
        f"threads and cores of {count(len(hosts), 'host')} add up",
        f"{count(split, 'host')} with more NUMA nodes than packages (SNC, NPS, memory nodes)",
    )


def functions(inventory: Inventory) -> Finding:
    """Say whether the virtual functions that hosts count are those that are found among the devices."""
    wrong, ports, found_all = [], 0, 0
    for host in described_hosts(inventory):
        found = Counter(owner for owner in virtual_functions(host).values() if owner is not None)
        for device in host.pci_devices:
            if device.sriov is not None and device.sriov.vf_present > 0:
                ports += 1
                found_all += found[device.address]
                if found[device.address] != device.sriov.vf_present:
                    wrong.append(
                        f"{host_name(host)} {device.address} {device.ids}: {device.sriov.vf_present} told, "
                        f"{found[device.address]} found"
                    )
    if not ports:
        return not_applicable("no port has virtual functions")
    if wrong:
        return differs(
            "virtual functions told and found are not as many",
            few(wrong),
            "devices taken for functions, or functions for devices: report the ids of the card",
        )
    return ok(f"{found_all} virtual functions of {count(ports, 'port')} found")
