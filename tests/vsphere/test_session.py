"""Sessions that end, answers that break, secrets that must not show: against scripted servers."""

from __future__ import annotations

import contextlib
import threading
import traceback
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.vsphere.servers import Certificate, ScriptedVCenter, fault, serving
from vplacer.errors import ConnectionFailed, LoginFailed, PermissionMissing, SessionLost, VSphereFault
from vplacer.vsphere.address import Address
from vplacer.vsphere.credentials import Credentials
from vplacer.vsphere.raw import MoRef
from vplacer.vsphere.retrieve import SessionReader
from vplacer.vsphere.secret import Secret
from vplacer.vsphere.session import ConnectOptions, Session

PASSWORD = "pass<word>&more"
CREDENTIALS = Credentials("reader@vsphere.example", Secret(PASSWORD), "--username", "VPLACER_PASSWORD")
HOST = MoRef("HostSystem", "host-1")
GONE = fault(
    "NotAuthenticated", '<object type="Folder">group-d1</object><privilegeId>System.View</privilegeId>'
)


def page(*objects: str, token: str = "") -> str:
    end = f"<token>{token}</token>" if token else ""
    return f"<returnval>{end}{''.join(objects)}</returnval>"


def host(number: int, name: str, missing: str = "") -> str:
    return (
        f'<objects><obj type="HostSystem">host-{number}</obj><propSet><name>name</name>'
        f'<val xsi:type="xsd:string">{name}</val></propSet>{missing}</objects>'
    )


def missing(path: str, kind: str, fields: str = "") -> str:
    return (
        f'<missingSet><path>{path}</path><fault><fault xsi:type="{kind}">{fields}</fault>'
        "<localizedMessage>text</localizedMessage></fault></missingSet>"
    )


@pytest.fixture
def script() -> ScriptedVCenter:
    return ScriptedVCenter()


@pytest.fixture
def connect(
    script: ScriptedVCenter, server_certificate: Certificate, ca_file: Path, tmp_path: Path
) -> object:
    @contextlib.contextmanager
    def opened() -> Iterator[Session]:
        with serving(script, server_certificate, tmp_path) as port:
            options = ConnectOptions(Address("127.0.0.1", port), ca_file=ca_file)
            with Session.connect(options, CREDENTIALS) as session:
                yield session

    return opened


def test_logs_out_also_after_an_error(script: ScriptedVCenter, connect) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(ZeroDivisionError), connect():
        raise ZeroDivisionError
    assert script.calls == ["RetrieveServiceContent", "Login", "Logout"]


def test_password_is_escaped_in_the_request(script: ScriptedVCenter, connect) -> None:  # type: ignore[no-untyped-def]
    with connect():
        pass
    assert ">pass&lt;word&gt;&amp;more</password>" in script.bodies[1]


def test_failed_logout_is_no_failure(script: ScriptedVCenter, connect) -> None:  # type: ignore[no-untyped-def]
    script.answers["Logout"] = [GONE]
    with connect():
        pass
    script.answers["Logout"] = [b"garbage"]
    with connect():
        pass


def test_paging_and_order(script: ScriptedVCenter, connect) -> None:  # type: ignore[no-untyped-def]
    script.answers["RetrievePropertiesEx"] = [page(host(10, "b"), host(9, "a"), token="1")]
    script.answers["ContinueRetrievePropertiesEx"] = [page(host(2, "c"))]
    seen: list[tuple[str, int, int | None]] = []
    with connect() as session:
        reader = SessionReader(session, progress=lambda *step: seen.append(step), page_size=2)
        answer = reader.retrieve("HostSystem", ["name"])
    assert [item.ref.moid for item in answer.objects] == ["host-2", "host-9", "host-10"]
    assert [item.props.text("name") for item in answer.objects] == ["c", "a", "b"]
    assert seen == [("HostSystem", 2, None), ("HostSystem", 3, None)]
    assert "<maxObjects>2</maxObjects>" in script.bodies[3].replace(' versionId="8.0.3.0"', "")
    assert script.calls[-2:] == ["DestroyView", "Logout"]


def test_empty_inventory(script: ScriptedVCenter, connect) -> None:  # type: ignore[no-untyped-def]
    script.answers["RetrievePropertiesEx"] = [""]
    with connect() as session:
        assert SessionReader(session).retrieve("HostSystem", ["name"]).objects == ()


def test_missing_entries_are_data(script: ScriptedVCenter, connect) -> None:  # type: ignore[no-untyped-def]
    denied = missing(
        "config",
        "NoPermission",
        '<object type="HostSystem">host-1</object><privilegeId>System.Read</privilegeId>',
    )
    script.answers["RetrievePropertiesEx"] = [page(host(1, "a", denied))]
    with connect() as session:
        answer = SessionReader(session).retrieve("HostSystem", ["name", "config"])
    assert [(entry.ref, entry.path, entry.fault.type) for entry in answer.missing] == [
        (HOST, "config", "NoPermission")
    ]
    assert answer.missing[0].fault.text("privilegeId") == "System.Read"
    assert answer.objects[0].props.get("config") is None


def test_view_is_destroyed_when_reading_fails(script: ScriptedVCenter, connect) -> None:  # type: ignore[no-untyped-def]
    script.answers["RetrievePropertiesEx"] = [fault("InvalidArgument")]
    with connect() as session, pytest.raises(VSphereFault):
        SessionReader(session).retrieve("HostSystem", ["name"])
    assert "DestroyView" in script.calls


@pytest.mark.parametrize("as_fault", [True, False])
def test_unknown_path_is_dropped_and_named(script: ScriptedVCenter, connect, as_fault: bool) -> None:  # type: ignore[no-untyped-def]
    def answer(body: str) -> tuple[int, str] | str:
        if as_fault and ">config.newThing<" in body:
            return fault("InvalidProperty", "<name>config.newThing</name>")
        return page(host(1, "a", "" if as_fault else missing("config.newThing", "InvalidProperty")))

    script.answers["RetrievePropertiesEx"] = [answer]
    with connect() as session:
        found = SessionReader(session).retrieve("HostSystem", ["name", "config.newThing"])
    assert found.unknown_paths == ("config.newThing",)
    assert found.missing == ()
    assert found.objects[0].props.text("name") == "a"


def test_invalid_property_that_was_not_asked_for_is_an_error(script: ScriptedVCenter, connect) -> None:  # type: ignore[no-untyped-def]
    script.answers["RetrievePropertiesEx"] = [
        fault("InvalidProperty", "<name>other</name>", "no such property")
    ]
    with connect() as session, pytest.raises(VSphereFault, match="InvalidProperty"):
        SessionReader(session).retrieve("HostSystem", ["name"])


def test_session_that_ended_is_renewed_once(script: ScriptedVCenter, connect) -> None:  # type: ignore[no-untyped-def]
    script.answers["QueryConfigTarget"] = [GONE, "<returnval><numCpus>4</numCpus></returnval>"]
    with connect() as session:
        target = session.call(MoRef("EnvironmentBrowser", "e"), "QueryConfigTarget")
    assert target.number("numCpus") == 4
    assert script.calls.count("Login") == 2


def test_session_that_ends_twice_is_lost(script: ScriptedVCenter, connect) -> None:  # type: ignore[no-untyped-def]
    script.answers["QueryConfigTarget"] = [GONE]
    with connect() as session, pytest.raises(SessionLost):
        session.call(MoRef("EnvironmentBrowser", "e"), "QueryConfigTarget")
    assert script.calls.count("Login") == 2


def test_session_end_hidden_in_missing_set(script: ScriptedVCenter, connect) -> None:  # type: ignore[no-untyped-def]
    ended = page(host(1, "a", missing("config", "NotAuthenticated")))
    script.answers["RetrievePropertiesEx"] = [ended, page(host(1, "a"))]
    with connect() as session:
        answer = SessionReader(session).retrieve("HostSystem", ["name"])
    assert answer.missing == ()
    # The view died with the session, so a new one is made.
    assert script.calls.count("CreateContainerView") == 2
    script.answers["RetrievePropertiesEx"] = [ended]
    with connect() as session, pytest.raises(SessionLost):
        SessionReader(session).retrieve("HostSystem", ["name"])


def test_session_that_ends_between_pages_starts_over(script: ScriptedVCenter, connect) -> None:  # type: ignore[no-untyped-def]
    script.answers["RetrievePropertiesEx"] = [page(host(1, "a"), token="1")]
    script.answers["ContinueRetrievePropertiesEx"] = [GONE, page(host(2, "b"))]
    with connect() as session:
        answer = SessionReader(session).retrieve("HostSystem", ["name"])
    assert [item.ref.moid for item in answer.objects] == ["host-1", "host-2"]


def test_threads_renew_a_session_only_once(script: ScriptedVCenter, connect) -> None:  # type: ignore[no-untyped-def]
    barrier = threading.Barrier(4)

    def answer(body: str) -> tuple[int, str] | str:
        if script.calls.count("QueryConfigTarget") <= 4:
            barrier.wait(5)
            return GONE
        return "<returnval><numCpus>4</numCpus></returnval>"

    script.answers["QueryConfigTarget"] = [answer]
    results: list[int] = []
    with connect() as session:

        def work() -> None:
            target = session.call(MoRef("EnvironmentBrowser", "e"), "QueryConfigTarget")
            results.append(target.number("numCpus"))

        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(10)
    assert results == [4, 4, 4, 4]
    assert script.calls.count("Login") == 2


@pytest.mark.parametrize("body", [b"<soapenv:Envelope", b"", b"<html/>", b"\x00\x01"])
def test_broken_answer(script: ScriptedVCenter, connect, body: bytes) -> None:  # type: ignore[no-untyped-def]
    script.answers["QueryConfigTarget"] = [body]
    with connect() as session, pytest.raises(ConnectionFailed, match="the answer to QueryConfigTarget"):
        session.call(MoRef("EnvironmentBrowser", "e"), "QueryConfigTarget")


def test_missing_privilege_names_it(script: ScriptedVCenter, connect) -> None:  # type: ignore[no-untyped-def]
    script.answers["QueryConfigTarget"] = [
        fault(
            "NoPermission",
            '<object type="HostSystem">host-1</object><privilegeId>System.View</privilegeId>',
            "Permission denied.",
        )
    ]
    with connect() as session, pytest.raises(PermissionMissing) as caught:
        session.call(
            MoRef("EnvironmentBrowser", "e"), "QueryConfigTarget", what="cannot read the devices", obj="esx1"
        )
    assert "esx1: cannot read the devices: the account lacks System.View on HostSystem:host-1" in str(
        caught.value
    )


def test_unknown_argument_is_our_mistake(connect) -> None:  # type: ignore[no-untyped-def]
    with connect() as session, pytest.raises(TypeError, match="no parameter hots"):
        session.call(MoRef("EnvironmentBrowser", "e"), "QueryConfigTarget", {"hots": HOST})


def test_refused_login_shows_no_password_even_with_locals(
    script: ScriptedVCenter,
    connect,  # type: ignore[no-untyped-def]
) -> None:
    script.answers["Login"] = [fault("InvalidLogin", message="Cannot complete login")]
    try:
        with connect():
            pass
    except LoginFailed as error:
        script.bodies.clear()
        trace = traceback.TracebackException.from_exception(error, capture_locals=True)
        shown = "".join(trace.format())
    assert "Cannot complete login" in shown
    assert "VPLACER_PASSWORD" in shown
    for spelling in (PASSWORD, "pass&lt;word"):
        assert spelling not in shown


def test_connection_kept_too_long_is_replaced(script: ScriptedVCenter, connect) -> None:  # type: ignore[no-untyped-def]
    script.answers["QueryConfigTarget"] = ["<returnval><numCpus>4</numCpus></returnval>"]
    with connect() as session:
        # The server hangs up while the connection is kept.
        for connection, _ in session.transport._idle:
            connection.sock.shutdown(2)
        assert session.call(MoRef("EnvironmentBrowser", "e"), "QueryConfigTarget").number("numCpus") == 4
        for connection, _ in session.transport._idle:
            connection.sock.shutdown(2)
        with pytest.raises(ConnectionFailed):
            session.call(MoRef("VirtualMachine", "vm-1"), "MarkAsTemplate")
    assert script.calls.count("MarkAsTemplate") == 0


def test_cookie_of_another_answer_does_not_replace_the_sessions(script: ScriptedVCenter, connect) -> None:  # type: ignore[no-untyped-def]
    script.cookies["RetrieveServiceContent"] = "anonymous-1"
    script.cookies["QueryConfigTarget"] = "anonymous-2"
    script.answers["QueryConfigTarget"] = [GONE, "<returnval><numCpus>4</numCpus></returnval>"]
    with connect() as session:
        session.call(MoRef("EnvironmentBrowser", "e"), "QueryConfigTarget")
    sent = dict(zip(script.calls, script.sent_cookies, strict=True))
    assert sent["Login"] == ""
    assert sent["QueryConfigTarget"] == sent["Logout"] == 'vmware_soap_session="abc"'
