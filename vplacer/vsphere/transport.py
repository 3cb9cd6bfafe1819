"""HTTP to one vCenter: pooled connections, time-outs on every call, every failure said in words.

pyVmomi's own transport is not used: its version probe has no time-out, it turns verification off on
loopback, and it leaves socket, TLS, HTTP and XML errors to the caller. Connections are looked up as
``http.client.HTTPSConnection`` at call time, which is the name that vcrpy replaces.
"""

from __future__ import annotations

import base64
import errno
import gzip
import http.client
import socket
import ssl
import threading
import time
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from vplacer import __version__
from vplacer.errors import AnswerLost, ConnectionFailed, VSphereError
from vplacer.vsphere.address import Address, Proxy
from vplacer.vsphere.tls import certificate_error

_IDLE_LIMIT_S = 50.0
_POOL_SIZE = 16
_FAILURES = (OSError, http.client.HTTPException, EOFError, UnicodeError, zlib.error)


@dataclass(frozen=True, slots=True)
class Reply:
    """An HTTP answer, its body decompressed."""

    status: int
    reason: str
    body: bytes
    headers: Mapping[str, str]


class Transport:
    """Sends requests to one address. Usable from several threads.

    Args:
        address: the vCenter.
        context: TLS settings.
        ca_file: named in certificate errors.
        proxy: an HTTP proxy to tunnel through.
        connect_timeout_s: for name, TCP and TLS together, per step.
        read_timeout_s: the longest silence while an answer is awaited or read.
        clock: monotonic seconds, for the age of kept connections.
    """

    def __init__(
        self,
        address: Address,
        context: ssl.SSLContext,
        *,
        ca_file: Path | None = None,
        proxy: Proxy | None = None,
        connect_timeout_s: float = 15.0,
        read_timeout_s: float = 120.0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.address = address
        self._context = context
        self._ca_file = ca_file
        self._proxy = proxy
        self._connect_timeout_s = connect_timeout_s
        self._read_timeout_s = read_timeout_s
        self._clock = clock
        self._lock = threading.Lock()
        self._idle: list[tuple[http.client.HTTPSConnection, float]] = []

    def request(
        self,
        method: str,
        path: str,
        *,
        body: bytes | None = None,
        headers: Mapping[str, str] | None = None,
        repeatable: bool,
    ) -> Reply:
        """Send one request and return the answer, whatever its status.

        Args:
            method: GET or POST.
            path: absolute path.
            body: the body to send.
            headers: more headers.
            repeatable: whether the request may be sent a second time when a kept connection turns
                out to be closed. A request that changes something is never sent twice.

        Raises:
            ConnectionFailed: no answer, or not a whole one.
            CertificateRejected: the certificate does not verify.
        """
        sent = self._headers(headers or {})
        connection, kept = self._take()
        try:
            if kept and repeatable:
                try:
                    return self._exchange(connection, method, path, body, sent)
                except (http.client.RemoteDisconnected, ConnectionError, ssl.SSLEOFError):
                    connection.close()
                    connection = self._open()
            return self._exchange(connection, method, path, body, sent)
        except _FAILURES as error:
            connection.close()
            raise self._translated(error) from None
        except BaseException:
            connection.close()
            raise

    def send_once(self, path: str, *, body: bytes, headers: Mapping[str, str]) -> Reply:
        """Post a request that changes something, over a connection of its own; never sent twice.

        A kept connection may have been closed at the other end, and whoever sends on one cannot tell that
        from a server that dies while it works.

        Raises:
            ConnectionFailed, CertificateRejected: nothing was sent.
            AnswerLost: sent, or part of it was, and no whole answer came.
        """
        connection = self._open()
        try:
            self._connect(connection)
        except _FAILURES as error:
            connection.close()
            raise self._translated(error) from None
        except BaseException:
            connection.close()
            raise
        try:
            return self._exchange(connection, "POST", path, body, self._headers(headers))
        except _FAILURES as error:
            connection.close()
            what, why, _ = _explain(error, self.address, self._proxy)
            raise self.answer_lost(f"{what}: {why}" if why else what) from None
        except BaseException:
            connection.close()
            raise

    def answer_lost(self, why: str) -> AnswerLost:
        """Return the error for a change whose answer did not come, or cannot be read."""
        return AnswerLost(
            "a change was sent and no answer came: it may have been carried out or not",
            obj=str(self.address),
            why=why,
            hint="look at the object and its recent tasks before anything is sent again",
        )

    def close(self) -> None:
        """Close the kept connections."""
        with self._lock:
            idle, self._idle = self._idle, []
        for connection, _ in idle:
            connection.close()

    def _exchange(
        self,
        connection: http.client.HTTPSConnection,
        method: str,
        path: str,
        body: bytes | None,
        headers: Mapping[str, str],
    ) -> Reply:
        self._connect(connection)
        connection.request(method, path, body=body, headers=dict(headers))
        response = connection.getresponse()
        content = response.read()
        if response.getheader("Content-Encoding", "identity").lower() == "gzip":
            content = gzip.decompress(content)
        received = {name.lower(): value for name, value in response.getheaders()}
        self._give_back(connection, received)
        return Reply(response.status, response.reason or "", content, received)

    def _connect(self, connection: http.client.HTTPSConnection) -> None:
        if connection.sock is None:
            connection.connect()
            connection.timeout = self._read_timeout_s
            if connection.sock is not None:
                connection.sock.settimeout(self._read_timeout_s)

    def _headers(self, more: Mapping[str, str]) -> dict[str, str]:
        return {"Accept-Encoding": "gzip", "User-Agent": f"vplacer/{__version__}", **more}

    def _take(self) -> tuple[http.client.HTTPSConnection, bool]:
        """Return a connection and whether it was used before."""
        now = self._clock()
        stale: list[http.client.HTTPSConnection] = []
        found = None
        with self._lock:
            while self._idle and found is None:
                connection, since = self._idle.pop()
                if now - since < _IDLE_LIMIT_S:
                    found = connection
                else:
                    stale.append(connection)
        for connection in stale:
            connection.close()
        return (found, True) if found is not None else (self._open(), False)

    def _give_back(self, connection: http.client.HTTPSConnection, headers: Mapping[str, str]) -> None:
        if headers.get("connection", "").lower() != "close":
            with self._lock:
                if len(self._idle) < _POOL_SIZE:
                    self._idle.append((connection, self._clock()))
                    return
        connection.close()

    def _open(self) -> http.client.HTTPSConnection:
        """Return a new connection object; the network is touched at the first exchange."""
        target = self._proxy or self.address
        connection = http.client.HTTPSConnection(
            target.host, target.port, timeout=self._connect_timeout_s, context=self._context
        )
        if self._proxy is not None:
            headers = {}
            if self._proxy.authorization is not None:
                token = base64.b64encode(self._proxy.authorization.reveal().encode()).decode()
                headers["Proxy-Authorization"] = f"Basic {token}"
            connection.set_tunnel(self.address.host, self.address.port, headers)
        return connection

    def _translated(self, error: Exception) -> VSphereError:
        if isinstance(error, ssl.SSLCertVerificationError):
            return certificate_error(error, self.address, self._ca_file)
        what, why, hint = _explain(error, self.address, self._proxy)
        return ConnectionFailed(what, obj=str(self.address), why=why, hint=hint)


_PLAIN_HTTP_REASONS = {"WRONG_VERSION_NUMBER", "HTTP_REQUEST", "RECORD_LAYER_FAILURE", "UNKNOWN_PROTOCOL"}


def _explain(error: Exception, address: Address, proxy: Proxy | None) -> tuple[str, str | None, str]:
    """Return what happened, why, and what to do next."""
    way = f" through the proxy {proxy}" if proxy else ""
    if isinstance(error, socket.gaierror | UnicodeError):
        name = proxy.host if proxy else address.host
        why = error.strerror if isinstance(error, socket.gaierror) else "it is no valid name"
        return f"the name '{name}' is not known", why, "check the spelling and the DNS settings"
    if isinstance(error, ConnectionRefusedError):
        return (
            f"the connection was refused{way}",
            "nothing listens on that port",
            "check the address and the port, and that the vCenter is up",
        )
    if isinstance(error, TimeoutError):
        return (
            f"no answer in time{way}",
            None,
            "check the address, and the network and firewalls on the way",
        )
    if isinstance(error, ssl.SSLError):
        return _explain_tls(error)
    if isinstance(error, http.client.IncompleteRead | EOFError | gzip.BadGzipFile | zlib.error):
        return "the answer was cut off", None, "try again; if it persists, look for a proxy in between"
    if isinstance(error, http.client.RemoteDisconnected | ConnectionError):
        return f"the connection was closed before an answer came{way}", None, "try again"
    if isinstance(error, http.client.HTTPException):
        return (
            "the server does not speak HTTP as a vCenter does",
            type(error).__name__,
            "check the address and the port (usually 443)",
        )
    if proxy and isinstance(error, OSError) and "Tunnel connection failed" in str(error):
        return (
            f"the proxy {proxy} does not let the connection through",
            str(error),
            "add the vCenter to NO_PROXY if it is reached directly",
        )
    if isinstance(error, OSError) and error.errno in (errno.EHOSTUNREACH, errno.ENETUNREACH):
        return f"there is no route{way}", error.strerror, "check the address and the network"
    why = error.strerror if isinstance(error, OSError) and error.strerror else type(error).__name__
    return f"the connection failed{way}", why, "check the address and the network"


def _explain_tls(error: ssl.SSLError) -> tuple[str, str | None, str]:
    if error.reason in _PLAIN_HTTP_REASONS:
        return (
            "the server does not answer with TLS on this port",
            error.reason,
            "check the port: a vCenter answers https, usually on 443",
        )
    if isinstance(error, ssl.SSLEOFError | ssl.SSLZeroReturnError):
        return "the connection was closed during the TLS handshake", None, "check the address and the port"
    return (
        "the TLS handshake failed",
        error.reason or str(error),
        "check that both sides share a TLS version and cipher",
    )
