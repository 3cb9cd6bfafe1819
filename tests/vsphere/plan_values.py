"""Plan changes and present VMs from the plain data of cases."""

from __future__ import annotations

from typing import Any

from pyVmomi import vim

from tests.vsphere.raw_data import obj, value
from tests.vsphere.wire import built
from vplacer.inventory import vm as values
from vplacer.inventory.pci import PciAddress
from vplacer.plan.changes import (
    Action,
    DeviceChange,
    DeviceValue,
    ExtraConfigChange,
    Field,
    FieldChange,
    GroupChange,
    GroupRef,
    Reconfigure,
)
from vplacer.vsphere.encode_backings import HostSide
from vplacer.vsphere.encode_reconfigure import PresentVm
from vplacer.vsphere.raw import Data, Notes
from vplacer.vsphere.read_vm import read_vm

GROUP_INFO = vim.vm.VendorDeviceGroupInfo
CARD_INFO = vim.vm.PciPassthroughInfo


def change_of(text: dict[str, Any]) -> Reconfigure:
    return Reconfigure(
        tuple(
            FieldChange(Field(name), scalar(before), scalar(after))
            for name, (before, after) in text.get("fields", {}).items()
        ),
        tuple(
            ExtraConfigChange(key, before, after)
            for key, (before, after) in text.get("extra_config", {}).items()
        ),
        tuple(device_change(item) for item in text.get("devices", [])),
        tuple(
            GroupChange(Action(item["action"]), group(item["group"]), item.get("key"))
            for item in text.get("groups", [])
        ),
    )


def scalar(given: Any) -> Any:
    return tuple(given) if isinstance(given, list) else given


def group(text: list[str]) -> GroupRef:
    return GroupRef(*text)


def device_change(text: dict[str, Any]) -> DeviceChange:
    return DeviceChange(
        Action(text["action"]),
        text.get("ref", "device"),
        text.get("key"),
        device_value(text["before"]) if "before" in text else None,
        device_value(text["after"]) if "after" in text else None,
    )


def device_value(text: dict[str, Any]) -> DeviceValue:
    return DeviceValue(
        backing(text["backing"]),
        text.get("numa_node"),
        group(text["group"]) if "group" in text else None,
        text.get("sequence"),
    )


def backing(text: dict[str, Any]) -> values.Backing:
    fields = dict(text)
    kind = getattr(values, fields.pop("type"))
    if "allowed" in fields:
        fields["allowed"] = tuple(values.AllowedDevice(**item) for item in fields["allowed"])
    if "params" in fields:
        fields["params"] = tuple((key, text) for key, text in fields["params"].items())
    for name in ("address", "physical_function", "virtual_function"):
        if fields.get(name) is not None:
            fields[name] = PciAddress.parse(fields[name])
    found: values.Backing = kind(**fields)
    return found


def present_vm(text: dict[str, Any]) -> PresentVm:
    """Return a VM as it is now; its devices stand in the form of the API."""
    devices = [built(item) for item in text.get("devices", [])]
    groups = [
        vim.vm.VirtualDeviceGroups.VendorDeviceGroup(groupInstanceKey=key, deviceGroupName=name)
        for key, name in text.get("groups", {}).items()
    ]
    raw = obj(
        "VirtualMachine",
        "vm-1",
        {
            "name": text.get("name", "vm1"),
            "runtime.powerState": "poweredOff",
            "runtime.connectionState": "connected",
            "config.version": f"vmx-{text.get('hardware', 20)}",
            "config.hardware.numCPU": 8,
            "config.hardware.device": [value(item) for item in devices],
            "config.deviceGroups": vim.vm.VirtualDeviceGroups(deviceGroup=groups),
        },
    )
    vm = read_vm(raw, datacenter=None, folder="", tags=(), notes=Notes())
    keyed = {device.number("key") or 0: device for device in raw.props.items("config.hardware.device")}
    return PresentVm(vm, keyed)


def host_side(text: dict[str, Any]) -> HostSide:
    """Return what a host offers; templates and devices stand in the form of the API."""
    groups = [value(built(item, GROUP_INFO)) for item in text.get("groups", [])]
    cards = [value(built(item, CARD_INFO)) for item in text.get("cards", [])]
    return HostSide(
        "esx1",
        {item.text("deviceGroupName"): item for item in groups},
        {_address(item): item for item in cards},
        {moid: built(item) for moid, item in text.get("networks", {}).items()},
    )


def _address(entry: Data) -> PciAddress:
    device = entry.data("pciDevice")
    assert device is not None
    return PciAddress.parse(device.text("id") or "")
