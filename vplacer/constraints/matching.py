"""Which cards of a host are of the kind that is asked for, whoever holds them."""

from __future__ import annotations

from vplacer.inventory.host import DeviceGroupType, GroupComponent, Host
from vplacer.inventory.pci import PciAddress, PciIds
from vplacer.request.demand import GpuAsk, NicAsk
from vplacer.topology.assignable import AssignableDevice, offers
from vplacer.topology.host_topology import HostTopology
from vplacer.topology.vgpu_room import profile_shape, why_mode_refuses


def gpu_matches(host: Host, device: AssignableDevice, ask: GpuAsk) -> bool:
    """Whether a card is of the kind a GPU ask wants, in a state in which it can be given.

    Of an ask for device groups: whether it can be one of a group's GPUs.
    """
    if device.kind != "gpu" or (ask.model is not None and device.model != ask.model):
        return False
    if ask.group is not None:
        group = group_type(host, ask.group)
        return group is not None and any(serves(host, device, part) for part in group.components)
    if ask.profile is not None:
        return takes_profile(host, device, ask.profile)
    return device.passthrough and (ask.label is None or device.label == ask.label)


def nic_matches(device: AssignableDevice, ask: NicAsk) -> bool:
    """Whether a port is of the kind a NIC ask wants, in a state in which it can be given."""
    return device.kind == "nic" and why_nic_differs(device, ask) is None


def why_nic_differs(device: AssignableDevice, ask: NicAsk) -> str | None:
    """Return in what a NIC differs from an ask, None where it does not.

    A speed or RDMA capability that is not known does not satisfy a request for it.
    """
    if ask.model is not None and device.model != ask.model:
        return f"the model is {device.model}"
    if ask.kind == "sriov":
        if not device.sriov_free_vfs:
            return "it has no virtual functions"
    elif not device.passthrough:
        return device.unusable or "passthrough is not active"
    if ask.label is not None and device.label != ask.label:
        return f"the label is {device.label or 'not set'}"
    if ask.min_speed_mbps is not None and (device.link_mbps or 0) < ask.min_speed_mbps:
        if device.link_mbps is None:
            return "its speed is not known"
        return "its link is down" if device.link_mbps == 0 else f"its speed is {device.link_mbps} Mbit/s"
    if ask.rdma is True and device.rdma is not True:
        return "it has no RDMA" if device.rdma is False else "whether it has RDMA is not known"
    return None


def takes_profile(host: Host, device: AssignableDevice, profile: str) -> bool:
    """Whether a card, in its current mode, takes vGPUs of a profile."""
    if device.kind != "gpu" or not device.vgpu or not offers(host, device, profile):
        return False
    shape = profile_shape(host, profile)
    return shape is not None and why_mode_refuses(device, shape) is None


def group_type(host: Host, name: str) -> DeviceGroupType | None:
    """Return a device group type a host offers, or None."""
    return next((group for group in host.device_groups if group.name == name), None)


def serves(host: Host, device: AssignableDevice, part: GroupComponent) -> bool:
    """Whether a card can be this member of a device group."""
    match part.kind:
        case "nvidiaVgpu":
            return part.profile is not None and takes_profile(host, device, part.profile)
        case "pciPassthru":
            return device.passthrough and any(_same_ids(ids, device.ids) for ids in part.allowed)
        case "sriovNic" | "dvx":
            return device.kind == "nic" and device.sriov_free_vfs > 0
        case _:
            return False


def _same_ids(wanted: PciIds, has: PciIds) -> bool:
    return (
        (wanted.vendor, wanted.device) == (has.vendor, has.device)
        and wanted.sub_vendor in (None, has.sub_vendor)
        and wanted.sub_device in (None, has.sub_device)
    )


def group_sets(topology: HostTopology, name: str) -> tuple[tuple[PciAddress, ...], ...] | None:
    """Return the sets of cards that can serve a device group, None where they are not known."""
    offer = next((offer for offer in topology.device_groups if offer.name == name), None)
    return offer.sets if offer is not None else ()
