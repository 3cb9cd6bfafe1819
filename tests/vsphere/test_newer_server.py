"""A server newer than the type tables: what is unknown is left out by name, and the rest is read.

Clients that stop at the first unknown type or field: pyvmomi #190, #514; rbvmomi #205.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from pyVmomi import VmomiSupport

from tests.vsphere.servers import Certificate, ScriptedVCenter, serving
from vplacer.inventory.pci import PciIds
from vplacer.inventory.vcenter import Inventory
from vplacer.inventory.vm import UnknownBacking, VgpuBacking
from vplacer.vsphere import property_paths
from vplacer.vsphere.address import Address
from vplacer.vsphere.collector import collect
from vplacer.vsphere.credentials import Credentials
from vplacer.vsphere.secret import Secret
from vplacer.vsphere.session import ConnectOptions, Session

HOST = """<objects><obj type="HostSystem">host-1</obj>
<propSet><name>name</name><val xsi:type="xsd:string">esx1</val></propSet>
<propSet><name>runtime.connectionState</name><val xsi:type="xsd:string">connected</val></propSet>
<propSet><name>runtime.powerState</name><val xsi:type="HostSystemPowerState">aFutureState</val></propSet>
<propSet><name>hardware.pciDevice</name><val xsi:type="ArrayOfHostPciDevice">
 <HostPciDevice xsi:type="HostCxlDevice"><id>0000:65:00.0</id><classId>770</classId><bus>101</bus>
  <slot>0</slot><function>0</function><vendorId>4318</vendorId><subVendorId>4318</subVendorId>
  <vendorName>NVIDIA</vendorName><deviceId>7684</deviceId><subDeviceId>1</subDeviceId><deviceName>TU102</deviceName><cxlVersion>3</cxlVersion>
 </HostPciDevice></val></propSet></objects>"""

VM = """<objects><obj type="VirtualMachine">vm-1</obj>
<propSet><name>name</name><val xsi:type="xsd:string">ml</val></propSet>
<propSet><name>runtime.host</name>
 <val xsi:type="ManagedObjectReference" type="HostSystem">host-1</val></propSet>
<propSet><name>runtime.connectionState</name><val xsi:type="xsd:string">connected</val></propSet>
<propSet><name>runtime.powerState</name><val xsi:type="xsd:string">poweredOn</val></propSet>
<propSet><name>config.hardware.numCPU</name><val xsi:type="xsd:int">8</val></propSet>
<propSet><name>config.hardware.memoryMB</name><val xsi:type="xsd:int">4096</val></propSet>
<propSet><name>config.hardware.device</name><val xsi:type="ArrayOfVirtualDevice">
 <VirtualDevice xsi:type="VirtualQuantumAdapter"><key>9000</key><qubits>2</qubits></VirtualDevice>
 <VirtualDevice xsi:type="VirtualPCIPassthrough"><key>13000</key>
  <backing xsi:type="VirtualPCIPassthroughFabricBackingInfo"><fabric>a</fabric></backing></VirtualDevice>
 <VirtualDevice xsi:type="VirtualPCIPassthrough"><key>13001</key>
  <backing xsi:type="VirtualPCIPassthroughVmiopBackingInfo"><vgpu>grid_a30-6c</vgpu><share>3</share></backing>
 </VirtualDevice></val></propSet></objects>"""


@pytest.fixture
def inventory(server_certificate: Certificate, ca_file: Path, tmp_path: Path) -> Inventory:
    def objects(body: str) -> str:
        kind = re.search(r"<propSet[^>]*><type[^>]*>(\w+)<", body)
        assert kind is not None, body
        found = {"HostSystem": HOST, "VirtualMachine": VM}.get(kind[1], "")
        return f"<returnval>{found}</returnval>"

    script = ScriptedVCenter(answers={"RetrievePropertiesEx": [objects]})
    with serving(script, server_certificate, tmp_path) as port:
        options = ConnectOptions(Address("127.0.0.1", port), ca_file=ca_file)
        with Session.connect(options, Credentials("reader", Secret("pw"), "a test", "a test")) as session:
            return collect(session)


def test_what_is_known_is_read(inventory: Inventory) -> None:
    (device,) = inventory.hosts[0].pci_devices
    assert (str(device.address), device.ids) == ("0000:65:00.0", PciIds(0x10DE, 0x1E04, 0x10DE, 1))
    (vm,) = inventory.vms
    assert (vm.cpus, [item.key for item in vm.devices]) == (8, [9000, 13000, 13001])
    assert [item.backing for item in vm.devices] == [
        UnknownBacking("VirtualQuantumAdapter"),
        UnknownBacking("VirtualPCIPassthroughFabricBackingInfo"),
        VgpuBacking("grid_a30-6c", None),
    ]


@pytest.mark.parametrize(
    "note",
    [
        "type HostCxlDevice is not known; only what its base type has was read",
        "type VirtualQuantumAdapter is not known; only what its base type has was read",
        "type VirtualPCIPassthroughFabricBackingInfo is not known; only what its base type has was read",
        "field VirtualPCIPassthroughVmiopBackingInfo.share is not known and was left out",
        "ml: a device of type VirtualQuantumAdapter is not known; it is kept as it is",
        "ml: a device of type VirtualPCIPassthroughFabricBackingInfo is not known; it is kept as it is",
        "esx1: state 'aFutureState' is not known and counts as unknown",
    ],
)
def test_what_is_not_known_is_said(inventory: Inventory, note: str) -> None:
    assert note in inventory.notes


WHOLE_TREES = {"config", "summary", "hardware", "runtime", "capability", "config.hardware", "config.network"}


@pytest.mark.parametrize(
    ("kind", "paths"),
    [("HostSystem", property_paths.host_paths()), ("VirtualMachine", property_paths.VM)],
)
def test_only_what_is_needed_is_asked_for(kind: str, paths: tuple[str, ...]) -> None:
    """Whole trees would bring every new type of a newer server along, and megabytes of it."""
    assert len(set(paths)) == len(paths)
    for path in paths:
        assert path not in WHOLE_TREES
        found = VmomiSupport.GuessWsdlType(kind)
        for step in re.sub(r'\["[^"]*"\]', "", path).split("."):
            types = {info.name: info.type for info in found._GetPropertyList()}
            assert step in types, path
            found = types[step]
