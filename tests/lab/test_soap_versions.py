"""What each API version is served: fields, paths, types and methods newer than it are not."""

from __future__ import annotations

from typing import Any
from urllib.request import urlopen

import pytest
from pyVim.connect import SmartConnect
from pyVmomi import VmomiSupport, vim, vmodl

from tests.lab.clients import PC, bind, connected, context, envelope, object_filter, post, read
from tests.lab.small_site import BROWSER, HOSTS, VM, small_site
from vplacer.errors import UsageError
from vplacer.lab.soap.server import LabServer
from vplacer.lab.soap.wire.versions import requested_version, served_version, version_file


@pytest.mark.parametrize("version", ["9.1.0.0", "9.0.0.0", "8.0.3.0", "8.0.0.1", "7.0.3.0", "6.7"])
def test_client_negotiates_the_server_s_version(version: str) -> None:
    with LabServer(small_site(), api_version=version) as server, connected(server) as client:
        assert client._stub.versionId == f'"urn:vim25/{version}"'
        assert client.content.about.apiVersion == version
        assert read(client, VM, "name")[0] == {"name": "gpu-vm-0"}


def test_client_may_ask_for_an_older_version(server: LabServer) -> None:
    with connected(server, preferredApiVersions=["vim.version.v7_0"]) as client:
        device = read(client, VM, "config.hardware.device")[0]["config.hardware.device"][0]
        assert device.numaNode is None
        assert device.backing.customLabel == "gpu-n1"


def test_unknown_versions_are_refused_by_name() -> None:
    for wrong in ("8.0.3", "9.9.9.9", "", "m5CA1EF4D"):
        with pytest.raises(UsageError) as refused:
            served_version(wrong)
        assert "8.0.3.0" in (refused.value.hint or "")


@pytest.mark.parametrize(
    ("header", "served"),
    [
        ('"urn:vim25/7.0.3.0"', "7.0.3.0"),
        ("urn:vim25/8.0.0.1", "8.0.0.1"),
        ("urn:vim25/9.1.0.0", "8.0.3.0"),  # govc always asks for its newest
        ("urn:vim25/99.0", "8.0.3.0"),
        ("", "8.0.3.0"),
    ],
)
def test_version_asked_for_by_header(header: str, served: str) -> None:
    assert requested_version(header, served_version("8.0.3.0")) == served_version(served)


def test_version_file_lists_this_and_all_earlier_versions() -> None:
    text = version_file("8.0.3.0").decode()
    assert "<version>8.0.3.0</version><priorVersions><version>8.0.2.0</version>" in text
    for newer in ("9.0.0.0", "9.1.0.0", "8.0.3.1"):
        assert newer not in text
    assert "<version>6.7</version>" in text


def test_version_file_is_served_without_a_session(server: LabServer) -> None:
    with urlopen(server.url + "/vimServiceVersions.xml", context=context(server), timeout=5) as answer:
        assert answer.read() == version_file("8.0.3.0")


def seen_at(version: str, ref: Any, *paths: str) -> dict[str, Any]:
    with LabServer(small_site(), api_version=version) as server, connected(server) as client:
        return read(client, ref, *paths)[0]


def test_fields_newer_than_the_version_are_not_served() -> None:
    new = seen_at("8.0.3.0", VM, "config.hardware.device")["config.hardware.device"][0]
    old = seen_at("7.0.3.0", VM, "config.hardware.device")["config.hardware.device"][0]
    assert (new.numaNode, old.numaNode) == (0, None)
    assert old.backing.customLabel == "gpu-n1"
    class_name = {
        v: seen_at(v, HOSTS[0], "hardware.pciDevice")["hardware.pciDevice"][0].deviceClassName
        for v in ("8.0.2.0", "8.0.3.0")
    }
    assert class_name == {"8.0.2.0": None, "8.0.3.0": "3D controller"}


def test_types_newer_than_the_version_are_widened() -> None:
    # DynamicBackingInfo came with 7.0: before, the backing is a plain device backing.
    backing = seen_at("6.7", VM, "config.hardware.device")["config.hardware.device"][0].backing
    assert type(backing) is vim.vm.device.VirtualDevice.DeviceBackingInfo


@pytest.mark.parametrize("path", ["config.numaInfo", "config.deviceGroups"])
def test_paths_newer_than_the_version_are_wrong(path: str) -> None:
    with (
        LabServer(small_site(), api_version="7.0.3.0") as server,
        connected(server) as client,
        pytest.raises(vmodl.query.InvalidProperty) as refused,
    ):
        read(client, VM, path)
    assert refused.value.name == path
    assert isinstance(seen_at("8.0.3.0", VM, "config.numaInfo")["config.numaInfo"], vim.vm.VirtualNumaInfo)


def test_methods_newer_than_the_version_are_not_there(server: LabServer) -> None:
    # pyVmomi itself refuses to send such a call, so it is sent by hand.
    call = envelope(
        '<QueryConfigOptionEx xmlns="urn:vim25"><_this type="EnvironmentBrowser">envbrowser-12</_this>'
        "</QueryConfigOptionEx>"
    )
    status, body = post(server, call, {"SOAPAction": "urn:vim25/5.5"})
    assert status == 500
    assert b'xsi:type="MethodNotFound"' in body
    status, body = post(server, call, {"SOAPAction": "urn:vim25/8.0.3.0"})
    assert b'xsi:type="NotAuthenticated"' in body


def test_request_member_newer_than_the_version_is_refused(server: LabServer) -> None:
    # FilterSpec.reportMissingObjectsInResults came with 4.1.
    call = envelope(
        '<RetrieveProperties xmlns="urn:vim25"><_this type="PropertyCollector">propertyCollector</_this>'
        "<specSet><propSet><type>Folder</type></propSet>"
        '<objectSet><obj type="Folder">group-d1</obj></objectSet>'
        "<reportMissingObjectsInResults>true</reportMissingObjectsInResults></specSet></RetrieveProperties>"
    )
    status, body = post(server, call, {"SOAPAction": "urn:vim25/2.5"})
    assert (status, b"unexpected element" in body) == (500, True)
    status, body = post(server, call, {"SOAPAction": "urn:vim25/8.0.3.0"})
    assert b"unexpected element" not in body


def test_every_prior_version_listed_can_be_used(server: LabServer) -> None:
    text = version_file("8.0.3.0").decode()
    listed = [part.split("<")[0] for part in text.split("<version>")[1:]]
    assert len(listed) > 20
    for version_id in listed:
        name = VmomiSupport.versionMap[f"vim25/{version_id}"]
        if not VmomiSupport.IsChildVersion(name, "vim.version.version6"):
            continue  # RetrievePropertiesEx came with 4.1
        client = SmartConnect(
            host=server.host,
            port=server.port,
            user=server.username,
            pwd=server.password,
            sslContext=context(server),
            preferredApiVersions=[name],
        )
        answer = client.content.propertyCollector.RetrievePropertiesEx(
            [object_filter(bind(client, HOSTS[0]), ["name"])], PC.RetrieveOptions()
        )
        assert answer.objects[0].propSet[0].val == "esx0.lab"
        client.content.sessionManager.Logout()


def test_browser_answers_follow_the_version() -> None:
    for version, types in (("8.0.3.0", ["grid_a100-40c"]), ("5.5", [])):
        with LabServer(small_site(), api_version=version) as server, connected(server) as client:
            target = bind(client, BROWSER).QueryConfigTarget(bind(client, HOSTS[0]))
            assert [t.vgpu for t in target.sharedGpuPassthroughTypes] == types
