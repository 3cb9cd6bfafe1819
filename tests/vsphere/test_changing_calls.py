"""Calls that change something: sent once, whatever happens; a lost answer says so."""

from __future__ import annotations

import http.client
import socket
import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from tests.vsphere.servers import Certificate, ScriptedVCenter, fault, raw_server, server_context, serving
from tests.vsphere.wire import arguments_of, header_of
from vplacer.errors import (
    AnswerLost,
    ApiTooOld,
    ConnectionFailed,
    PermissionMissing,
    SessionLost,
    VSphereFault,
)
from vplacer.vsphere.address import Address
from vplacer.vsphere.credentials import Credentials
from vplacer.vsphere.data_objects import make
from vplacer.vsphere.raw import MoRef
from vplacer.vsphere.secret import Secret
from vplacer.vsphere.session import ConnectOptions, Session

PASSWORD = "correct horse battery"
CREDENTIALS = Credentials("writer@vsphere.example", Secret(PASSWORD), "--username", "--password-file pw")
VM = MoRef("VirtualMachine", "vm-7")
TASK = '<returnval type="Task">task-9</returnval>'
Connect = Callable[[ScriptedVCenter], Session]


@pytest.fixture
def connect(server_certificate: Certificate, ca_file: Path, tmp_path: Path) -> Iterator[Connect]:
    with ExitStack() as stack:

        def opened(script: ScriptedVCenter) -> Session:
            port = stack.enter_context(serving(script, server_certificate, tmp_path))
            options = ConnectOptions(Address("127.0.0.1", port), ca_file=ca_file, read_timeout_s=5)
            return stack.enter_context(Session.connect(options, CREDENTIALS))

        yield opened


def power_on(session: Session) -> object:
    return session.change(
        VM, "PowerOnVM_Task", {}, operation="vplacer-p1-vm-7/power_on", what="cannot power on", obj="vm7"
    )


def test_the_operation_id_goes_with_the_call(connect: Connect) -> None:
    script = ScriptedVCenter({"PowerOnVM_Task": [TASK]})
    session = connect(script)
    assert power_on(session) == MoRef("Task", "task-9")
    body = script.bodies[-1].encode()
    assert header_of(body) == {"operationID": "vplacer-p1-vm-7/power_on"}
    assert arguments_of(body)["_this"] == "vm-7"
    assert all("operationID" not in text for text in script.bodies[:-1])


def test_refused_for_an_ended_session_is_sent_again_once(connect: Connect) -> None:
    script = ScriptedVCenter({"PowerOnVM_Task": [fault("NotAuthenticated"), TASK]})
    assert power_on(connect(script)) == MoRef("Task", "task-9")
    assert script.calls.count("PowerOnVM_Task") == 2
    assert script.calls.count("Login") == 2


def test_a_session_that_ends_again_is_lost(connect: Connect) -> None:
    script = ScriptedVCenter({"PowerOnVM_Task": [fault("NotAuthenticated")]})
    with pytest.raises(SessionLost):
        power_on(connect(script))
    assert script.calls.count("PowerOnVM_Task") == 2


def test_faults_are_quoted(connect: Connect) -> None:
    cause = (
        "<faultMessage><key>k</key><message>Module 'DevicePowerOn' power on failed.</message></faultMessage>"
    )
    script = ScriptedVCenter(
        {"PowerOnVM_Task": [fault("GenericVmConfigFault", f"{cause}<reason>x</reason>")]}
    )
    with pytest.raises(VSphereFault, match=r"vm7: cannot power on: GenericVmConfigFault.*DevicePowerOn"):
        power_on(connect(script))
    denied = fault("NoPermission", "<privilegeId>VirtualMachine.Interact.PowerOn</privilegeId>")
    script = ScriptedVCenter({"PowerOnVM_Task": [denied]})
    with pytest.raises(PermissionMissing, match=r"lacks VirtualMachine\.Interact\.PowerOn"):
        power_on(connect(script))


@pytest.mark.parametrize("answer", [b"", b"<soap", b"<html>oops</html>"], ids=["empty", "cut off", "html"])
def test_an_answer_that_cannot_be_read_is_lost(connect: Connect, answer: bytes) -> None:
    script = ScriptedVCenter({"PowerOnVM_Task": [answer]})
    with pytest.raises(AnswerLost, match="it may have been carried out or not"):
        power_on(connect(script))
    assert script.calls.count("PowerOnVM_Task") == 1


def test_what_the_api_would_drop_is_not_sent(connect: Connect) -> None:
    script = ScriptedVCenter()
    session = connect(script)
    spec = make("VirtualMachineConfigSpec", tdxEnabled=True)
    with pytest.raises(ApiTooOld, match=r"VirtualMachineConfigSpec\.tdxEnabled needs API 9\.0\.0\.0"):
        session.change(VM, "ReconfigVM_Task", {"spec": spec}, operation="op", what="w", obj="vm7")
    assert "ReconfigVM_Task" not in script.calls


@contextmanager
def breaking(
    port: int, marker: bytes, *, deliver: bool, certificate: Certificate, ca_file: Path, folder: Path
) -> Iterator[tuple[int, list[int]]]:
    """Pass requests on to a server and drop the connection at one that holds a text, before or after it.

    Yields the port and a list with one entry for every such request that came.
    """
    seen: list[int] = []
    trust = ssl.create_default_context(cafile=str(ca_file))

    def respond(client: socket.socket) -> None:
        reader = client.makefile("rb")
        while True:
            head = reader.readline()
            if not head:
                return
            length, lines = 0, [head]
            while (line := reader.readline()) not in (b"\r\n", b""):
                lines.append(line)
                if line.lower().startswith(b"content-length:"):
                    length = int(line.split(b":")[1])
            body = reader.read(length)
            drop = marker in body
            if drop:
                seen.append(1)
                if not deliver:
                    return
            method, path, _ = head.decode().split()
            sent = {
                name.strip(): value.strip()
                for name, value in (text.decode().split(":", 1) for text in lines[1:])
                if name.lower() not in ("host", "accept-encoding", "content-length")
            }
            backend = http.client.HTTPSConnection("127.0.0.1", port, context=trust, timeout=5)
            backend.request(method, path, body=body or None, headers=sent)
            answer = backend.getresponse()
            content = answer.read()
            cookie = answer.getheader("Set-Cookie")
            backend.close()
            if drop:
                return
            more = f"Set-Cookie: {cookie}\r\n" if cookie else ""
            text = f"HTTP/1.1 {answer.status} OK\r\nContent-Length: {len(content)}\r\n{more}\r\n"
            client.sendall(text.encode() + content)

    with raw_server(respond, server_context(certificate, folder)) as own:
        yield own, seen


@pytest.mark.parametrize("deliver", [False, True], ids=["before it was carried out", "after"])
def test_a_broken_connection_leaves_it_open_and_is_never_tried_again(
    deliver: bool, server_certificate: Certificate, ca_file: Path, tmp_path: Path
) -> None:
    script = ScriptedVCenter({"PowerOnVM_Task": [TASK]})
    with (
        serving(script, server_certificate, tmp_path) as behind,
        breaking(
            behind,
            b"PowerOnVM_Task",
            deliver=deliver,
            certificate=server_certificate,
            ca_file=ca_file,
            folder=tmp_path,
        ) as (port, seen),
        Session.connect(
            ConnectOptions(Address("127.0.0.1", port), ca_file=ca_file, read_timeout_s=5), CREDENTIALS
        ) as session,
    ):
        with pytest.raises(AnswerLost) as caught:
            power_on(session)
        assert str(caught.value).startswith("vm7: a change was sent and no answer came")
        assert "the connection was closed before an answer came" in str(caught.value)
        assert "next: look at the object and its recent tasks" in str(caught.value)
        assert PASSWORD not in str(caught.value)
        # The session goes on, and what was sent was sent once.
        assert session.call(MoRef("ServiceInstance", "ServiceInstance"), "CurrentTime") is None
    assert len(seen) == 1
    assert script.calls.count("PowerOnVM_Task") == (1 if deliver else 0)


def test_silence_is_a_lost_answer(server_certificate: Certificate, ca_file: Path, tmp_path: Path) -> None:
    release = threading.Event()

    def silent(body: str) -> str:
        release.wait(5)
        return TASK

    script = ScriptedVCenter({"PowerOnVM_Task": [silent]})
    with serving(script, server_certificate, tmp_path) as port:
        options = ConnectOptions(Address("127.0.0.1", port), ca_file=ca_file, read_timeout_s=0.3)
        with Session.connect(options, CREDENTIALS) as session:
            with pytest.raises(AnswerLost, match="no answer in time"):
                power_on(session)
            release.set()
    assert script.calls.count("PowerOnVM_Task") == 1


def test_refused_before_anything_is_sent(
    server_certificate: Certificate, ca_file: Path, tmp_path: Path
) -> None:
    script = ScriptedVCenter({"PowerOnVM_Task": [TASK]})
    with serving(script, server_certificate, tmp_path) as port:
        options = ConnectOptions(Address("127.0.0.1", port), ca_file=ca_file, connect_timeout_s=2)
        session = Session.connect(options, CREDENTIALS)
    with pytest.raises(ConnectionFailed) as caught:
        power_on(session)
    assert "was refused" in str(caught.value)
    session.close()
    assert "PowerOnVM_Task" not in script.calls


@pytest.mark.parametrize(
    ("status", "kind"), [(503, AnswerLost), (502, AnswerLost), (302, AnswerLost), (403, ConnectionFailed)]
)
def test_answers_of_something_in_between(
    status: int,
    kind: type[Exception],
    server_certificate: Certificate,
    ca_file: Path,
    tmp_path: Path,
) -> None:
    """A gateway's 5xx does not tell whether the server behind it did the work; a 4xx refuses it."""
    script = ScriptedVCenter({"PowerOnVM_Task": [(status, "")]})
    with serving(script, server_certificate, tmp_path) as port:
        options = ConnectOptions(Address("127.0.0.1", port), ca_file=ca_file, read_timeout_s=5)
        with Session.connect(options, CREDENTIALS) as session, pytest.raises(kind, match=f"HTTP {status}"):
            power_on(session)
    assert script.calls.count("PowerOnVM_Task") == 1
