"""Requests good and bad, as bytes; answers and faults, as text."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from pyVmomi import VmomiSupport, vim, vmodl

from tests.lab.clients import SERVICE_CONTENT, envelope, post
from vplacer.lab.soap.server import LabServer
from vplacer.lab.soap.wire import serialize, typetable
from vplacer.lab.soap.wire.envelope import parse_request

NEW = VmomiSupport.versionMap["vim25/8.0.3.0"]


def parse(inner: str, version: str = NEW) -> Any:
    return parse_request(envelope(inner), version)


def reconfigure(spec: str) -> str:
    return (
        '<ReconfigVM_Task xmlns="urn:vim25"><_this type="VirtualMachine">vm-1</_this>'
        f"<spec>{spec}</spec></ReconfigVM_Task>"
    )


def test_request_is_read_with_its_types() -> None:
    request = parse(
        reconfigure(
            "<numCPUs>8</numCPUs><memoryMB>1099511627776</memoryMB><extraConfig><key>a</key>"
            '<value xsi:type="xsd:string">&lt;b&gt;</value></extraConfig>'
        )
    )
    assert request.method == "ReconfigVM_Task"
    assert request.this == vim.VirtualMachine("vm-1")
    assert request.args.spec.numCPUs == 8
    assert request.args.spec.memoryMB == 1 << 40
    assert request.args.spec.extraConfig[0].value == "<b>"
    assert request.args.spec.numCoresPerSocket is None


def test_parameter_not_sent_is_none_not_empty() -> None:
    request = parse('<Login xmlns="urn:vim25"><_this type="SessionManager">SessionManager</_this></Login>')
    assert request.args.userName is None
    assert request.args.password is None


def test_header_is_read() -> None:
    data = envelope(SERVICE_CONTENT).replace(
        b"<soapenv:Body>", b"<soapenv:Header><operationID>op-1</operationID></soapenv:Header><soapenv:Body>"
    )
    assert parse_request(data, NEW).headers == {"operationID": "op-1"}


@pytest.mark.parametrize(
    ("inner", "why"),
    [
        ("", "no call"),
        ("<RetrieveServiceContent xmlns='urn:vim25'/>", "no _this"),
        (SERVICE_CONTENT * 2, "more than one call"),
        ('<Nonsense xmlns="urn:vim25"/>', 'Unable to resolve WSDL method name "Nonsense"'),
        ('<RetrieveServiceContent xmlns="urn:other"/>', "Unable to resolve"),
        (reconfigure("<bogus>1</bogus>"), "unexpected element <bogus> in VirtualMachineConfigSpec"),
        (reconfigure("<numCPUs>many</numCPUs>"), "invalid literal"),
        (reconfigure("<numCPUs>2147483648</numCPUs>"), "does not fit int"),
        (reconfigure("<memoryMB>9223372036854775808</memoryMB>"), "does not fit long"),
        (
            reconfigure(
                '<latencySensitivity><level>frantic</level></latencySensitivity>'
            ),
            "'frantic' is no value of LatencySensitivitySensitivityLevel",
        ),
        (
            reconfigure('<latencySensitivity><level>values</level></latencySensitivity>'),
            "'values' is no value",
        ),
        (
            reconfigure('<deviceChange><device xsi:type="Nothing"/></deviceChange>'),
            "Nothing",
        ),
        (reconfigure("<cpuHotAddEnabled>maybe</cpuHotAddEnabled>"), "maybe"),
    ],
)  # fmt: skip
def test_bad_request_is_refused(inner: str, why: str) -> None:
    with pytest.raises(vmodl.fault.InvalidRequest) as refused:
        parse(inner)
    assert why in refused.value.msg


def test_short_out_of_range_is_refused() -> None:
    # pyVmomi sends vendorId=0x8086 unsigned, without a word.
    backing = (
        '<deviceChange><device xsi:type="VirtualPCIPassthrough"><key>-1</key>'
        '<backing xsi:type="VirtualPCIPassthroughDeviceBackingInfo"><deviceName/><id>0000:01:00.0</id>'
        "<deviceId>1</deviceId><systemId>s</systemId><vendorId>{}</vendorId></backing></device></deviceChange>"
    )
    with pytest.raises(vmodl.fault.InvalidRequest, match="does not fit short"):
        parse(reconfigure(backing.format(0x8086)))
    device = parse(reconfigure(backing.format(-32634))).args.spec.deviceChange[0].device
    assert device.backing.vendorId == -32634


def test_member_newer_than_the_version_is_refused() -> None:
    spec = "<virtualNuma><coresPerNumaNode>4</coresPerNumaNode></virtualNuma>"
    assert parse(reconfigure(spec)).args.spec.virtualNuma.coresPerNumaNode == 4
    with pytest.raises(vmodl.fault.InvalidRequest, match="unexpected element <virtualNuma>"):
        parse(reconfigure(spec), VmomiSupport.versionMap["vim25/7.0.3.0"])


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"not xml",
        b"<a><b></a>",
        b"\xff\xfe\x00",
        b"<soapenv:Envelope/>",
        envelope(SERVICE_CONTENT)[:-40],
        envelope(SERVICE_CONTENT) + b"<more/>",
        envelope("<x>" * 5000),
    ],
)
def test_what_is_no_xml_is_a_fault_not_a_traceback(
    server: LabServer, data: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    status, body = post(server, data)
    assert status == 500
    assert b'xsi:type="InvalidRequest"' in body
    assert "Traceback" not in body.decode()
    assert not [r for r in caplog.records if r.levelname in ("ERROR", "WARNING")]


def test_doctype_is_refused(server: LabServer) -> None:
    bomb = '<!DOCTYPE x [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;">]>'
    status, body = post(server, envelope(SERVICE_CONTENT, prolog=bomb))
    assert status == 500
    assert b"document type declaration" in body


def test_defect_of_the_lab_is_a_system_error_and_is_logged(
    server: LabServer, service: Any, caplog: pytest.LogCaptureFixture
) -> None:
    from tests.lab.small_site import BROWSER

    def broken(**_arguments: object) -> object:
        raise ZeroDivisionError("inside")

    server.vcenter.store.require(BROWSER).answers = {"QueryConfigTarget": broken}
    with pytest.raises(vmodl.fault.SystemError) as refused:
        type(BROWSER)("envbrowser-12", service._stub).QueryConfigTarget()
    assert "ZeroDivisionError" in refused.value.reason
    assert any("QueryConfigTarget" in r.message and r.exc_info for r in caplog.records)


def test_references_in_any_are_written_as_go_reads_them() -> None:
    text = serialize.property_value(vim.HostSystem("host-1"), NEW)
    assert text == '<val xsi:type="ManagedObjectReference" type="HostSystem">host-1</val>'
    array = serialize.property_value(typetable.array_of(vim.HostSystem, [vim.HostSystem("host-1")]), NEW)
    assert 'xsi:type="ArrayOfManagedObjectReference"' in array
    assert '<ManagedObjectReference type="HostSystem">host-1</ManagedObjectReference>' in array


def test_fragments_repeat_no_version() -> None:
    assert "versionId" not in serialize.property_value(vim.vm.FlagInfo(), NEW)


def test_required_member_unset_is_an_error() -> None:
    with pytest.raises(TypeError, match=r"VirtualMachineRuntimeInfo\.connectionState is required"):
        serialize.property_value(vim.vm.RuntimeInfo(), NEW)


def test_own_serialisation_equals_pyvmomi_s() -> None:
    """The kept property lists change the speed and nothing else."""
    from pyVmomi import SoapAdapter

    value = vim.vm.device.VirtualPCIPassthrough(
        key=13000,
        numaNode=1,
        deviceGroupInfo=vim.vm.device.VirtualDevice.DeviceGroupInfo(groupInstanceKey=1, sequenceId=2),
        backing=vim.vm.device.VirtualPCIPassthrough.VmiopBackingInfo(vgpu="grid_a100-40c"),
    )
    event = vim.event.VmEvent(
        key=1, chainId=2, createdTime=datetime(2026, 1, 1, tzinfo=UTC), userName="u <&>",
        datacenter=vim.event.DatacenterEventArgument(name="d", datacenter=vim.Datacenter("datacenter-2")),
    )  # fmt: skip
    task = vim.TaskInfo(
        key="t", task=vim.Task("t"), descriptionId="d", state="error", cancelled=False, cancelable=False,
        reason=vim.TaskReasonUser(userName="u"), queueTime=datetime(2026, 1, 1, tzinfo=UTC), eventChainId=1,
        error=vim.fault.InvalidPowerState(msg="off", requestedState="poweredOff", existingState="poweredOn"),
        result=vim.VirtualMachine("vm-1"), name=typetable.managed_method("PowerOnVM_Task"),
    )  # fmt: skip
    info = typetable.make_info("val", object, flags=typetable.OPTIONAL)
    for item in (value, event, task):
        for version_id in ("6.7", "7.0.3.0", "8.0.3.0"):
            version = VmomiSupport.versionMap[f"vim25/{version_id}"]
            theirs = SoapAdapter.SerializeToStr(
                item, info, version, {**SoapAdapter.SOAP_NSMAP, "urn:vim25": ""}
            )
            theirs = theirs.replace(f' versionId="{VmomiSupport.versionIdMap[version]}"', "", 1)
            ours = serialize.property_value(item, version)
            assert ours.replace("ManagedObjectReference", "ManagedObject") == theirs


def test_method_fault_is_named_for_both_clients() -> None:
    text = serialize.fault_envelope(vim.fault.InvalidLogin(msg="a < b"), NEW)
    assert '<InvalidLoginFault xmlns="urn:vim25" xsi:type="InvalidLogin">' in text
    assert "<faultstring>a &lt; b</faultstring>" in text
    assert text.count("a &lt; b") == 1


def test_fault_newer_than_the_version_is_widened() -> None:
    # vim.fault.UnusedVirtualDiskBlocksNotScrubbed came later than 2.5: its base is told instead.
    text = serialize.fault_envelope(
        vim.fault.VmFaultToleranceIssue(msg="x"), VmomiSupport.versionMap["vim25/2.5"]
    )
    assert 'xsi:type="VimFault"' in text
