"""What a user is told when a vCenter cannot be reached, trusted or used."""

from __future__ import annotations

import datetime
import socket
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.vsphere.servers import (
    DAY,
    Certificate,
    ScriptedVCenter,
    fault,
    make_certificate,
    raw_server,
    server_context,
    serving,
    unused_port,
)
from vplacer.errors import (
    ApiTooOld,
    CertificateRejected,
    ConnectionFailed,
    FileFormatError,
    LoginFailed,
    UsageError,
    VplacerError,
)
from vplacer.vsphere.address import Address, Proxy
from vplacer.vsphere.credentials import Credentials
from vplacer.vsphere.secret import Secret
from vplacer.vsphere.session import ConnectOptions, Session

PASSWORD = "correct horse battery"
CREDENTIALS = Credentials("reader@vsphere.example", Secret(PASSWORD), "--username", "--password-file pw")


def connect_error(options: ConnectOptions) -> VplacerError:
    with pytest.raises(VplacerError) as caught, Session.connect(options, CREDENTIALS):
        pass
    assert PASSWORD not in str(caught.value)
    return caught.value


def local(port: int, ca_file: Path | None = None, **more: object) -> ConnectOptions:
    return ConnectOptions(Address("127.0.0.1", port), ca_file=ca_file, connect_timeout_s=3, **more)  # type: ignore[arg-type]


def test_unknown_name() -> None:
    error = connect_error(ConnectOptions(Address("no-such-vcenter.invalid")))
    assert isinstance(error, ConnectionFailed)
    assert "the name 'no-such-vcenter.invalid' is not known" in str(error)


def test_name_that_cannot_be() -> None:
    error = connect_error(ConnectOptions(Address("vc..example")))
    assert isinstance(error, ConnectionFailed)
    assert "the name 'vc..example' is not known" in str(error)


def test_refused() -> None:
    port = unused_port()
    error = connect_error(local(port))
    assert isinstance(error, ConnectionFailed)
    assert f"127.0.0.1:{port}: the connection was refused" in str(error)
    assert error.hint is not None


def test_silent_server_times_out() -> None:
    def say_nothing(connection: socket.socket) -> None:
        time.sleep(3)

    with raw_server(say_nothing) as port:
        started = time.monotonic()
        error = connect_error(ConnectOptions(Address("127.0.0.1", port), connect_timeout_s=0.3))
        assert time.monotonic() - started < 2
    assert isinstance(error, ConnectionFailed)
    assert "no answer in time" in str(error)


def test_server_that_stops_answering_times_out(
    server_certificate: Certificate, ca_file: Path, tmp_path: Path
) -> None:
    def answer_nothing(connection: socket.socket) -> None:
        connection.recv(4096)
        time.sleep(3)

    with raw_server(answer_nothing, server_context(server_certificate, tmp_path)) as port:
        error = connect_error(local(port, ca_file, read_timeout_s=0.3))
    assert isinstance(error, ConnectionFailed)
    assert "no answer in time" in str(error)


def test_plain_http() -> None:
    def speak_http(connection: socket.socket) -> None:
        connection.recv(4096)
        connection.sendall(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n")

    with raw_server(speak_http) as port:
        error = connect_error(local(port))
    assert isinstance(error, ConnectionFailed)
    assert "does not answer with TLS" in str(error)


def test_closed_during_handshake() -> None:
    with raw_server(lambda connection: connection.close()) as port:
        error = connect_error(local(port))
    assert isinstance(error, ConnectionFailed)
    assert "closed" in str(error)


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        (b"\x00\x01garbage\r\n\r\n", "does not speak HTTP"),
        (b"", "closed before an answer"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nshort", "cut off"),
        (b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n", "a web server answers here, but no vCenter"),
        (b"HTTP/1.1 302 Found\r\nLocation: /login\r\nContent-Length: 0\r\n\r\n", "but no vCenter"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 13\r\n\r\n<html></html>", "but no vCenter"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello", "but no vCenter"),
        (b"HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\n\r\n", "does not take requests now"),
        (
            b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 4\r\n\r\n\x1f\x8b\x08\x00",
            "cut off",
        ),
        (
            b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 14\r\n\r\n"
            b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03\xff\xff\xff\xff",
            "cut off",
        ),
    ],
)
def test_not_a_vcenter(
    reply: bytes, expected: str, server_certificate: Certificate, ca_file: Path, tmp_path: Path
) -> None:
    def respond(connection: socket.socket) -> None:
        connection.recv(4096)
        connection.sendall(reply)

    with raw_server(respond, server_context(server_certificate, tmp_path)) as port:
        error = connect_error(local(port, ca_file))
    assert isinstance(error, ConnectionFailed)
    assert expected in str(error)


def bad_certificates(authority: Certificate) -> dict[str, Certificate]:
    week = datetime.timedelta(days=7)
    return {
        "unknown authority": make_certificate("127.0.0.1"),
        "expired": make_certificate("127.0.0.1", issuer=authority, begins=-week, ends=-DAY),
        "not yet valid": make_certificate("127.0.0.1", issuer=authority, begins=DAY, ends=week),
        "other name": make_certificate("vc.example", issuer=authority, hosts=("vc.example",)),
    }


@pytest.mark.parametrize(
    ("kind", "expected", "hint"),
    [
        ("unknown authority", "was not issued by the authorities in", "does not belong to this vCenter"),
        ("expired", "has expired", "renew"),
        ("not yet valid", "is not valid yet", "clock"),
        ("other name", "is for another name than '127.0.0.1'", "the name the certificate was issued for"),
    ],
)
def test_bad_certificate(
    kind: str, expected: str, hint: str, authority: Certificate, ca_file: Path, tmp_path: Path
) -> None:
    certificate = bad_certificates(authority)[kind]
    script = ScriptedVCenter()
    with serving(script, certificate, tmp_path) as port:
        error = connect_error(local(port, ca_file))
        assert isinstance(error, CertificateRejected)
        assert expected in str(error)
        assert hint in str(error.hint)
        assert script.calls == []
        with Session.connect(local(port, insecure=True), CREDENTIALS):
            pass


def test_loopback_is_verified_and_ca_file_is_hinted(server_certificate: Certificate, tmp_path: Path) -> None:
    with serving(ScriptedVCenter(), server_certificate, tmp_path) as port:
        error = connect_error(local(port))
    assert isinstance(error, CertificateRejected)
    assert "--ca-file" in str(error.hint)


@pytest.mark.parametrize("trusted", ["authority", "server"])
def test_ca_file_may_hold_the_authority_or_the_certificate_itself(
    trusted: str, authority: Certificate, server_certificate: Certificate, tmp_path: Path
) -> None:
    path = tmp_path / "trust.pem"
    path.write_text({"authority": authority, "server": server_certificate}[trusted].pem)
    with (
        serving(ScriptedVCenter(), server_certificate, tmp_path) as port,
        Session.connect(local(port, path), CREDENTIALS) as session,
    ):
        assert session.about.version == "8.0.3"
        assert session.about.api_version == "8.0.3.0"


@pytest.mark.parametrize(
    ("content", "kind", "expected"),
    [
        (None, UsageError, "cannot read the CA file"),
        ("", FileFormatError, "holds no certificate"),
        (
            "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n",
            FileFormatError,
            "no usable certificate",
        ),
    ],
)
def test_bad_ca_file(content: str | None, kind: type[VplacerError], expected: str, tmp_path: Path) -> None:
    path = tmp_path / "ca.pem"
    if content is not None:
        path.write_text(content)
    error = connect_error(local(1, path))
    assert isinstance(error, kind)
    assert expected in str(error)


Script = Callable[[], ScriptedVCenter]


@pytest.mark.parametrize(
    ("versions", "kind", "expected"),
    [
        ("<version>7.0.3.2</version>", ApiTooOld, "speaks API 7.0.3.2; 8.0.0.1 or later is needed"),
        ("<version>8.0.0.0</version>", ApiTooOld, "speaks API 8.0.0.0"),
        ("<version>10.0.0.0</version>", ConnectionFailed, "the server offers 10.0.0.0"),
    ],
)
def test_api_version(
    versions: str,
    kind: type[VplacerError],
    expected: str,
    server_certificate: Certificate,
    ca_file: Path,
    tmp_path: Path,
) -> None:
    document = f"<namespaces><namespace><name>urn:vim25</name>{versions}</namespace></namespaces>"
    script = ScriptedVCenter(versions=document.encode())
    with serving(script, server_certificate, tmp_path) as port:
        error = connect_error(local(port, ca_file))
    assert isinstance(error, kind)
    assert expected in str(error)
    assert "Login" not in script.calls


def test_esxi_is_refused_before_the_password_is_sent(
    server_certificate: Certificate, ca_file: Path, tmp_path: Path
) -> None:
    script = ScriptedVCenter(api_type="HostAgent")
    with serving(script, server_certificate, tmp_path) as port:
        error = connect_error(local(port, ca_file))
    assert isinstance(error, ConnectionFailed)
    assert "this is an ESXi host, not a vCenter" in str(error)
    assert script.calls == ["RetrieveServiceContent"]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("InvalidLogin", "user name or the password of 'reader@vsphere.example' was not accepted"),
        ("NoPermission", "'reader@vsphere.example' may not log in"),
        ("PasswordExpired", "the password of 'reader@vsphere.example' has expired"),
    ],
)
def test_refused_login(
    name: str, expected: str, server_certificate: Certificate, ca_file: Path, tmp_path: Path
) -> None:
    script = ScriptedVCenter(answers={"Login": [fault(name, message="Cannot complete login.")]})
    with serving(script, server_certificate, tmp_path) as port:
        error = connect_error(local(port, ca_file))
    assert isinstance(error, LoginFailed)
    assert expected in str(error)
    assert "Cannot complete login." in str(error)


def test_proxy_refuses() -> None:
    def refuse(connection: socket.socket) -> None:
        connection.recv(4096)
        connection.sendall(b"HTTP/1.1 407 Proxy Authentication Required\r\n\r\n")

    with raw_server(refuse) as port:
        proxy = Proxy("127.0.0.1", port, "HTTPS_PROXY", Secret(f"me:{PASSWORD}"))
        error = connect_error(ConnectOptions(Address("vc.example"), proxy=proxy))
    assert isinstance(error, ConnectionFailed)
    assert f"the proxy 127.0.0.1:{port} (from HTTPS_PROXY) does not let the connection through" in str(error)
    assert "NO_PROXY" in str(error.hint)


def test_connects_through_a_proxy(server_certificate: Certificate, ca_file: Path, tmp_path: Path) -> None:
    seen: list[bytes] = []
    script = ScriptedVCenter()
    with serving(script, server_certificate, tmp_path) as target:

        def tunnel(connection: socket.socket) -> None:
            seen.append(connection.recv(4096))
            connection.sendall(b"HTTP/1.1 200 Connection established\r\n\r\n")
            with socket.create_connection(("127.0.0.1", target)) as onward:
                _copy_both_ways(connection, onward)

        with raw_server(tunnel) as port:
            options = local(target, ca_file, proxy=Proxy("127.0.0.1", port, "https_proxy", Secret("a:b")))
            with Session.connect(options, CREDENTIALS) as session:
                assert session.about.version == "8.0.3"
    assert seen[0].startswith(f"CONNECT 127.0.0.1:{target} HTTP/1.".encode())
    assert b"Proxy-Authorization: Basic YTpi" in seen[0]
    assert script.calls == ["RetrieveServiceContent", "Login", "Logout"]


def _copy_both_ways(left: socket.socket, right: socket.socket) -> None:
    import threading

    def pump(source: socket.socket, sink: socket.socket) -> None:
        while data := source.recv(65536):
            sink.sendall(data)

    back = threading.Thread(target=pump, args=(right, left), daemon=True)
    back.start()
    pump(left, right)
