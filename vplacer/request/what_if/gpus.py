"""GPUs taken out of a host, and GPUs added to one."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from vplacer.inventory.gpu_models import NVIDIA, gpu_by_ids, gpu_by_name
from vplacer.inventory.host import GpuMode, Graphics, Host, NumaNode, Passthrough, PciDevice
from vplacer.inventory.overlay import Overlay
from vplacer.inventory.pci import PciAddress

_CLASS_3D = 0x0302
_FIRST_BUS, _LAST_BUS = 0x20, 0xFE


def is_gpu(device: PciDevice) -> bool:
    """Whether a device is a GPU of a known model, not a function of one."""
    return gpu_by_ids(device.ids) is not None and device.address.function == 0


def without_devices(host: Host, gone: Iterable[PciAddress]) -> Host:
    """Return a host without some devices."""
    addresses = frozenset(gone)
    return replace(
        host,
        pci_devices=tuple(d for d in host.pci_devices if d.address not in addresses),
        numa_nodes=tuple(
            replace(node, devices=tuple(a for a in node.devices if a not in addresses))
            for node in host.numa_nodes
        ),
        bindings=tuple(b for b in host.bindings if b.address is None or b.address not in addresses),
    )


def without_cards(overlay: Overlay, gone: Iterable[PciAddress]) -> Overlay:
    """Return an overlay that says nothing of some cards."""
    addresses = frozenset(gone)
    return replace(
        overlay,
        devices=tuple(d for d in overlay.devices if d.address not in addresses),
        links=tuple(link for link in overlay.links if addresses.isdisjoint((link.a, link.b))),
    )


def pattern_of(model: str, host: Host, others: Sequence[Host]) -> tuple[PciDevice, Host | None] | None:
    """Return a card that added ones of a model are to be like, and the host it is of.

    One of the host itself, else of another host, else as the catalogue has it (host None); None for a
    model nobody knows.
    """
    found = gpu_by_name(model)
    name = found.name if found is not None else model
    for one in (host, *others):
        for device in one.pci_devices:
            known = gpu_by_ids(device.ids)
            if known is not None and known.name == name and device.address.function == 0:
                return device, one
    if found is None:
        return None
    vendor = "NVIDIA Corporation" if found.ids.vendor == NVIDIA else "GPU"
    device = PciDevice(
        address=PciAddress(0, 0, 0, 0),
        ids=found.ids,
        class_id=_CLASS_3D,
        vendor_name=vendor,
        device_name=found.name,
        passthrough=Passthrough(capable=True, enabled=True, active=True),
        graphics=Graphics("basic", GpuMode.NONE, found.memory_mib * 1024),
    )
    return device, None


def with_cards(
    host: Host, like: PciDevice, source: Host | None, count: int, node: NumaNode, label: str | None
) -> tuple[Host, tuple[PciAddress, ...]]:
    """Return a host with more cards, and their addresses: each on a bus of its own, below no bridge.

    So nobody counts them as near to another card by more than their NUMA node. vGPU profiles that a card
    of another host has come along.
    """
    addresses = free_addresses(host, count)
    cards = tuple(_card(like, address, label, host) for address in addresses)
    nodes = tuple(
        replace(n, devices=tuple(sorted((*n.devices, *addresses)))) if n.id == node.id else n
        for n in host.numa_nodes
    )
    devices = tuple(sorted((*host.pci_devices, *cards), key=lambda device: device.address))
    changed = replace(host, pci_devices=devices, numa_nodes=nodes)
    if source is not None and source is not host:
        changed = _with_profiles(changed, source, like)
    return changed, addresses


def usual_label(host: Host, node: NumaNode, model: str) -> str | None:
    """Return the label that all cards of a model on a node carry, None where they carry none or several."""
    labels = {
        device.passthrough.label if device.passthrough is not None else None
        for device in host.pci_devices
        if device.address in node.devices
        and (known := gpu_by_ids(device.ids)) is not None
        and known.name == model
    }
    return labels.pop() if len(labels) == 1 else None


def free_addresses(host: Host, count: int) -> tuple[PciAddress, ...]:
    """Return addresses on buses that the host does not use; fewer where it has no more."""
    used = {device.address.bus_key for device in host.pci_devices}
    free = [bus for bus in range(_FIRST_BUS, _LAST_BUS + 1) if (0, bus) not in used]
    return tuple(PciAddress(0, bus, 0, 0) for bus in free[:count])


def _card(like: PciDevice, address: PciAddress, label: str | None, host: Host) -> PciDevice:
    system = next((d.system_id for d in host.pci_devices if d.system_id is not None), None)
    passthrough = like.passthrough
    if passthrough is not None:
        passthrough = replace(passthrough, label=label, dependent=None)
    graphics = replace(like.graphics, vms=()) if like.graphics is not None else None
    return replace(
        like,
        address=address,
        parent_bridge=None,
        physical_slot=None,
        slot_description=None,
        passthrough=passthrough,
        sriov=None,
        graphics=graphics,
        system_id=system,
    )


def _with_profiles(host: Host, source: Host, like: PciDevice) -> Host:
    """Add the vGPU profiles that another host has for a card, unless this one has some for it."""
    key = (like.ids.vendor, like.ids.device)
    if any((p.vendor, p.device) == key for p in host.vgpu_profiles):
        return host
    profiles = tuple(p for p in source.vgpu_profiles if (p.vendor, p.device) == key)
    names = {profile.name for profile in profiles}
    types = tuple(name for name in source.vgpu_types if name in names and name not in host.vgpu_types)
    return replace(
        host, vgpu_profiles=(*host.vgpu_profiles, *profiles), vgpu_types=(*host.vgpu_types, *types)
    )
