"""Tiny servers on loopback for the tests: with any certificate, any bytes, or scripted SOAP answers."""

from __future__ import annotations

import contextlib
import datetime
import ipaddress
import re
import socket
import ssl
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

DAY = datetime.timedelta(days=1)


@dataclass(frozen=True)
class Certificate:
    """A certificate with its key, and PEM texts of both."""

    certificate: x509.Certificate
    key: ec.EllipticCurvePrivateKey

    @property
    def pem(self) -> str:
        return self.certificate.public_bytes(serialization.Encoding.PEM).decode()

    @property
    def key_pem(self) -> str:
        return self.key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        ).decode()


def make_certificate(
    name: str,
    *,
    issuer: Certificate | None = None,
    hosts: tuple[str, ...] = ("127.0.0.1",),
    begins: datetime.timedelta = -DAY,
    ends: datetime.timedelta = DAY,
    authority: bool = False,
) -> Certificate:
    """Make a certificate, signed by the issuer or by itself. The times count from now."""
    key = ec.generate_private_key(ec.SECP256R1())
    now = datetime.datetime.now(datetime.UTC)
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    names: list[x509.GeneralName] = []
    for host in hosts:
        try:
            names.append(x509.IPAddress(ipaddress.ip_address(host)))
        except ValueError:
            names.append(x509.DNSName(host))
    builder = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer.certificate.subject if issuer else subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now + begins)
        .not_valid_after(now + ends)
        .add_extension(x509.BasicConstraints(ca=authority, path_length=None), critical=True)
    )
    if not authority:
        builder = builder.add_extension(x509.SubjectAlternativeName(names), critical=False)
    return Certificate(builder.sign(issuer.key if issuer else key, hashes.SHA256()), key)


VERSIONS = """<?xml version="1.0" encoding="UTF-8"?>
<namespaces version="1.0"><namespace><name>urn:vim25</name><version>8.0.3.0</version>
<priorVersions><version>8.0.0.1</version><version>7.0</version></priorVersions></namespace></namespaces>"""

ENVELOPE = (
    '<?xml version="1.0" encoding="UTF-8"?><soapenv:Envelope'
    ' xmlns:soapenv="http://schemas.xmlsoap.org/soap/envelope/"'
    ' xmlns:xsd="http://www.w3.org/2001/XMLSchema" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance">'
    "<soapenv:Body>{}</soapenv:Body></soapenv:Envelope>"
)

CONTENT = """<returnval><rootFolder type="Folder">group-d1</rootFolder>
<propertyCollector type="PropertyCollector">propertyCollector</propertyCollector>
<viewManager type="ViewManager">ViewManager</viewManager>
<about><name>VMware vCenter Server</name><fullName>VMware vCenter Server 8.0.3</fullName><vendor>V</vendor>
<version>8.0.3</version><build>1</build><localeVersion>INTL</localeVersion><localeBuild>000</localeBuild>
<osType>linux-x64</osType><productLineId>vpx</productLineId><apiType>{api_type}</apiType>
<apiVersion>8.0.3.0</apiVersion><instanceUuid>4b0d1b9e-0000-4000-8000-000000000001</instanceUuid></about>
<sessionManager type="SessionManager">SessionManager</sessionManager></returnval>"""

LOGIN = """<returnval><key>5200aaaa-1111-2222-3333-444455556666</key><userName>{user}</userName>
<fullName>{user}</fullName><loginTime>2026-01-01T00:00:00Z</loginTime>
<lastActiveTime>2026-01-01T00:00:00Z</lastActiveTime><locale>en</locale><messageLocale>en</messageLocale>
<extensionSession>false</extensionSession><ipAddress>192.0.2.7</ipAddress></returnval>"""

VIEW = (
    '<returnval type="ContainerView">session[5200aaaa-1111-2222-3333-444455556666]'
    "52ffffff-0000-0000-0000-00000000000{}</returnval>"
)


def fault(name: str, fields: str = "", message: str = "") -> tuple[int, str]:
    """Return a SOAP fault of a type, with the XML of its fields."""
    inner = f'<{name}Fault xmlns="urn:vim25" xsi:type="{name}">{fields}</{name}Fault>'
    return 500, (
        "<soapenv:Fault><faultcode>ServerFaultCode</faultcode>"
        f"<faultstring>{message}</faultstring><detail>{inner}</detail></soapenv:Fault>"
    )


Answer = str | tuple[int, str] | bytes | Callable[[str], "Answer"]


@dataclass
class ScriptedVCenter:
    """Answers SOAP methods from a script; of several answers to a method, the last is repeated.

    An answer is the XML inside the response element, a fault, raw bytes of the whole body, or a
    function from the request to one of these. ``calls`` holds the methods called, in order.
    """

    answers: dict[str, list[Answer]] = field(default_factory=dict)
    versions: bytes | tuple[int, bytes] = VERSIONS.encode()
    api_type: str = "VirtualCenter"
    calls: list[str] = field(default_factory=list)
    bodies: list[str] = field(default_factory=list)
    cookies: dict[str, str] = field(default_factory=lambda: {"Login": "abc"})
    sent_cookies: list[str] = field(default_factory=list)

    def reply(self, method: str, body: str) -> tuple[int, bytes]:
        self.calls.append(method)
        self.bodies.append(body)
        answer = self._next(method)
        while callable(answer):
            answer = answer(body)
        if isinstance(answer, bytes):
            return 200, answer
        status, content = answer if isinstance(answer, tuple) else (200, None)
        if content is None:
            content = f'<{method}Response xmlns="urn:vim25">{answer}</{method}Response>'
        return status, ENVELOPE.format(content).encode()

    def _next(self, method: str) -> Answer:
        listed = self.answers.get(method)
        if listed:
            return listed.pop(0) if len(listed) > 1 else listed[0]
        if method == "RetrieveServiceContent":
            return CONTENT.format(api_type=self.api_type)
        if method == "Login":
            return lambda body: LOGIN.format(user=re.search(r"<userName[^>]*>([^<]*)<", body)[1])  # type: ignore[index]
        if method == "CreateContainerView":
            return VIEW.format(self.calls.count(method))
        return ""


@contextlib.contextmanager
def serving(script: ScriptedVCenter, certificate: Certificate, folder: Path) -> Iterator[int]:
    """Serve a script over TLS on 127.0.0.1 and yield the port."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        wbufsize = -1

        def do_GET(self) -> None:
            status, body = script.versions if isinstance(script.versions, tuple) else (200, script.versions)
            self.answer(status, body)

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"])).decode()
            method = re.search(r"<(\w+) xmlns=\"urn:vim25\"><_this", body)
            if method is None:  # not SOAP: this server has no REST
                self.answer(404, b"")
                return
            script.sent_cookies.append(self.headers.get("Cookie", ""))
            status, content = script.reply(method[1], body)
            name = script.cookies.get(method[1])
            self.answer(status, content, f'vmware_soap_session="{name}"; Path=/; HttpOnly' if name else "")

        def answer(self, status: int, body: bytes, cookie: str = "") -> None:
            self.send_response(status)
            self.send_header("Content-Type", "text/xml; charset=utf-8")
            self.send_header("Content-Length", str(len(body)))
            if cookie:
                self.send_header("Set-Cookie", cookie)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            pass

    context = server_context(certificate, folder)
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield server.server_address[1]
    finally:
        server.shutdown()
        server.server_close()
        thread.join(5)


def server_context(certificate: Certificate, folder: Path) -> ssl.SSLContext:
    path = folder / "server.pem"
    path.write_text(certificate.key_pem + certificate.pem)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(path)
    return context


@contextlib.contextmanager
def raw_server(
    respond: Callable[[socket.socket], None], context: ssl.SSLContext | None = None
) -> Iterator[int]:
    """Serve each connection with a function over its socket; yields the port."""
    listener = socket.create_server(("127.0.0.1", 0))
    stopping = threading.Event()

    def serve(connection: socket.socket) -> None:
        with contextlib.suppress(OSError), connection:
            if context is not None:
                with context.wrap_socket(connection, server_side=True) as secured:
                    respond(secured)
            else:
                respond(connection)

    def accept() -> None:
        while not stopping.is_set():
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            threading.Thread(target=serve, args=(connection,), daemon=True).start()

    threading.Thread(target=accept, daemon=True).start()
    try:
        yield listener.getsockname()[1]
    finally:
        stopping.set()
        listener.close()


def unused_port() -> int:
    """Return a port of 127.0.0.1 that nothing listens on."""
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port: int = probe.getsockname()[1]
    return port
