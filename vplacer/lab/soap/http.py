"""HTTP and TLS on loopback: kept connections, chunked requests, gzip, an orderly stop."""

from __future__ import annotations

import contextlib
import gzip
import ipaddress
import json
import logging
import re
import socket
import ssl
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler
from socketserver import TCPServer, ThreadingMixIn
from typing import Any, cast

from vplacer.errors import UsageError
from vplacer.lab.soap.dispatch import Dispatcher, Reply
from vplacer.lab.soap.faults import Harm
from vplacer.lab.soap.rest import PREFIX, TagService

LOG = logging.getLogger(__name__)

COOKIE = "vmware_soap_session"
_COOKIE_RE = re.compile(COOKIE + r'="?([0-9a-zA-Z-]+)')
_SERVICE_PATHS = ("/sdk", "/sdk/", "/sdk/vimService")
_VERSIONS_PATH = "/sdk/vimServiceVersions.xml"
_IDLE_S = 1000.0  # pyVmomi keeps idle connections for 900 s and fails on one that the server closed.
_HANDSHAKE_S = 10.0
_MAX_REQUEST_BYTES = 64 << 20
_GZIP_FROM_BYTES = 4096
_XML = 'text/xml; charset="utf-8"'


class BadRequest(Exception):
    """The HTTP request itself is malformed; the connection closes."""

    def __init__(self, status: int, why: str) -> None:
        super().__init__(why)
        self.status = status


class SoapServer(ThreadingMixIn, TCPServer):
    """Accepts connections, a thread for each.

    Args:
        host: a loopback address or name.
        port: 0 = any free port.
        context: TLS, or None for plain HTTP.
        dispatcher: answers the SOAP calls.
        rest: answers the REST calls.
        versions: the content of vimServiceVersions.xml.

    Raises:
        UsageError: the host is not loopback, or the port is not to be had.
    """

    daemon_threads = True
    block_on_close = False
    allow_reuse_address = True
    request_queue_size = 128

    def __init__(
        self,
        host: str,
        port: int,
        context: ssl.SSLContext | None,
        dispatcher: Dispatcher,
        rest: TagService,
        versions: bytes,
    ) -> None:
        self.context = context
        self.dispatcher = dispatcher
        self.rest = rest
        self.versions = versions
        self.stopping = False
        self._busy = 0
        self._sockets: set[socket.socket] = set()
        self._state = threading.Condition()
        address = _loopback_address(host)
        self.address_family = socket.AF_INET6 if ":" in address else socket.AF_INET
        try:
            super().__init__((address, port), _Handler)
        except (OSError, OverflowError) as error:
            raise UsageError(
                f"cannot listen on port {port}", obj=host, why=str(error), hint="choose another port"
            ) from error

    @property
    def port(self) -> int:
        """The port in use."""
        return self.server_address[1]

    def opened(self, connection: socket.socket) -> None:
        """Remember a connection, so that it can be closed at the end."""
        with self._state:
            self._sockets.add(connection)
            stopping = self.stopping
        if stopping:
            raise ConnectionAbortedError("the server stops")

    def closed(self, connection: socket.socket) -> None:
        """Forget a connection."""
        with self._state:
            self._sockets.discard(connection)

    @contextlib.contextmanager
    def answering(self) -> Any:
        """Count a request in work."""
        with self._state:
            self._busy += 1
        try:
            yield
        finally:
            with self._state:
                self._busy -= 1
                self._state.notify_all()

    def finish_requests(self, grace_s: float) -> None:
        """Let requests in work be answered, within a time, then close all connections.

        Closing the listener alone would leave kept connections answering.
        """
        deadline = time.monotonic() + grace_s
        with self._state:
            self.stopping = True
            while self._busy and (left := deadline - time.monotonic()) > 0:
                self._state.wait(left)
            open_sockets = list(self._sockets)
        for connection in open_sockets:
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)

    def handle_error(self, request: Any, client_address: Any) -> None:  # noqa: ARG002
        """Log a broken connection; clients come and go."""
        LOG.debug("connection %s: %s", client_address, sys.exc_info()[1])


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server_version = "vplacer-lab"
    sys_version = ""
    disable_nagle_algorithm = True
    # Header and body in one write: in two, delayed acknowledgements cost 40 ms a call.
    wbufsize = -1
    timeout = _IDLE_S

    @property
    def _soap(self) -> SoapServer:
        return cast(SoapServer, self.server)

    def setup(self) -> None:
        self.request.settimeout(_HANDSHAKE_S)
        if self._soap.context is not None:
            # Here, in the connection's own thread: in accept, one slow client would block all.
            self.request = self._soap.context.wrap_socket(self.request, server_side=True)
        self._soap.opened(self.request)
        super().setup()

    def finish(self) -> None:
        try:
            super().finish()
        finally:
            self._soap.closed(self.request)
            if isinstance(self.request, ssl.SSLSocket):
                with contextlib.suppress(OSError, ValueError):
                    self.request.settimeout(0)
                    self.request.unwrap()  # says goodbye without waiting for the answer
            with contextlib.suppress(OSError):
                self.request.close()

    def log_message(self, format: str, *args: Any) -> None:
        LOG.debug(format, *args)

    def do_GET(self) -> None:
        if self.path.startswith(PREFIX):
            self._answer_rest()
            return
        with self._soap.answering():
            if self.path.partition("?")[0] == _VERSIONS_PATH:
                self._send(Reply(200, self._soap.versions))
            else:
                self._send(Reply(404, b""))

    do_HEAD = do_GET

    def do_DELETE(self) -> None:
        self._answer_rest()

    def _answer_rest(self) -> None:
        data = self._read_body()
        if data is None:
            return
        with self._soap.answering():
            reply = self._soap.rest.answer(self.command, self.path, self.headers, data)
            body = b"" if reply.content is None else json.dumps(reply.content).encode()
            self._send(Reply(reply.status, body), content_type="application/json")

    def do_POST(self) -> None:
        if self.path.startswith(PREFIX):
            self._answer_rest()
            return
        data = self._read_body()
        if data is None:
            return
        with self._soap.answering():
            if self.path.partition("?")[0] not in _SERVICE_PATHS:
                self._send(Reply(404, b""))
                return
            match = _COOKIE_RE.search(self.headers.get("Cookie", ""))
            cookie = match.group(1) if match else None
            action = self.headers.get("SOAPAction", "")
            reply = self._soap.dispatcher.handle(data, action, cookie)
            if reply.harm in (Harm.DROP_BEFORE, Harm.DROP_AFTER):
                self.close_connection = True
            else:
                self._send(reply)

    def _send(self, reply: Reply, content_type: str = _XML) -> None:
        body = reply.body
        self.close_connection = self.close_connection or self._soap.stopping
        self.send_response(reply.status)
        self.send_header("Content-Type", content_type)
        if len(body) >= _GZIP_FROM_BYTES and "gzip" in self.headers.get("Accept-Encoding", ""):
            body = gzip.compress(body, compresslevel=1, mtime=0)
            self.send_header("Content-Encoding", "gzip")
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Cache-Control", "no-cache")
        if reply.cookie:
            secure = "; Secure" if self._soap.context is not None else ""
            self.send_header("Set-Cookie", f'{COOKIE}="{reply.cookie}"; Path=/; HttpOnly{secure}')
        if reply.harm is Harm.TRUNCATE:
            body = body[: len(body) // 2]
            self.close_connection = True
        if self.close_connection:
            self.send_header("Connection", "close")
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)
        self.wfile.flush()

    def _read_body(self) -> bytes | None:
        """Read the request's body; answer a malformed one here and return None."""
        try:
            return self._body()
        except BadRequest as bad:
            self.close_connection = True
            self._send(Reply(bad.status, str(bad).encode()), content_type="text/plain")
            return None

    def _body(self) -> bytes:
        if "chunked" in self.headers.get("Transfer-Encoding", "").lower():
            return self._chunked_body()
        length = self.headers.get("Content-Length", "0")
        if not length.isascii() or not length.isdigit():
            raise BadRequest(400, "bad Content-Length")
        if int(length) > _MAX_REQUEST_BYTES:
            raise BadRequest(413, "the request is too large")
        return self._exactly(int(length))

    def _chunked_body(self) -> bytes:
        """Read a chunked body, which http.server does not decode; govc sends no other kind."""
        parts: list[bytes] = []
        total = 0
        while True:
            size_text = self.rfile.readline(1024).split(b";")[0].strip()
            if not re.fullmatch(rb"[0-9a-fA-F]{1,8}", size_text):
                raise BadRequest(400, "bad chunk size")
            size = int(size_text, 16)
            if size == 0:
                break
            total += size
            if total > _MAX_REQUEST_BYTES:
                raise BadRequest(413, "the request is too large")
            parts.append(self._exactly(size))
            if self.rfile.readline(8) not in (b"\r\n", b"\n"):
                raise BadRequest(400, "bad chunk end")
        while self.rfile.readline(8192) not in (b"\r\n", b"\n", b""):
            pass  # trailers
        return b"".join(parts)

    def _exactly(self, count: int) -> bytes:
        data = self.rfile.read(count)
        if len(data) != count:
            raise BadRequest(400, "the request body is cut short")
        return data


def _loopback_address(host: str) -> str:
    """Return the address to listen on.

    Raises:
        UsageError: the host is not loopback: the simulated vCenter must not be reachable from outside.
    """
    if host == "localhost":
        return "127.0.0.1"
    try:
        loopback = ipaddress.ip_address(host).is_loopback
    except ValueError:
        loopback = False
    if not loopback:
        raise UsageError(
            "the simulated vCenter listens on loopback only", obj=host, hint="use 127.0.0.1, ::1 or localhost"
        )
    return host
