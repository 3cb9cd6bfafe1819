"""A host as it is read from the bytes of an answer to RetrievePropertiesEx: one PCI device and NUMA nodes."""

from __future__ import annotations

from dataclasses import replace
from typing import Any
from xml.sax.saxutils import escape

from pyVmomi import vmodl

from tests.vsphere.servers import ENVELOPE
from vplacer.inventory.device_kind import device_kind
from vplacer.inventory.host import Host, NumaNode
from vplacer.inventory.pci import signed16
from vplacer.plan.wanted_devices import static_backing
from vplacer.vsphere.parse import parse_answer
from vplacer.vsphere.raw import Data, MoRef, Notes, RawObject
from vplacer.vsphere.read_host import read_host
from vplacer.vsphere.read_offers import HostOffers


def _element(name: str, fields: dict[str, Any]) -> str:
    inner = "".join(
        f"<{key}>{escape(str(item))}</{key}>"
        for key, value in fields.items()
        for item in (value if isinstance(value, list) else [value])
    )
    return f"<{name}>{inner}</{name}>"


def _property(path: str, kind: str, inner: str) -> str:
    return f'<propSet><name>{path}</name><val xsi:type="{kind}">{inner}</val></propSet>'


def _numa(nodes: list[list[str]]) -> str:
    texts = []
    for number, devices in enumerate(nodes):
        listed = "".join(f"<pciId>{address}</pciId>" for address in devices)
        texts.append(
            f"<numaNode><typeId>{number}</typeId><cpuID>{number}</cpuID><memoryRangeBegin>0</memoryRangeBegin>"
            f"<memoryRangeLength>0</memoryRangeLength>{listed}</numaNode>"
        )
    return f"<type>NUMA</type><numNodes>{len(nodes)}</numNodes>{''.join(texts)}"


def read_case(case: dict[str, Any]) -> Host:
    """Read a host as it is read in an answer to RetrievePropertiesEx."""
    device = _element("HostPciDevice", {"vendorName": "", "deviceName": "", **case["sent"]})
    props = _property("hardware.pciDevice", "ArrayOfHostPciDevice", device)
    if "nodes" in case:
        props += _property("hardware.numaInfo", "HostNumaInfo", _numa(case["nodes"]))
    host, notes = _read(props)
    # The rest of the host is left out on purpose; nothing of the device may be.
    assert not [note for note in notes.sorted() if "PCI" in note or "number" in note or "field" in note]
    return host


def read_numa(sent: dict[str, Any]) -> tuple[NumaNode, ...]:
    """Read NUMA nodes. ``sent``: ``nodes`` (elements of HostNumaNode), ``packages`` (threads of each)."""
    nodes = "".join(_element("numaNode", node) for node in sent["nodes"])
    props = _property(
        "hardware.numaInfo",
        "HostNumaInfo",
        f"<type>NUMA</type><numNodes>{len(sent['nodes'])}</numNodes>{nodes}",
    )
    packages = "".join(
        _element(
            "HostCpuPackage",
            {"index": index, "vendor": "intel", "hz": 1, "busHz": 1, "description": "", "threadId": threads},
        )
        for index, threads in enumerate(sent["packages"])
    )
    props += _property("hardware.cpuPkg", "ArrayOfHostCpuPackage", packages)
    host, _ = _read(props)
    return host.numa_nodes


def _read(props: str) -> tuple[Host, Notes]:
    objects = f'<objects><obj type="HostSystem">host-1</obj>{props}</objects>'
    body = ENVELOPE.format(
        f'<RetrievePropertiesExResponse xmlns="urn:vim25"><returnval>{objects}</returnval>'
        "</RetrievePropertiesExResponse>"
    )
    notes = Notes()
    page = parse_answer(body.encode(), vmodl.query.PropertyCollector.RetrieveResult, notes)
    (content,) = page.items("objects")
    fields = {prop.text("name"): prop.get("val") for prop in content.items("propSet")}
    raw = RawObject(MoRef("HostSystem", "host-1"), Data("HostSystem", ("HostSystem",), fields))
    host = read_host(raw, datacenter=None, cluster=None, offers=HostOffers(), limits=(), tags=(), notes=notes)
    return host, notes


def facts_of(host: Host) -> dict[str, Any]:
    """Return what a case may state of the host's one device, as plain values."""
    (device,) = host.pci_devices
    return {
        "address": str(device.address),
        "ids": str(device.ids),
        "sub": [device.ids.sub_vendor, device.ids.sub_device],
        "class": device.class_id,
        "kind": device_kind(device).value,
        "parent": None if device.parent_bridge is None else str(device.parent_bridge),
        "slot": device.physical_slot,
        "slot_description": device.slot_description,
        "node": host.node_of(device.address),
    }


def backing_of(host: Host) -> dict[str, Any]:
    """Return what a static backing of the device says, as it is sent."""
    (device,) = host.pci_devices
    backing = static_backing(host, replace(device, system_id="sys-1"))
    assert backing.system_id == "sys-1"
    return {
        "id": str(backing.address),
        "device_id": backing.device_id,
        "vendor_id": signed16(backing.vendor_id),
    }
