"""A site as it would be without some of what is there today: VMs gone, hosts open, admission control off."""

from __future__ import annotations

from dataclasses import dataclass, replace

from vplacer.constraints.state import Problem
from vplacer.inventory.hidden_holders import holders_named
from vplacer.inventory.host import ConnectionState, Host, HostPower, PciDevice
from vplacer.inventory.vcenter import Inventory


@dataclass(frozen=True, slots=True)
class SiteChange:
    """``vms``: thought away. ``hosts``: thought to take VMs. ``clusters``: without admission control."""

    vms: frozenset[str] = frozenset()
    hosts: frozenset[str] = frozenset()
    clusters: frozenset[str] = frozenset()


AS_IT_IS = SiteChange()


def is_open(host: Host) -> bool:
    """Whether a host takes VMs as far as its own state says; a reboot that waits leaves devices out."""
    return (
        host.connection is ConnectionState.CONNECTED
        and host.power is HostPower.ON
        and host.in_maintenance is False
        and not host.in_quarantine
        and not any(_waits(device) for device in host.pci_devices)
    )


def why_closed(host: Host) -> str:
    """Say why a host takes no VMs, or not with all its devices."""
    if host.connection is not ConnectionState.CONNECTED:
        return f"is {host.connection.value}"
    if host.power is not HostPower.ON:
        return "is in standby" if host.power is HostPower.STANDBY else f"is {host.power.value}"
    if host.in_maintenance is not False:
        return "is in maintenance mode"
    return "is in quarantine" if host.in_quarantine else "waits for a reboot"


def altered(problem: Problem, change: SiteChange) -> Problem:
    """Return the problem on the site with a change."""
    if change == AS_IT_IS:
        return problem
    inventory = problem.inventory
    hosts = tuple(_host(host, change) for host in inventory.hosts)
    clusters = tuple(
        replace(cluster, ha_enabled=False) if cluster.moid in change.clusters else cluster
        for cluster in inventory.clusters
    )
    vms = tuple(vm for vm in inventory.vms if vm.moid not in change.vms)
    gaps = tuple(gap for gap in inventory.gaps if gap.object not in change.vms)
    changed: Inventory = replace(inventory, hosts=hosts, clusters=clusters, vms=vms, gaps=gaps)
    return Problem(changed, problem.topologies, problem.request)


def _host(host: Host, change: SiteChange) -> Host:
    if change.vms and holders_named(host) & change.vms:
        kept = tuple(binding for binding in host.bindings if binding.vm not in change.vms)
        devices = tuple(_released(device, change.vms) for device in host.pci_devices)
        host = replace(host, bindings=kept, pci_devices=devices)
    if host.moid not in change.hosts:
        return host
    return replace(
        host,
        connection=ConnectionState.CONNECTED,
        power=HostPower.ON,
        in_maintenance=False,
        in_quarantine=False,
        pci_devices=tuple(_rebooted(device) for device in host.pci_devices),
    )


def _released(device: PciDevice, vms: frozenset[str]) -> PciDevice:
    graphics = device.graphics
    if graphics is None or not vms.intersection(graphics.vms):
        return device
    return replace(device, graphics=replace(graphics, vms=tuple(vm for vm in graphics.vms if vm not in vms)))


def _waits(device: PciDevice) -> bool:
    return (
        device.passthrough is not None and bool(device.passthrough.enabled) and not device.passthrough.active
    )


def _rebooted(device: PciDevice) -> PciDevice:
    if device.passthrough is None or not _waits(device):
        return device
    return replace(device, passthrough=replace(device.passthrough, active=True))
