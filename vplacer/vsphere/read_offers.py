"""ConfigTarget of one host: what it offers to VMs - passthrough, vGPU profiles, vendor device groups."""

from __future__ import annotations

from dataclasses import dataclass, field

from vplacer.inventory.host import DeviceGroupType, GroupComponent, VgpuProfile
from vplacer.inventory.pci import PciAddress, PciIds, unsigned16
from vplacer.vsphere.raw import Data, Notes
from vplacer.vsphere.read_address import read_address


@dataclass(frozen=True, slots=True)
class HostOffers:
    """What ConfigTarget tells of one host."""

    system_ids: dict[PciAddress, str] = field(default_factory=dict)
    profiles: tuple[VgpuProfile, ...] = ()
    groups: tuple[DeviceGroupType, ...] = ()
    groups_of_others: bool = False
    """The answer was for several hosts: it has device groups, but not whose they are."""


def read_offers(
    target: Data, props: Data, host_name: str, notes: Notes, *, shared: bool = False
) -> HostOffers:
    """Read the answer of QueryConfigTarget for one host.

    An answer for several hosts is the union of what they offer (vSphere API: QueryConfigTarget without a
    host). Of that, what the host's own configuration tells is kept: the vGPU profiles that it lists.

    Args:
        target: the ConfigTarget.
        props: the host's properties.
        host_name: for notes.
        notes: told of what was left out.
        shared: the answer is for several hosts; found out here too where it names several systems.
    """
    system_ids: dict[PciAddress, str] = {}
    systems = set()
    for entry in [*target.items("pciPassthrough"), *target.items("sriov")]:
        device = entry.data("pciDevice")
        system_id = entry.text("systemId")
        if device is not None and system_id:
            address = read_address(device.text("id"), notes, f"{host_name} pciPassthrough")
            if address is not None:
                system_ids.setdefault(address, system_id)
                systems.add(system_id)
    migratable = read_migratable(props)
    profiles = tuple(_profile(entry, migratable) for entry in target.items("vgpuProfileInfo"))
    groups = tuple(_group(entry) for entry in target.items("vendorDeviceGroupInfo"))
    # A host is one system.
    if not shared and len(systems) <= 1:
        return HostOffers(system_ids, profiles, groups)
    if systems:
        notes.add("some hosts' devices have no system id: the vCenter answered for several hosts at once")
    own = set(props.texts("config.sharedPassthruGpuTypes"))
    return HostOffers(
        profiles=tuple(profile for profile in profiles if profile.name in own),
        groups_of_others=any(_possible(group, own, props) for group in groups),
    )


def _possible(group: DeviceGroupType, vgpu_types: set[str], props: Data) -> bool:
    """Whether a host may have a group: it lists every vGPU profile and has every device in it."""
    devices = {
        (unsigned16(item.number("vendorId") or 0), unsigned16(item.number("deviceId") or 0))
        for item in props.items("hardware.pciDevice")
    }
    return all(
        (part.profile is None or part.kind != "nvidiaVgpu" or part.profile in vgpu_types)
        and (not part.allowed or any((ids.vendor, ids.device) in devices for ids in part.allowed))
        for part in group.components
    )


def read_migratable(props: Data) -> dict[str, bool]:
    """Return vGPU profile to migrateSupported, from the host's config.sharedGpuCapabilities."""
    return {
        name: flag
        for entry in props.items("config.sharedGpuCapabilities")
        if (name := entry.text("vgpu")) and (flag := entry.flag("migrateSupported")) is not None
    }


def _profile(entry: Data, migratable: dict[str, bool]) -> VgpuProfile:
    """deviceVendorId packs both ids: vendor in the low 16 bits, device above."""
    name = entry.text("profileName") or ""
    packed = entry.number("deviceVendorId") or 0
    return VgpuProfile(
        name=name,
        vendor=unsigned16(packed),
        device=unsigned16(packed >> 16),
        framebuffer_gib=entry.number("fbSizeInGib") or 0,
        sharing=entry.text("profileSharing") or None,
        profile_class=entry.text("profileClass") or None,
        migratable=migratable.get(name),
    )


def _group(entry: Data) -> DeviceGroupType:
    return DeviceGroupType(
        name=entry.text("deviceGroupName") or entry.text("name") or "",
        description=entry.text("deviceGroupDescription") or "",
        components=tuple(_component(component) for component in entry.items("componentDeviceInfo")),
    )


def _component(component: Data) -> GroupComponent:
    """What a member is stands in the template the vendor gives for it, never in the group's name."""
    template = component.data("device")
    backing = template.data("backing") if template else None
    place = template.data("deviceGroupInfo") if template else None
    return GroupComponent(
        kind=component.text("type") or "",
        vendor_name=component.text("vendorName") or "",
        device_name=component.text("deviceName") or "",
        configurable=component.flag("isConfigurable") is True,
        sequence_id=place.number("sequenceId") if place else None,
        profile=backing.text("vgpu") or None if backing else None,
        allowed=tuple(_allowed(item) for item in backing.items("allowedDevice")) if backing else (),
    )


def _allowed(item: Data) -> PciIds:
    return PciIds.from_signed(
        item.number("vendorId") or 0,
        item.number("deviceId") or 0,
        item.number("subVendorId"),
        item.number("subDeviceId"),
    )
