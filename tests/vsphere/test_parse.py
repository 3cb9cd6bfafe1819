"""SOAP answers to values: what is known, what is unknown, unset apart from empty and zero."""

from __future__ import annotations

import pytest
from pyVmomi import vim, vmodl
from pyVmomi.SoapAdapter import SerializeToStr
from pyVmomi.VmomiSupport import Object

from tests.vsphere.servers import ENVELOPE, fault
from vplacer.vsphere.faults import describe, fault_texts
from vplacer.vsphere.parse import BrokenAnswer, SoapFault, parse_answer
from vplacer.vsphere.raw import Data, MoRef, Notes


def answer(inner: str) -> bytes:
    return ENVELOPE.format(f'<QueryResponse xmlns="urn:vim25">{inner}</QueryResponse>').encode()


def parsed(value: object, result_type: object = None, version: str = "vim.version.v9_1_1_0") -> object:
    """Write a pyVmomi object as the server would, and parse it."""
    kind = result_type or type(value)
    info = Object(name="returnval", type=kind, version=version, flags=0)
    return parse_answer(answer(SerializeToStr(value, info, version)), kind, Notes())


def test_data_object_keeps_unset_zero_and_negative_apart() -> None:
    device = vim.host.PciDevice(
        id="0000:ca:00.0",
        classId=0x302,
        bus=-54,
        slot=0,
        function=0,
        vendorId=0x10DE,
        subVendorId=-32634,
        vendorName="NVIDIA",
        deviceId=0x1E04,
        subDeviceId=0,
        deviceName="",
    )
    data = parsed(device)
    assert isinstance(data, Data)
    assert data.type == "HostPciDevice"
    assert (data.number("bus"), data.number("slot"), data.number("subVendorId")) == (-54, 0, -32634)
    assert data.text("deviceName") == ""
    assert data.get("parentBridge") is None
    assert data.text("bus") is None


def test_subtypes_keep_their_name_and_their_bases() -> None:
    card = vim.vm.device.VirtualSriovEthernetCard(key=4000, numaNode=-1)
    data = parsed(card, vim.vm.device.VirtualDevice)
    assert isinstance(data, Data)
    assert data.type == "VirtualSriovEthernetCard"
    assert data.is_a("VirtualEthernetCard")
    assert data.is_a("VirtualDevice")
    assert not data.is_a("VirtualDisk")
    assert data.number("numaNode") == -1


def test_lists_of_every_kind() -> None:
    config = vim.vm.ConfigTarget(
        numCpus=4,
        numCpuCores=2,
        numNumaNodes=1,
        dynamicPassthrough=[
            vim.vm.DynamicPassthroughInfo(vendorId=1, deviceId=2, vendorName="", deviceName="")
        ],
    )
    data = parsed(config)
    assert isinstance(data, Data)
    assert [item.number("deviceId") for item in data.items("dynamicPassthrough")] == [2]
    assert data.items("sriov") == []
    refs = vim.ManagedEntity.Array([vim.HostSystem("host-1", None), vim.HostSystem("host-2", None)])
    assert parsed(refs) == [MoRef("HostSystem", "host-1"), MoRef("HostSystem", "host-2")]


def any_value(inner: str) -> object:
    data = parse_answer(
        answer(f"<returnval><name>p</name>{inner}</returnval>"), vmodl.DynamicProperty, Notes()
    )
    return data.get("val")


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('<val xsi:type="xsd:int">-5</val>', -5),
        ('<val xsi:type="xsd:boolean">false</val>', False),
        ('<val xsi:type="xsd:boolean">1</val>', True),
        ('<val xsi:type="xsd:string"></val>', ""),
        ('<val xsi:type="xsd:dateTime">2026-01-01T00:00:00Z</val>', "2026-01-01T00:00:00Z"),
        ('<val xsi:type="HostSystemPowerState">standBy</val>', "standBy"),
        ('<val xsi:type="HostSystemPowerState">aFutureState</val>', "aFutureState"),
        (
            '<val xsi:type="ManagedObjectReference" type="HostSystem">host-1</val>',
            MoRef("HostSystem", "host-1"),
        ),
        ('<val xsi:type="ArrayOfString"><string>a</string><string></string></val>', ["a", ""]),
        ('<val xsi:type="ArrayOfShort"><short>1</short></val>', [1]),
        ('<val xsi:type="ArrayOfManagedObjectReference"/>', []),
        (
            '<val xsi:type="ArrayOfManagedObjectReference">'
            '<ManagedObjectReference type="VirtualMachine">vm-1</ManagedObjectReference></val>',
            [MoRef("VirtualMachine", "vm-1")],
        ),
    ],
)
def test_property_values(text: str, value: object) -> None:
    found = any_value(text)
    assert found == value
    assert type(found) is type(value)


def test_what_is_unknown_is_left_out_and_noted() -> None:
    notes = Notes()
    text = """<returnval><numCpus>4</numCpus><numCpuCores>many</numCpuCores>
      <fromTheFuture><a>1</a></fromTheFuture>
      <dynamicPassthrough xsi:type="VirtualMachineFuturePassthroughInfo"><vendorName>NVIDIA</vendorName>
      <novelty>1</novelty><vendorId>4318</vendorId></dynamicPassthrough></returnval>"""
    data = parse_answer(answer(text), vim.vm.ConfigTarget, notes)
    assert data.number("numCpus") == 4
    assert data.get("numCpuCores") is None
    (device,) = data.items("dynamicPassthrough")
    assert device.type == "VirtualMachineFuturePassthroughInfo"
    assert device.is_a("VirtualMachineDynamicPassthroughInfo")
    assert (device.text("vendorName"), device.number("vendorId")) == ("NVIDIA", 4318)
    assert notes.sorted() == (
        "field ConfigTarget.fromTheFuture is not known and was left out",
        "the value of numCpuCores is not a number and was left out",
        "type VirtualMachineFuturePassthroughInfo is not known; only what its base type has was read",
    )
    unknown = any_value('<val xsi:type="ArrayOfFutureThing"><FutureThing><a>1</a></FutureThing></val>')
    assert isinstance(unknown, Data)
    assert unknown.type == "ArrayOfFutureThing"


@pytest.mark.parametrize("empty", ["<faultToleranceState></faultToleranceState>", "<faultToleranceState/>"])
def test_empty_enumeration_of_a_simulator_is_no_error(empty: str) -> None:
    data = parse_answer(
        answer(f"<returnval><connectionState>connected</connectionState>{empty}</returnval>"),
        vim.vm.RuntimeInfo,
        Notes(),
    )
    assert data.text("connectionState") == "connected"


def test_no_result() -> None:
    assert parse_answer(answer(""), type(None), Notes()) is None
    assert parse_answer(answer(""), vim.ManagedEntity.Array, Notes()) == []


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"<a>",
        b"<a/>",
        answer("<returnval>")[:200],
        ENVELOPE.format("").encode(),
        b"\xff\xfe<a/>",
        b'<?xml version="1.0" encoding="TF-8"?><a/>',
        b'<?xml version="1.0" encoding="utf-7"?><a/>',
    ],
)
def test_not_a_whole_answer(body: bytes) -> None:
    with pytest.raises(BrokenAnswer):
        parse_answer(body, vim.vm.ConfigTarget, Notes())


def soap_fault(name: str, fields: str = "", message: str = "") -> SoapFault:
    body = ENVELOPE.format(fault(name, fields, message)[1]).encode()
    with pytest.raises(SoapFault) as caught:
        parse_answer(body, vim.vm.ConfigTarget, Notes())
    return caught.value


def test_fault_with_causes() -> None:
    fields = """<faultCause><fault xsi:type="GenericVmConfigFault"><faultMessage><key>k</key>
      <message>Module 'DevicePowerOn' power on failed.</message></faultMessage><reason>r</reason></fault>
      <localizedMessage>An error occurred</localizedMessage></faultCause>
      <faultMessage><key>outer.key</key></faultMessage>"""
    found = soap_fault("InvalidState", fields, "*types.InvalidState")
    assert found.fault.type == "InvalidState"
    assert fault_texts(found.fault, found.message) == (
        "*types.InvalidState",
        "outer.key",
        "An error occurred",
        "Module 'DevicePowerOn' power on failed.",
    )


def test_faults_of_unknown_type_keep_their_name() -> None:
    assert soap_fault("QuiteNewThing").fault.type == "QuiteNewThing"
    assert soap_fault("InvalidPowerStateFault").fault.type == "InvalidPowerState"
    bare = ENVELOPE.format("<soapenv:Fault><faultstring>no detail</faultstring></soapenv:Fault>").encode()
    with pytest.raises(SoapFault) as caught:
        parse_answer(bare, vim.vm.ConfigTarget, Notes())
    assert (caught.value.fault.type, caught.value.message) == ("RuntimeFault", "no detail")


def test_one_line_of_a_missing_privilege() -> None:
    found = soap_fault("NoPermission", "<privilegeId>Global.ServiceManagers</privilegeId>", "denied")
    assert describe(found.fault, found.message) == "NoPermission: needs Global.ServiceManagers"
    assert found.fault.is_a("SecurityError")


def test_not_authenticated_is_a_kind_of_no_permission() -> None:
    found = soap_fault("NotAuthenticated").fault
    assert found.is_a("NotAuthenticated")
    assert found.is_a("NoPermission")
