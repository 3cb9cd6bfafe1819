"""Against vcsim: a server of other authors, over real TLS. What it answers, vplacer must read."""

from __future__ import annotations

import base64
import json
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.credentials import RECORD_PASSWORD, RECORD_USER
from tests.witness_programs import connect_options, serving
from vplacer.errors import ApiTooOld, CertificateRejected, LoginFailed, SessionLost
from vplacer.vsphere.cassettes import recording, replaying
from vplacer.vsphere.collector import CollectOptions, collect
from vplacer.vsphere.credentials import Credentials
from vplacer.vsphere.esxcli import read_pci_list
from vplacer.vsphere.measure import MeasureOptions, measure_homes
from vplacer.vsphere.raw import MoRef
from vplacer.vsphere.reflect_methods import EXECUTE, RETRIEVE_EXECUTER
from vplacer.vsphere.retrieve import SessionReader
from vplacer.vsphere.secret import Secret
from vplacer.vsphere.session import ConnectOptions, Session

pytestmark = pytest.mark.live

CREDENTIALS = Credentials(RECORD_USER, Secret(RECORD_PASSWORD), "a test", "a test")
Start = Callable[..., ConnectOptions]


@pytest.fixture(scope="module")
def start(witness_bin: Callable[[str], Path]) -> Iterator[Start]:
    with ExitStack() as running:

        def run(*options: str) -> ConnectOptions:
            return connect_options(running.enter_context(serving(witness_bin("vcsim"), *options)))

        yield run


@pytest.fixture(scope="module")
def vcsim(start: Start) -> ConnectOptions:
    return start("-api-version", "8.0.3.0")


HOST_PATHS = ["name", "runtime", "hardware", "config.product", "config.pciPassthruInfo"]
VM_PATHS = ["name", "runtime", "summary", "config", "resourcePool"]


def test_negotiates_and_reads(vcsim: ConnectOptions) -> None:
    with Session.connect(vcsim, CREDENTIALS) as session:
        assert session.about.api_version == "8.0.3.0"
        reader = SessionReader(session, page_size=3)
        hosts = reader.retrieve("HostSystem", HOST_PATHS)
        vms = reader.retrieve("VirtualMachine", VM_PATHS)
    assert [host.props.text("name") for host in hosts.objects] == [
        "DC0_H0",
        "DC0_C0_H0",
        "DC0_C0_H1",
        "DC0_C0_H2",
    ]
    for host in hosts.objects:
        hardware = host.props.data("hardware")
        assert hardware is not None
        assert len(hardware.items("pciDevice")) == 43
        numa = hardware.data("numaInfo")
        assert numa is not None
        (node,) = numa.items("numaNode")
        assert node.numbers("cpuID") == [1, 0]
        assert node.texts("pciId") == []
        assert node.number("memorySize") is None
    # vcsim's empty enumerations make pyVmomi's own parser fail on these two.
    assert len(vms.objects) == 4
    assert {vm.props.data("runtime").text("powerState") for vm in vms.objects} == {"poweredOn"}  # type: ignore[union-attr]
    assert hosts.missing == vms.missing == ()


def test_unknown_path_is_named(vcsim: ConnectOptions) -> None:
    with Session.connect(vcsim, CREDENTIALS) as session:
        answer = SessionReader(session).retrieve("HostSystem", ["name", "config.fromTheFuture"])
    assert answer.unknown_paths == ("config.fromTheFuture",)
    assert len(answer.objects) == 4


def test_esxcli_is_asked_as_vcsim_knows_it(vcsim: ConnectOptions) -> None:
    """vcsim runs some of esxcli's commands, and answers others with a fault: both must be read."""
    with Session.connect(vcsim, CREDENTIALS) as session:
        reader = SessionReader(session)
        host = reader.retrieve("HostSystem", ["name"]).objects[0].ref
        told = read_pci_list(reader, host)
        executer = reader.call(host, RETRIEVE_EXECUTER)
        command = {"moid": "ha-cli-handler-network-vm", "method": "vim.EsxCLI.network.vm.list"}
        answer = reader.call(executer, EXECUTE, {**command, "version": "urn:vim25/5.0"})
        inventory = collect(session)
        homes = measure_homes(reader, session.service("serviceManager"), inventory, str, MeasureOptions())
    assert told.not_told == 'the host answered "The object or item referred to could not be found."'
    text = answer.text("response")
    assert "<Name>DC0_H0_VM0</Name>" in text
    assert "<NumPorts>1</NumPorts>" in text
    assert homes.overlays == ()
    assert len(homes.findings) == len(inventory.hosts)


def test_loopback_certificate_is_verified(vcsim: ConnectOptions) -> None:
    with pytest.raises(CertificateRejected, match="not issued by any authority"):
        Session.connect(ConnectOptions(vcsim.address), CREDENTIALS)


def test_old_api_is_refused(start: Start) -> None:
    with pytest.raises(ApiTooOld, match=r"speaks API 7\.0\.3\.0"):
        Session.connect(start("-api-version", "7.0.3.0"), CREDENTIALS)


def test_wrong_password_is_refused(start: Start) -> None:
    options = start("-api-version", "8.0.3.0", "-username", "reader", "-password", "right")
    with pytest.raises(LoginFailed, match="was not accepted"):
        Session.connect(options, CREDENTIALS)


def test_expired_session_is_renewed_once_then_lost(start: Start) -> None:
    from pyVmomi import vim

    options = start("-api-version", "8.0.3.0")
    with Session.connect(options, CREDENTIALS) as session:
        setting = session.service("setting")
        assert setting is not None
        timeout = vim.option.OptionValue(key="config.vmacore.soap.sessionTimeout", value="500ms")
        session.call(setting, "UpdateOptions", {"changedValue": [timeout]})
    with Session.connect(options, CREDENTIALS) as session:
        reader = SessionReader(session)
        # It looks once a time-out which sessions have been idle for longer than one.
        expired = 1.2
        time.sleep(expired)
        # The simulator answers this with every property missing, as a session's end.
        assert len(reader.retrieve("HostSystem", ["name"]).objects) == 4
        time.sleep(expired)
        assert len(reader.retrieve("HostSystem", ["name"]).objects) == 4
        session._credentials = Credentials("", Secret(""), "", "")
        time.sleep(expired)
        with pytest.raises((LoginFailed, SessionLost)):
            reader.retrieve("HostSystem", ["name"])


def test_recorded_and_replayed(vcsim: ConnectOptions, tmp_path: Path) -> None:
    def read(session: Session) -> list[tuple[MoRef, str | None, int]]:
        reader = SessionReader(session, page_size=2)
        answers = [reader.retrieve(kind, ["name", "config"]) for kind in ("HostSystem", "VirtualMachine")]
        return [
            (item.ref, item.props.text("name"), len(item.props.data("config").fields))  # type: ignore[union-attr]
            for answer in answers
            for item in answer.objects
        ]

    path = tmp_path / "vcsim.json.gz"
    with recording(path, CREDENTIALS), Session.connect(vcsim, CREDENTIALS) as session:
        live = read(session)
    with replaying(path) as recorded:
        assert recorded.address == vcsim.address
        options = ConnectOptions(recorded.address, api_version=recorded.api_version)
        with Session.connect(options, recorded.credentials) as session:
            assert read(session) == live


def test_collects_the_default_inventory(vcsim: ConnectOptions) -> None:
    with Session.connect(vcsim, CREDENTIALS) as session:
        inventory = collect(session)
    assert inventory.complete
    assert [host.name for host in inventory.hosts] == ["DC0_H0", "DC0_C0_H0", "DC0_C0_H1", "DC0_C0_H2"]
    assert [cluster.name for cluster in inventory.clusters] == ["DC0_C0"]
    assert inventory.clusters[0].drs_level == "fullyAutomated"
    assert {host.cluster for host in inventory.hosts} == {None, inventory.clusters[0].moid}
    assert all(len(host.pci_devices) == 43 for host in inventory.hosts)
    assert {device.ids.vendor for device in inventory.hosts[0].pci_devices} == {0x8086, 0x15AD}
    assert all(vm.folder == "vm" and vm.is_on and vm.readable for vm in inventory.vms)
    assert {vm.pool for vm in inventory.vms} == {pool.moid for pool in inventory.pools}
    assert {vm.hardware_version for vm in inventory.vms} == {13}
    assert inventory.hosts[0].limits[0].max_cpus == 128
    assert inventory.about.api_version == "8.0.3.0"


def test_reads_tags(vcsim: ConnectOptions) -> None:
    rest = "/rest/com/vmware/cis"
    with Session.connect(vcsim, CREDENTIALS) as session:

        def post(path: str, body: object, headers: dict[str, str]) -> object:
            reply = session.transport.request(
                "POST",
                f"{rest}{path}",
                body=json.dumps(body).encode(),
                headers={"Content-Type": "application/json", **headers},
                repeatable=False,
            )
            assert reply.status == 200, reply.body
            return json.loads(reply.body)["value"] if reply.body else None

        basic = base64.b64encode(f"{RECORD_USER}:{RECORD_PASSWORD}".encode()).decode()
        token = post("/session", {}, {"Authorization": f"Basic {basic}"})
        login = {"vmware-api-session-id": str(token)}
        spec = {"name": "vplacer", "cardinality": "MULTIPLE", "associable_types": [], "description": ""}
        category = post("/tagging/category", {"create_spec": spec}, login)
        tag = post(
            "/tagging/tag",
            {"create_spec": {"name": "ignore", "category_id": category, "description": ""}},
            login,
        )
        first = collect(session).vms[0]
        assert first.tags == ()
        post(
            f"/tagging/tag-association/id:{tag}?~action=attach",
            {"object_id": {"id": first.moid, "type": "VirtualMachine"}},
            login,
        )
        tagged = {vm.moid: vm.tags for vm in collect(session).vms if vm.tags}
    assert tagged == {first.moid: ("vplacer:ignore",)}


def test_same_inventory_from_the_recording(vcsim: ConnectOptions, tmp_path: Path) -> None:
    path = tmp_path / "vcsim.json.gz"
    options = CollectOptions(workers=1)
    with recording(path, CREDENTIALS), Session.connect(vcsim, CREDENTIALS) as session:
        live = collect(session, options)
    with replaying(path) as recorded:
        connect = ConnectOptions(recorded.address, api_version=recorded.api_version)
        with Session.connect(connect, recorded.credentials) as session:
            assert collect(session, options) == live
