"""Recorded sessions: round trip, no network at replay, nothing left patched, nothing secret inside."""

from __future__ import annotations

import contextlib
import gzip
import http.client
import json
import logging
import socket
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.credentials import RECORD_PASSWORD, RECORD_USER
from tests.vsphere.servers import Certificate, ScriptedVCenter, serving
from tests.vsphere.test_session import host, page
from vplacer.errors import (
    FileFormatError,
    InternalError,
    NewerFormatError,
    OutputError,
    UsageError,
    VplacerError,
)
from vplacer.vsphere.address import Address
from vplacer.vsphere.cassettes import recording, replaying
from vplacer.vsphere.credentials import Credentials
from vplacer.vsphere.raw import MoRef, RawAnswer
from vplacer.vsphere.retrieve import SessionReader
from vplacer.vsphere.secret import Secret
from vplacer.vsphere.session import ConnectOptions, Session

CREDENTIALS = Credentials(RECORD_USER, Secret(RECORD_PASSWORD), "a test", "a test")
REAL_CONNECTION = http.client.HTTPSConnection

Connect = Callable[[], contextlib.AbstractContextManager[Session]]


@pytest.fixture
def script() -> ScriptedVCenter:
    extra = "<val xsi:type='xsd:string'>made by " + RECORD_USER + " with " + RECORD_PASSWORD + "</val>"
    annotated = (
        '<objects><obj type="HostSystem">host-2</obj><propSet><name>name</name>'
        + extra
        + "</propSet></objects>"
    )
    return ScriptedVCenter(
        answers={
            "RetrievePropertiesEx": [
                lambda body: (
                    page(host(1, "a"), annotated, token="1")
                    if ">HostSystem<" in body
                    else page(host(7, "v").replace("HostSystem", "VirtualMachine"))
                )
            ],
            "ContinueRetrievePropertiesEx": [page(host(3, "c"))],
            "CurrentTime": [
                "<returnval>2026-01-01T00:00:00Z</returnval>",
                "<returnval>2026-01-01T00:00:01Z</returnval>",
            ],
        }
    )


@pytest.fixture
def connect(
    script: ScriptedVCenter, server_certificate: Certificate, ca_file: Path, tmp_path: Path
) -> Iterator[Connect]:
    with serving(script, server_certificate, tmp_path) as port:
        options = ConnectOptions(Address("127.0.0.1", port), ca_file=ca_file)
        yield lambda: Session.connect(options, CREDENTIALS)


SERVICE = MoRef("ServiceInstance", "ServiceInstance")


def read(session: Session) -> tuple[RawAnswer, RawAnswer, list[str]]:
    reader = SessionReader(session, page_size=2)
    hosts = reader.retrieve("HostSystem", ["name"])
    times = [session.call(SERVICE, "CurrentTime") for _ in range(3)]
    return hosts, reader.retrieve("VirtualMachine", ["name"]), times


def plain(answer: RawAnswer) -> list[tuple[MoRef, dict[str, Any]]]:
    return [(item.ref, item.props.fields) for item in answer.objects]


def content(path: Path) -> bytes:
    raw = path.read_bytes()
    return gzip.decompress(raw) if path.suffix == ".gz" else raw


@pytest.mark.parametrize("name", ["c.json.gz", "c.json"])
def test_round_trip(
    connect: Connect, script: ScriptedVCenter, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    path = tmp_path / name
    with recording(path, CREDENTIALS), connect() as session:
        hosts, vms, times = read(session)
        address = session.host
    recorded_calls = list(script.calls)
    assert times == ["2026-01-01T00:00:00Z", "2026-01-01T00:00:01Z", "2026-01-01T00:00:01Z"]

    def no_network(*args: object, **more: object) -> None:
        raise AssertionError("a replay opened a connection")

    monkeypatch.setattr(socket, "create_connection", no_network)
    monkeypatch.setattr(socket, "getaddrinfo", no_network)
    with replaying(path) as recorded:
        assert str(recorded.address) == address
        assert recorded.api_version == "8.0.3.0"
        options = ConnectOptions(recorded.address, api_version=recorded.api_version)
        for _ in range(2):  # a session can be replayed more than once
            with Session.connect(options, recorded.credentials) as session:
                again = read(session)
                assert session.host == address
    assert plain(again[1]) == plain(vms)
    assert [item.ref for item in again[0].objects] == [item.ref for item in hosts.objects]
    assert again[0].objects[1].props.text("name") == "made by scrubbed with scrubbed"
    assert again[2][-1] == "2026-01-01T00:00:01Z"
    assert script.calls == recorded_calls


def test_answers_come_in_the_order_of_recording(connect: Connect, tmp_path: Path) -> None:
    path = tmp_path / "c.json"
    with recording(path, CREDENTIALS), connect() as session:
        _, _, times = read(session)
    with replaying(path) as recorded:
        options = ConnectOptions(recorded.address, api_version=recorded.api_version)
        with Session.connect(options, recorded.credentials) as session:
            assert [session.call(SERVICE, "CurrentTime") for _ in range(3)] == times


def test_order_of_calls_does_not_matter(connect: Connect, tmp_path: Path) -> None:
    path = tmp_path / "c.json"
    with recording(path, CREDENTIALS), connect() as session:
        hosts, vms, _ = read(session)
    with replaying(path) as recorded:
        options = ConnectOptions(recorded.address, api_version=recorded.api_version)
        with Session.connect(options, recorded.credentials) as session:
            reader = SessionReader(session, page_size=2)
            assert plain(reader.retrieve("VirtualMachine", ["name"])) == plain(vms)
            assert len(reader.retrieve("HostSystem", ["name"]).objects) == len(hosts.objects)


def test_no_secret_is_in_the_file(connect: Connect, tmp_path: Path) -> None:
    path = tmp_path / "c.json.gz"
    with recording(path, CREDENTIALS), connect() as session:
        read(session)
    text = content(path)
    for secret in (RECORD_USER, RECORD_PASSWORD, "5200aaaa-1111", "192.0.2.7", "vmware_soap_session", "abc"):
        assert secret.encode() not in text
    assert path.read_bytes()[4:8] == b"\0\0\0\0"  # no time in the gzip header
    headers = [entry["request"]["headers"] for entry in json.loads(text)["interactions"]]
    assert {name for names in headers for name in names} == {"Content-Type", "SOAPAction"}


def test_same_session_same_bytes(
    script: ScriptedVCenter, server_certificate: Certificate, ca_file: Path, tmp_path: Path
) -> None:
    files = [tmp_path / "1.json.gz", tmp_path / "2.json.gz"]
    with serving(script, server_certificate, tmp_path) as port:
        options = ConnectOptions(Address("127.0.0.1", port), ca_file=ca_file)
        for path in files:
            script.calls.clear()
            with recording(path, CREDENTIALS), Session.connect(options, CREDENTIALS) as session:
                SessionReader(session).retrieve("VirtualMachine", ["name"])
    assert files[0].read_bytes() == files[1].read_bytes()


def test_unrecorded_call_is_named(connect: Connect, tmp_path: Path) -> None:
    path = tmp_path / "c.json"
    with recording(path, CREDENTIALS), connect() as session:
        read(session)
    with replaying(path) as recorded:
        options = ConnectOptions(recorded.address, api_version=recorded.api_version)
        with Session.connect(options, recorded.credentials) as session:
            with pytest.raises(UsageError) as caught:
                session.call(MoRef("EnvironmentBrowser", "e"), "QueryConfigTarget")
            assert "no answer for QueryConfigTarget of EnvironmentBrowser" in str(caught.value)
            with pytest.raises(UsageError) as caught:
                SessionReader(session).retrieve("Datastore", ["name"])
            assert "no answer for CreateContainerView of Datastore" in str(caught.value)
            assert str(path) in str(caught.value)


def test_everything_is_restored(connect: Connect, tmp_path: Path) -> None:
    level = logging.getLogger("vcr").level
    with recording(tmp_path / "c.json", CREDENTIALS):
        assert http.client.HTTPSConnection is not REAL_CONNECTION
        with connect():
            pass
    assert http.client.HTTPSConnection is REAL_CONNECTION
    with replaying(tmp_path / "c.json"):
        assert http.client.HTTPSConnection is not REAL_CONNECTION
    assert http.client.HTTPSConnection is REAL_CONNECTION
    assert logging.getLogger("vcr").level == level


def test_failed_session_is_recorded_too(connect: Connect, tmp_path: Path) -> None:
    path = tmp_path / "c.json"
    with pytest.raises(ZeroDivisionError), recording(path, CREDENTIALS), connect():
        raise ZeroDivisionError
    assert json.loads(path.read_text())["interactions"]
    assert http.client.HTTPSConnection is REAL_CONNECTION


def test_failing_save_leaves_no_patch_and_no_file(
    connect: Connect, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "c.json.gz"
    path.write_bytes(b"old")

    def full(*args: object, **more: object) -> int:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(Path, "write_bytes", full)
        with (
            pytest.raises(OutputError, match="No space left on device"),
            recording(path, CREDENTIALS),
            connect(),
        ):
            pass
        with pytest.raises(ZeroDivisionError) as caught, recording(path, CREDENTIALS), connect():
            raise ZeroDivisionError
    assert "No space left on device" in caught.value.__notes__[0]
    assert http.client.HTTPSConnection is REAL_CONNECTION
    assert path.read_bytes() == b"old"
    assert sorted(item.name for item in tmp_path.iterdir() if "json" in item.name) == ["c.json.gz"]


def test_folder_is_checked_before_anything_is_recorded(tmp_path: Path) -> None:
    with (
        pytest.raises(OutputError, match="cannot write the recording"),
        recording(tmp_path / "absent" / "c.json", CREDENTIALS),
    ):
        raise AssertionError


def test_nothing_recorded_writes_nothing(tmp_path: Path) -> None:
    with recording(tmp_path / "c.json", CREDENTIALS):
        pass
    assert list(tmp_path.iterdir()) == []


def test_second_thread_is_refused(connect: Connect, tmp_path: Path) -> None:
    errors: list[BaseException] = []
    with recording(tmp_path / "c.json", CREDENTIALS), connect() as session:

        def work() -> None:
            try:
                session.call(SERVICE, "CurrentTime")
            except BaseException as error:
                errors.append(error)

        thread = threading.Thread(target=work)
        thread.start()
        thread.join(10)
    assert [type(error) for error in errors] == [InternalError]


def exchange(**changes: object) -> dict[str, Any]:
    entry: dict[str, Any] = {
        "request": {
            "method": "POST",
            "uri": "https://vc.example/sdk",
            "headers": {"SOAPAction": ['"urn:vim25/8.0.3.0"']},
            "body": "",
        },
        "response": {"status": {"code": 200, "message": "OK"}, "headers": {}, "body": {"string": ""}},
    }
    for path, value in changes.items():
        part, _, name = path.partition("__")
        entry[part][name] = value
    return entry


def cassette(*entries: object, **more: object) -> bytes:
    return json.dumps({"version": 1, "interactions": entries, **more}).encode()


WHOLE = cassette(exchange())


@pytest.mark.parametrize(
    ("name", "raw", "kind", "expected"),
    [
        ("cut.json.gz", gzip.compress(WHOLE)[:-20], FileFormatError, "cut off or damaged"),
        ("crc.json.gz", gzip.compress(WHOLE)[:-8] + b"\0" * 8, FileFormatError, "cut off or damaged"),
        ("cut.json", WHOLE[:-20], FileFormatError, "not a recorded session"),
        ("empty.json", b"", FileFormatError, "not a recorded session"),
        ("binary.json", b"\x89PNG\xff\xfe", FileFormatError, "not a recorded session"),
        ("list.json", b"[]", FileFormatError, "not a recorded session"),
        ("other.json", b'{"version": 1}', FileFormatError, "not a recorded session"),
        ("deep.json", b"[" * 100_000, FileFormatError, "not a recorded session"),
        ("none.json", cassette(), FileFormatError, "records no call to a vCenter"),
        ("newer.json", cassette(exchange(), version=2), NewerFormatError, "format 2"),
        ("entry.json", cassette(exchange(), 7), FileFormatError, "interactions[1]"),
        ("status.json", cassette(exchange(response__status=None)), FileFormatError, "interactions[0]"),
        ("body.json", cassette(exchange(request__body=5)), FileFormatError, "interactions[0]"),
        ("key.json", cassette(exchange(request__surprise=None)), FileFormatError, "interactions[0]"),
        ("header.json", cassette(exchange(request__headers={"A": []})), FileFormatError, "interactions[0]"),
        (
            "port.json",
            cassette(exchange(request__uri="https://vc.example.com:sdk/sdk")),
            FileFormatError,
            "a recorded address is none",
        ),
        ("no-version.json", cassette(exchange(request__headers={})), FileFormatError, "no call to a vCenter"),
    ],
)
def test_not_a_cassette(
    tmp_path: Path, name: str, raw: bytes, kind: type[VplacerError], expected: str
) -> None:
    path = tmp_path / name
    path.write_bytes(raw)
    with pytest.raises(kind) as caught, replaying(path):
        pass
    assert expected in str(caught.value)
    assert str(path) in str(caught.value)
    assert http.client.HTTPSConnection is REAL_CONNECTION


def test_missing_cassette(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="No such file"), replaying(tmp_path / "absent.json"):
        pass
