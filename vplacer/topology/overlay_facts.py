"""What the overlays of a host add, after each has been held against the hardware.

An overlay whose hardware is no longer there is refused as a whole, by name: after a card was moved or
swapped, its other addresses may name other slots too.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from vplacer.inventory.host import Host, PciDevice
from vplacer.inventory.overlay import Overlay, OverlayDevice
from vplacer.inventory.pci import PciAddress, PciIds
from vplacer.topology.values import NvLink


@dataclass(frozen=True, slots=True)
class OverlayFacts:
    """Accepted facts in address order, and what was refused, one sentence each."""

    nodes: tuple[tuple[PciAddress, int], ...] = ()
    links: tuple[NvLink, ...] = ()
    mismatches: tuple[str, ...] = ()


NO_FACTS = OverlayFacts()


def overlay_facts(host: Host, overlays: Sequence[Overlay]) -> OverlayFacts:
    """Accept or refuse each overlay of a host; of two that tell of one thing, the later made wins."""
    if not overlays:
        return NO_FACTS
    present = {device.address: device for device in host.pci_devices}
    host_nodes = {node.id for node in host.numa_nodes}
    nodes: dict[PciAddress, int] = {}
    links: dict[tuple[PciAddress, PciAddress], NvLink] = {}
    mismatches: list[str] = []
    for overlay in sorted(overlays, key=lambda item: (item.created, item.source)):
        refusal = _refusal(host, overlay, present)
        if refusal is not None:
            mismatches.append(f"overlay '{overlay.source}' of {overlay.created} refused: {refusal}")
            continue
        told = {d.address: d.numa_node for d in overlay.devices if d.numa_node is not None}
        strange = sorted({node for node in told.values() if node not in host_nodes})
        if strange:
            mismatches.append(
                f"NUMA nodes of overlay '{overlay.source}' of {overlay.created} refused: it names pNUMA "
                f"{', '.join(map(str, strange))}, which this host does not have"
            )
        else:
            nodes.update(told)
        for link in overlay.links:
            a, b = sorted((link.a, link.b))
            # Without the date: hosts of one kind, imported on different days, share one topology.
            links[a, b] = NvLink(a, b, link.lanes, f"overlay: {overlay.source}")
    return OverlayFacts(tuple(sorted(nodes.items())), tuple(sorted(links.values())), tuple(mismatches))


def _refusal(host: Host, overlay: Overlay, present: dict[PciAddress, PciDevice]) -> str | None:
    """Say why an overlay does not describe this hardware, or None."""
    if overlay.host_uuid and host.uuid and overlay.host_uuid.lower() != host.uuid.lower():
        return f"it was made for the hardware {overlay.host_uuid}, this host is {host.uuid}"
    claimed = {device.address for device in overlay.devices}
    for told in overlay.devices:
        found = present.get(told.address)
        if found is None or not _same_ids(told.ids, found.ids):
            return _changed(told, found, claimed, present)
    for link in overlay.links:
        if link.a == link.b:
            return f"it joins {link.a} to itself"
        for end in (link.a, link.b):
            if end not in present:
                return f"it names a link of {end}, and there is no such device"
    return None


def _changed(
    told: OverlayDevice,
    found: PciDevice | None,
    claimed: set[PciAddress],
    present: dict[PciAddress, PciDevice],
) -> str:
    moved = [a for a, d in sorted(present.items()) if a not in claimed and _same_ids(told.ids, d.ids)]
    where = f"; a {told.ids} is now at {', '.join(map(str, moved))}" if moved else ""
    if found is None:
        return f"{told.ids} at {told.address} is gone{where}"
    return f"{told.address} was {_full(told.ids)} and is now {_full(found.ids)}{where}"


def _full(ids: PciIds) -> str:
    if ids.sub_vendor is None or ids.sub_device is None:
        return str(ids)
    return f"{ids} (subsystem {ids.sub_vendor:04x}:{ids.sub_device:04x})"


def _same_ids(told: PciIds, found: PciIds) -> bool:
    """Whether ids are equal as far as both tell them: a missing subsystem id says nothing."""
    if (told.vendor, told.device) != (found.vendor, found.device):
        return False
    pairs = ((told.sub_vendor, found.sub_vendor), (told.sub_device, found.sub_device))
    return all(a is None or b is None or a == b for a, b in pairs)
