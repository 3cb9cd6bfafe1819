"""esxcli of a host: ``hardware pci list``, and the description of it that clients ask for first.

Objects and methods are named as govc (govmomi ``cli/esx``) calls them, fields as esxcli prints them, without
their blanks. Parent and dependent device are written in decimal there, all else in hexadecimal.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any
from xml.sax.saxutils import escape

from vplacer.inventory.host import Host, PciDevice
from vplacer.inventory.pci import PciAddress
from vplacer.lab.soap.views.host import Seen
from vplacer.lab.soap.views.world import World
from vplacer.lab.soap.wire import reflect, typetable

_UNKNOWN = "4294967295"
"""What esxcli prints for a NUMA node or a slot that it does not know: -1 in 32 bits."""
_OBJECT = (
    '<obj xmlns:xsd="http://www.w3.org/2001/XMLSchema" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" '
    'xmlns="urn:vim25" versionId="5.0" xsi:type="{kind}">{content}</obj>'
)
_DESCRIPTION = (
    "<name>hardware.pci</name><displayName>pci</displayName><help>PCI device information.</help>"
    "<method><name>list</name><displayName>list</displayName>"
    "<help>List all of the PCI devices on this host.</help>"
    "<hints><key>formatter</key><value>simple</value></hints></method>"
)


def objects(world: World, host: Host) -> Iterator[Seen]:
    """Yield what runs methods on a host, and what describes its types."""

    def devices(_arguments: Mapping[str, str]) -> Any:
        rows = "".join(_device(device, world.state.esxcli_node(host, device.address)) for device in _of(host))
        return _result("ArrayOfDataObject", rows)

    known: dict[tuple[str, str], Callable[[Mapping[str, str]], Any]] = {
        ("ha-cli-handler-hardware-pci", "vim.EsxCLI.hardware.pci.list"): devices,
        ("ha-dynamic-type-manager-local-cli-cliinfo", "vim.CLIInfo.FetchCLIInfo"): _describe,
    }

    def execute(moid: str, name: str, arguments: Mapping[str, str]) -> Any:
        method = known.get((moid, name))
        if method is None:
            return _fault(f"The simulated host does not know {name}")
        return method(arguments)

    for cls, answers in ((reflect.MethodExecuter, {"ExecuteSoap": execute}), (reflect.TypeManager, {})):
        yield Seen(cls(f"{typetable.wire_name(cls)}-{host.moid}"), {}, answers)


def _describe(arguments: Mapping[str, str]) -> Any:
    if arguments.get("typeName") != "<typeName>vim.EsxCLI.hardware.pci</typeName>":
        return _fault("The object or item referred to could not be found.")
    return _result("VimCLIInfoCLIInfo", _DESCRIPTION)


def _of(host: Host) -> list[PciDevice]:
    return sorted(host.pci_devices, key=lambda device: device.address)


def _result(kind: str, content: str) -> Any:
    return reflect.SoapResult(response=_OBJECT.format(kind=kind, content=content))


def _fault(message: str) -> Any:
    return reflect.SoapResult(fault=reflect.SoapFault(faultMsg=message))


def _device(device: PciDevice, node: int | None) -> str:
    address, ids, passthrough = device.address, device.ids, device.passthrough
    fields = {
        "Address": str(address),
        "Segment": f"0x{address.segment:04x}",
        "Bus": f"0x{address.bus:02x}",
        "Slot": f"0x{address.device:02x}",
        "Function": f"0x{address.function:x}",
        "VMkernelName": "",
        "VendorName": device.vendor_name,
        "DeviceName": device.device_name,
        "VendorID": f"0x{ids.vendor:04x}",
        "DeviceID": f"0x{ids.device:04x}",
        "SubVendorID": f"0x{ids.sub_vendor or 0:04x}",
        "SubDeviceID": f"0x{ids.sub_device or 0:04x}",
        "DeviceClass": f"0x{device.class_id:04x}",
        "PhysicalSlot": _UNKNOWN if device.physical_slot is None else str(device.physical_slot),
        "PassthruCapable": "true" if passthrough is not None and passthrough.capable else "false",
        "ParentDevice": "" if device.parent_bridge is None else _decimal(device.parent_bridge),
        "DependentDevice": _decimal(_dependent(device)),
        "NUMANode": _UNKNOWN if node is None else str(node),
    }
    content = "".join(f"<{name}>{escape(value)}</{name}>" for name, value in fields.items())
    return f'<DataObject xsi:type="VimEsxCLIhardwarepcilistPciDevice">{content}</DataObject>'


def _dependent(device: PciDevice) -> PciAddress:
    named = None if device.passthrough is None else device.passthrough.dependent
    return device.address if named is None else named


def _decimal(address: PciAddress) -> str:
    return f"PCI {address.segment}:{address.bus}:{address.device}:{address.function}"
