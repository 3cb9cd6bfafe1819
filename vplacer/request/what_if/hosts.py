"""Hosts taken out of a site with or without their VMs, and hosts added that are like others."""

from __future__ import annotations

from dataclasses import replace
from uuid import NAMESPACE_URL, uuid5

from vplacer.inventory.cluster import Cluster
from vplacer.inventory.host import ConnectionState, Host, HostPower, PciDevice
from vplacer.inventory.overlay_file import belongs_to
from vplacer.inventory.vm import Vm
from vplacer.request.what_if.site_draft import SiteDraft, names_of, plural
from vplacer.request.what_if.vms import displace, take_out

_MIB = 1024 * 1024


def remove_host(draft: SiteDraft, host: Host, keep_vms: bool) -> None:
    """Take a host out; its running VMs need a place elsewhere if ``keep_vms``, else they are gone.

    VMs there that do not run, and templates, stay in the inventory and are on no host.
    """
    here = [vm for vm in draft.vms.values() if vm.host == host.moid]
    running = [vm for vm in here if vm.is_on and not vm.template and not _agent(vm)]
    for vm in here:
        if not vm.is_on or vm.template:
            draft.vms[vm.moid] = replace(vm, host=None)
        elif keep_vms and not _agent(vm):
            displace(draft, vm)
        else:
            take_out(draft, vm)
    del draft.hosts[host.moid]
    draft.widen(host.cluster, -_memory_mib(host))
    draft.change_clusters(lambda cluster: _without_host(cluster, host.moid))
    draft.overlays = [o for o in draft.overlays if not belongs_to(o, host)]
    text = f"host {host.name} is removed"
    if running:
        fate = "to be placed elsewhere" if keep_vms else "gone with it"
        text += f"; {plural(len(running), 'VM')} that ran there {fate}: {names_of(running)}"
    draft.changes.append(text)


def add_host(draft: SiteDraft, like: Host, name: str) -> Host:
    """Add an empty host, otherwise like another: hardware, cards, labels, cluster, groups, overlays."""
    moid = draft.new_moid("host")
    uuid = str(uuid5(NAMESPACE_URL, f"{like.uuid or like.moid}/{name}"))
    host = replace(
        like,
        moid=moid,
        name=name,
        uuid=uuid,
        connection=ConnectionState.CONNECTED,
        power=HostPower.ON,
        in_maintenance=False,
        in_quarantine=False,
        bindings=(),
        pci_devices=tuple(_fresh(device, uuid) for device in like.pci_devices),
        pnics=tuple(replace(pnic, mac=None) for pnic in like.pnics),
    )
    draft.hosts[moid] = host
    draft.widen(host.cluster, _memory_mib(host))
    draft.change_clusters(lambda cluster: _with_host(cluster, like.moid, moid))
    draft.overlays += [
        replace(overlay, host=name, host_uuid=uuid, homes=(), node_memory=())
        for overlay in draft.overlays
        if belongs_to(overlay, like)
    ]
    return host


def _fresh(device: PciDevice, uuid: str) -> PciDevice:
    """Return a card that no VM uses and that names the new host as its own."""
    graphics = replace(device.graphics, vms=()) if device.graphics is not None else None
    return replace(device, system_id=uuid if device.system_id is not None else None, graphics=graphics)


def _agent(vm: Vm) -> bool:
    """Whether a VM belongs to its host and goes with it (vCLS and other agents of ESX)."""
    return vm.ownership.is_agent or vm.name.startswith("vCLS-")


def _memory_mib(host: Host) -> int:
    return max(0, (host.memory_bytes or 0) // _MIB - (host.system_memory_mib or 0))


def _without_host(cluster: Cluster, moid: str) -> Cluster:
    rules = tuple(
        replace(rule, hosts=tuple(h for h in rule.hosts if h != moid)) for rule in cluster.vm_host_rules
    )
    admission = cluster.admission
    if admission is not None and moid in admission.dedicated:
        admission = replace(admission, dedicated=tuple(h for h in admission.dedicated if h != moid))
    return replace(cluster, vm_host_rules=rules, admission=admission)


def _with_host(cluster: Cluster, like: str, moid: str) -> Cluster:
    """Put a new host into the host groups that the one it is like is in."""
    rules = tuple(
        replace(rule, hosts=(*rule.hosts, moid)) if like in rule.hosts else rule
        for rule in cluster.vm_host_rules
    )
    return replace(cluster, vm_host_rules=rules)
