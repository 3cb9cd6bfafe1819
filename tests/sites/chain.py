"""A site along the whole chain: inventory YAML, simulated vCenter over SOAP, collector, topology."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from vplacer.constraints.settings_findings import settings_findings
from vplacer.inventory.cluster import ResourcePool
from vplacer.inventory.host import Host, PciDevice
from vplacer.inventory.load import load_inventory_file
from vplacer.inventory.site import Site
from vplacer.inventory.vcenter import Inventory
from vplacer.inventory.vm import Vm
from vplacer.lab.soap.server import LabServer
from vplacer.topology.build import build_topologies
from vplacer.topology.describe import HostDescription, describe_host
from vplacer.topology.host_topology import HostTopology
from vplacer.vsphere.address import Address
from vplacer.vsphere.collector import CollectOptions, collect
from vplacer.vsphere.credentials import Credentials
from vplacer.vsphere.secret import Secret
from vplacer.vsphere.session import ConnectOptions, Session

_CARD = re.compile(r"\b(?:gpu|nic)\d+\b")


def collected(server: LabServer, options: CollectOptions | None = None) -> Inventory:
    """Read a served site as from any vCenter."""
    where = ConnectOptions(Address(server.host, server.port), ca_file=server.ca_file)
    who = Credentials(server.username, Secret(server.password), "test", "test")
    with Session.connect(where, who) as session:
        return collect(session, options)


def comparable(inventory: Inventory) -> Inventory:
    """Take out what is of no account here: orders, and what a vCenter tells but a file may not."""
    return replace(
        inventory,
        hosts=tuple(_host(h) for h in inventory.hosts),
        pools=tuple(_pool(p) for p in inventory.pools),
        vms=tuple(_vm(v) for v in inventory.vms),
        notes=(),
    )


def _host(host: Host) -> Host:
    # A host that gives no device to VMs is not asked for its passthrough candidates.
    offers = bool(host.vgpu_types) or any(_is_offered(device) for device in host.pci_devices)
    devices = host.pci_devices if offers else tuple(replace(d, system_id=None) for d in host.pci_devices)
    bindings = tuple(sorted(host.bindings, key=lambda b: (b.vm, b.instance_id)))
    return replace(host, pci_devices=devices, bindings=bindings)


def _is_offered(device: PciDevice) -> bool:
    return bool(
        (device.passthrough and device.passthrough.active)
        or (device.sriov and device.sriov.active)
        or (device.graphics and device.graphics.type == "sharedDirect")
    )


def _pool(pool: ResourcePool) -> ResourcePool:
    return replace(pool, cpu_unreserved_mhz=None)


def _vm(vm: Vm) -> Vm:
    own = vm.ownership
    if own.managed_by == "com.vmware.vim.eam":
        own = replace(own, managed_by=None, is_agent=True)
    devices = tuple(sorted(vm.devices, key=lambda d: d.key))
    return replace(vm, devices=devices, ownership=own)


@dataclass(frozen=True)
class ChainedSite:
    """A site as its file says it, and as the collector read it from the simulated vCenter."""

    site: Site
    read: Inventory
    topologies: dict[str, HostTopology]

    def host(self, name: str) -> Host:
        """Return the host of a name, as read."""
        (found,) = [host for host in self.read.hosts if host.name == name]
        return found

    def describe(self, name: str) -> HostDescription:
        """Describe a host as `vplacer topology show` does."""
        return described(self.read, self.topologies, name)

    def resolved(self, host: str, value: Any) -> Any:
        """Replace the names of cards by their addresses; see `resolved_cards`."""
        return resolved_cards(self.topologies[self.host(host).moid], value)


def resolved_cards(topology: HostTopology, value: Any) -> Any:
    """Replace ``gpu0``, ``nic1`` in what a case states by the addresses: in their order, as on screen."""
    names = {
        f"{prefix}{number}": str(device.address)
        for prefix, devices in (("gpu", topology.gpus), ("nic", topology.nics))
        for number, device in enumerate(devices)
    }

    def put(item: Any) -> Any:
        if isinstance(item, str):
            return _CARD.sub(lambda match: names.get(match[0], match[0]), item)
        if isinstance(item, list):
            return [put(part) for part in item]
        if isinstance(item, dict):
            return {put(key): put(part) for key, part in item.items()}
        return item

    return put(value)


def described(inventory: Inventory, topologies: dict[str, HostTopology], name: str) -> HostDescription:
    """Describe the host of a name."""
    (host,) = [host for host in inventory.hosts if host.name == name]
    topology, vms = topologies[host.moid], inventory.vms_by_host.get(host.moid, ())
    odd = settings_findings(host, topology, vms)
    return describe_host(host, topology, vms, everywhere=inventory.vm_by_moid, more_findings=odd)


def chained(path: Path) -> ChainedSite:
    """Load a site, serve it, read it."""
    site = load_inventory_file(path)
    with LabServer(site) as server:
        read = collected(server)
    return ChainedSite(site, read, build_topologies(read, site.overlays))


def check_findings(shown: HostDescription, wanted: dict[str, dict[str, str]]) -> None:
    """Assert that a host has these findings and no others.

    ``wanted``: kind to VM to a pattern of the sentence and its certainty in brackets; "" = about no VM.
    """
    have = {(line.finding.kind, line.name or ""): line.finding for line in shown.findings}
    told = sorted((kind, vm) for kind, vms in wanted.items() for vm in vms)
    assert sorted(have) == told, [finding.text for finding in have.values()]
    for kind, vms in wanted.items():
        for vm, says in vms.items():
            finding = have[kind, vm]
            assert re.search(says, f"{finding.text} [{finding.certainty}]"), finding
