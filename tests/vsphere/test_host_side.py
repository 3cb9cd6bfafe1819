"""What is read of a host before a change: its release, networks, devices for passthrough, group templates."""

from __future__ import annotations

from typing import Any

import pytest
from pyVmomi import vim

from tests.vsphere.plan_values import change_of
from tests.vsphere.raw_data import FakeVCenter, obj
from vplacer.errors import ApiTooOld, InventoryIncomplete, StaleError
from vplacer.inventory.pci import PciAddress
from vplacer.vsphere.host_side import read_host_side
from vplacer.vsphere.raw import MoRef

HOST = MoRef("HostSystem", "host-1")
CLUSTER = MoRef("ClusterComputeResource", "domain-c1")
BROWSER = MoRef("EnvironmentBrowser", "envbrowser-1")
NETWORKS = [
    MoRef("Network", "network-7"),
    MoRef("DistributedVirtualPortgroup", "dvportgroup-9"),
    MoRef("OpaqueNetwork", "network-o5"),
]


def sriov(network: str, port: str | None = None) -> dict[str, Any]:
    backing = {
        "type": "SriovBacking",
        "physical_function": port,
        "virtual_function": None,
        "network": network,
    }
    return {"devices": [{"action": "add", "after": {"backing": backing}}]}


def vcenter(api: str = "8.0.3.0", target: Any = None) -> FakeVCenter:
    host = obj(
        "HostSystem",
        "host-1",
        {
            "name": "esx1",
            "parent": CLUSTER,
            "network": NETWORKS,
            "config.product": vim.AboutInfo(
                name="E",
                fullName="E",
                vendor="V",
                version="8.0.3",
                build="1",
                osType="x",
                productLineId="e",
                apiType="HostAgent",
                apiVersion=api,
            ),
        },
    )
    summary = vim.OpaqueNetwork.Summary(
        name="o", ipPoolName="", accessible=True, opaqueNetworkId="o-1", opaqueNetworkType="nsx"
    )
    found = FakeVCenter(
        [
            host,
            obj("ClusterComputeResource", "domain-c1", {"environmentBrowser": BROWSER}),
            obj("Network", "network-7", {"name": "VM Network"}),
            obj(
                "DistributedVirtualPortgroup",
                "dvportgroup-9",
                {"key": "dvportgroup-9", "config.distributedVirtualSwitch": MoRef("DVS", "dvs-1")},
            ),
            obj("DVS", "dvs-1", {"uuid": "50 01"}),
            obj("OpaqueNetwork", "network-o5", {"summary": summary}),
        ]
    )
    if target is not None:
        found.answers = {("QueryConfigTarget", "host-1"): target}
    return found


def config_target() -> Any:
    card = vim.host.PciDevice(
        id="0000:D8:00.0",
        classId=512,
        bus=-40,
        slot=0,
        function=0,
        vendorId=-32634,
        subVendorId=0,
        vendorName="I",
        deviceId=1,
        subDeviceId=1,
        deviceName="E810",
    )
    return vim.vm.ConfigTarget(
        numCpus=1,
        numCpuCores=1,
        numNumaNodes=1,
        sriov=[vim.vm.SriovInfo(name="n", systemId="sys", pciDevice=card)],
    )


@pytest.mark.parametrize(
    ("network", "kind", "field", "value"),
    [
        ("network-7", "NetworkBackingInfo", "deviceName", "VM Network"),
        ("dvportgroup-9", "DistributedVirtualPortBackingInfo", "port.switchUuid", "50 01"),
        ("network-o5", "OpaqueNetworkBackingInfo", "opaqueNetworkId", "o-1"),
    ],
)
def test_three_kinds_of_networks(network: str, kind: str, field: str, value: str) -> None:
    reader = vcenter()
    side = read_host_side(reader, HOST, change_of(sriov(network)), "vm1")
    backing = side.networks[network]
    assert type(backing)._wsdlName == f"VirtualEthernetCard{kind}"
    for part in field.split("."):
        backing = getattr(backing, part)
    assert backing == value
    assert reader.calls == []


def test_addresses_are_found_in_any_spelling_and_the_host_itself_is_asked() -> None:
    reader = vcenter(target=config_target())
    side = read_host_side(reader, HOST, change_of(sriov("network-7", "0000:d8:00.0")), "vm1")
    assert side.cards[PciAddress.parse("0000:d8:00.0")].text("systemId") == "sys"
    assert reader.calls == [("QueryConfigTarget", "host-1")]


def test_an_older_host_would_drop_what_it_does_not_know() -> None:
    change = change_of({"fields": {"cores_per_numa_node": [None, 8]}})
    with pytest.raises(
        ApiTooOld, match=r"esx1: vNUMA topology needs a host with API 8\.0\.0\.1.*has API 7\.0\.3"
    ):
        read_host_side(vcenter("7.0.3.0"), HOST, change, "vm1")
    assert read_host_side(vcenter("8.0.0.0"), HOST, change, "vm1").name == "esx1"
    assert (
        read_host_side(vcenter("7.0.3.0"), HOST, change_of({"fields": {"cpus": [1, 2]}}), "vm1").name
        == "esx1"
    )


def test_what_a_host_does_not_tell() -> None:
    change = change_of(sriov("network-7", "0000:d8:00.0"))
    with pytest.raises(InventoryIncomplete, match="does not tell what it offers"):
        read_host_side(vcenter(), HOST, change, "vm1")
    with pytest.raises(StaleError, match="vm1: the VM has no host now"):
        read_host_side(vcenter(), None, change, "vm1")
