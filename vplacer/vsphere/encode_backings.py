"""What stands behind a device that is added: DirectPath I/O in its three kinds, vGPU, SR-IOV."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from vplacer.errors import InternalError, InventoryIncomplete
from vplacer.inventory.pci import PciAddress, signed16, unsigned16
from vplacer.inventory.vm import (
    AllowedDevice,
    Backing,
    DvxBacking,
    DynamicBacking,
    SriovBacking,
    StaticBacking,
    VgpuBacking,
)
from vplacer.vsphere.data_objects import make
from vplacer.vsphere.raw import Data


@dataclass(frozen=True, slots=True)
class HostSide:
    """What the VM's host offers now, as far as a change needs it.

    ``groups``: VendorDeviceGroupInfo by group name. ``cards``: ConfigTarget's entries of devices for
    passthrough, by address: only they tell the system id. ``networks``: backing of a network card by the
    network's managed object id.
    """

    name: str
    groups: Mapping[str, Data] = field(default_factory=dict)
    cards: Mapping[PciAddress, Data] = field(default_factory=dict)
    networks: Mapping[str, Any] = field(default_factory=dict)


def encode_device(backing: Backing, host: HostSide) -> Any:
    """Return a new device without key or place.

    Raises:
        InventoryIncomplete: the host does not tell what the backing needs.
        InternalError: no plan makes a device of this kind.
    """
    match backing:
        case StaticBacking():
            return _passthrough(_static(backing, host))
        case DynamicBacking():
            return _passthrough(_dynamic(backing))
        case VgpuBacking():
            return _passthrough(make("VirtualPCIPassthroughVmiopBackingInfo", vgpu=backing.profile))
        case DvxBacking():
            return _passthrough(_dvx(backing))
        case SriovBacking():
            return _sriov_card(backing, host)
        case _:
            raise InternalError(f"a plan cannot add a device such as {backing}", obj=host.name)


def _passthrough(backing: Any) -> Any:
    return make("VirtualPCIPassthrough", backing=backing)


def _static(backing: StaticBacking, host: HostSide) -> Any:
    """The device id is text in hexadecimal without 0x, the vendor id a signed short (govmomi #2248)."""
    system_id = backing.system_id or _system_id(_card(backing.address, host))
    return make(
        "VirtualPCIPassthroughDeviceBackingInfo",
        deviceName=backing.device_name,
        id=str(backing.address),
        deviceId=backing.device_id,
        systemId=system_id,
        vendorId=signed16(backing.vendor_id),
    )


def _dynamic(backing: DynamicBacking) -> Any:
    """``deviceName`` is required by the schema and has no meaning; ids are whole numbers here, unsigned."""
    return make(
        "VirtualPCIPassthroughDynamicBackingInfo",
        deviceName="",
        allowedDevice=[_allowed(item) for item in backing.allowed],
        customLabel=backing.label,
    )


def _allowed(item: AllowedDevice) -> Any:
    return make(
        "VirtualPCIPassthroughAllowedDevice",
        vendorId=item.vendor,
        deviceId=item.device,
        subVendorId=item.sub_vendor,
        subDeviceId=item.sub_device,
    )


def _dvx(backing: DvxBacking) -> Any:
    return make(
        "VirtualPCIPassthroughDvxBackingInfo",
        deviceClass=backing.device_class,
        configParams=[make("OptionValue", key=key, value=value) for key, value in backing.params],
    )


def _sriov_card(backing: SriovBacking, host: HostSide) -> Any:
    """Without a physical function the platform takes one of the network's pool."""
    card = make(
        "VirtualSriovEthernetCard",
        backing=network_backing(backing.network, host),
        connectable=make(
            "VirtualDeviceConnectInfo", startConnected=True, allowGuestControl=True, connected=False
        ),
    )
    if backing.physical_function is not None:
        card.sriovBacking = make(
            "VirtualSriovEthernetCardSriovBackingInfo",
            physicalFunctionBacking=_function(backing.physical_function, host),
        )
        if backing.virtual_function is not None:
            card.sriovBacking.virtualFunctionBacking = _function(backing.virtual_function, host)
    return card


def network_backing(network: str | None, host: HostSide) -> Any:
    """Return the backing of a network card.

    Raises:
        InventoryIncomplete: no network is named, or the host does not have it.
    """
    found = host.networks.get(network) if network is not None else None
    if found is None:
        raise InventoryIncomplete(
            f"the network {network} is not one of the host" if network else "a network card needs a network",
            obj=host.name,
            hint="state under nics a network that the host has, and plan again",
        )
    return found


def _function(address: PciAddress, host: HostSide) -> Any:
    entry = _card(address, host)
    card = entry.data("pciDevice")
    return make(
        "VirtualPCIPassthroughDeviceBackingInfo",
        deviceName=(card.text("deviceName") if card else None) or "",
        id=str(address),
        deviceId=format(unsigned16((card.number("deviceId") if card else None) or 0), "x"),
        systemId=_system_id(entry),
        vendorId=signed16(unsigned16((card.number("vendorId") if card else None) or 0)),
    )


def _card(address: PciAddress, host: HostSide) -> Data:
    entry = host.cards.get(address)
    if entry is None:
        raise InventoryIncomplete(
            f"{address} is not among the devices that the host offers to VMs",
            obj=host.name,
            why="only ConfigTarget.pciPassthrough and sriov tell the system id that its backing needs",
            hint="check in the vSphere Client that passthrough of the device is active",
        )
    return entry


def _system_id(entry: Data) -> str:
    return entry.text("systemId") or ""
