"""A session with one vCenter: connect, check whom we talk to, log in, call, log out.

Order matters for safety: certificate, API version and kind of server are checked before the user name
and password leave this machine.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self, TypeVar

from vplacer.errors import AnswerLost, ConnectionFailed, LoginFailed, SessionLost, VplacerError, VSphereError
from vplacer.vsphere import faults, versions
from vplacer.vsphere.address import Address, Proxy
from vplacer.vsphere.credentials import Credentials
from vplacer.vsphere.parse import BrokenAnswer, SoapFault
from vplacer.vsphere.raw import Data, MoRef, Notes, Value
from vplacer.vsphere.repeatable import REPEATABLE
from vplacer.vsphere.soap import Codec
from vplacer.vsphere.statuses import bad_status, not_a_vcenter
from vplacer.vsphere.tls import make_context
from vplacer.vsphere.transport import Transport

T = TypeVar("T")

_PATH = "/sdk"
_SERVICE_INSTANCE = MoRef("ServiceInstance", "ServiceInstance")


class SessionEnded(Exception):
    """The server answered NotAuthenticated: it refused the call without doing any of it."""


@dataclass(frozen=True, slots=True)
class ConnectOptions:
    """How to reach a vCenter.

    Args:
        address: where it is.
        ca_file: PEM file to verify its certificate with, instead of the system's authorities.
        ca_pem: the same as text.
        insecure: do not verify. Whoever sets it warns.
        proxy: HTTP proxy to tunnel through, see `proxy_for`.
        connect_timeout_s: longest wait for a connection.
        read_timeout_s: longest silence while waiting for an answer.
        api_version: speak exactly this version (a recorded session has only one).
    """

    address: Address
    ca_file: Path | None = None
    ca_pem: str | None = None
    insecure: bool = False
    proxy: Proxy | None = None
    connect_timeout_s: float = 15.0
    read_timeout_s: float = 120.0
    api_version: str | None = None


@dataclass(frozen=True, slots=True)
class ServerAbout:
    """Who answered (AboutInfo). ``api_version`` is the negotiated one."""

    name: str
    full_name: str
    version: str
    build: str
    instance_uuid: str
    api_version: str


class Session:
    """A logged-in session; use it as a context manager, so that it is always logged out.

    It is not kept alive: while it is read from it is never idle for long, and one that ended is renewed.
    Calls may come from several threads, except while a session is recorded or replayed.
    """

    def __init__(self, options: ConnectOptions, credentials: Credentials) -> None:
        self._options = options
        self._credentials = credentials
        self._address = options.address
        context = make_context(ca_file=options.ca_file, ca_pem=options.ca_pem, insecure=options.insecure)
        self._transport = Transport(
            options.address,
            context,
            ca_file=options.ca_file,
            proxy=options.proxy,
            connect_timeout_s=options.connect_timeout_s,
            read_timeout_s=options.read_timeout_s,
        )
        self._lock = threading.Lock()
        self._cookie = ""
        self._logins = 0
        self._logged_in = False
        self.user = credentials.user
        self.notes = Notes()
        self.content: Data
        self.about: ServerAbout
        self._codec: Codec

    @classmethod
    def connect(cls, options: ConnectOptions, credentials: Credentials) -> Self:
        """Connect and log in.

        Raises:
            ConnectionFailed, CertificateRejected, ApiTooOld, LoginFailed: see `vplacer.errors`.
        """
        session = cls(options, credentials)
        try:
            session._negotiate()
            session._identify()
            session._login()
        except BaseException:
            session._transport.close()
            raise
        return session

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Log out and close the connections. Never fails: a session that is gone is gone."""
        manager = self.content.ref("sessionManager")
        if self._logged_in and manager is not None:
            self._logged_in = False
            with contextlib.suppress(VplacerError, SoapFault):
                self._invoke(manager, "Logout", {})
        self._transport.close()

    @property
    def host(self) -> str:
        """The vCenter as the user named it."""
        return str(self._address)

    @property
    def transport(self) -> Transport:
        """The HTTP side, for services of the same vCenter beside SOAP."""
        return self._transport

    @property
    def credentials(self) -> Credentials:
        """What the session was opened with."""
        return self._credentials

    def service(self, name: str) -> MoRef | None:
        """Return a manager from the service content ("propertyCollector"); None = it has none."""
        return self.content.ref(name)

    def call(
        self,
        ref: MoRef,
        method: str,
        arguments: Mapping[str, object] | None = None,
        *,
        what: str | None = None,
        obj: str | None = None,
    ) -> Value:
        """Invoke a method by its API name and return its result.

        An ended session is renewed once and the call made again: the server had refused it whole.

        Args:
            ref: the object. It must outlive the session: no view, no token.
            method: API name ("QueryConfigTarget").
            arguments: by API parameter name, see `Codec.encode`.
            what: what is being done, for the error message.
            obj: the object as the user knows it, for the error message.

        Raises:
            VSphereError: any failure, see `vplacer.errors`.
        """
        return self.run(lambda: self.call_once(ref, method, arguments, what=what, obj=obj))

    def call_once(
        self,
        ref: MoRef,
        method: str,
        arguments: Mapping[str, object] | None = None,
        *,
        what: str | None = None,
        obj: str | None = None,
    ) -> Value:
        """Invoke a method inside `run`; an ended session is raised as `SessionEnded`."""
        try:
            return self._invoke(ref, method, arguments or {})
        except SoapFault as fault:
            if faults.is_session_end(fault.fault):
                raise SessionEnded from None
            raise faults.to_error(
                fault.fault, fault.message, what=what or f"{method} failed", obj=obj or self.host
            ) from None

    def call_raw(self, ref: MoRef, method: str, arguments: Mapping[str, object]) -> Value:
        """Invoke a method inside `run` and raise its faults as `SoapFault`."""
        return self._invoke(ref, method, arguments)

    def change(
        self,
        ref: MoRef,
        method: str,
        arguments: Mapping[str, object] | None = None,
        *,
        operation: str | None,
        what: str,
        obj: str,
    ) -> Value:
        """Invoke a method that changes something, and return its result.

        It is sent once. Only where the server refused it whole because the session had ended is the
        session renewed and the call made again, once.

        Args:
            ref: the object.
            method: API name ("ReconfigVM_Task").
            arguments: by API parameter name, see `Codec.encode`.
            operation: id that the server writes to its logs with the call.
            what: what failed, for the error message.
            obj: the object as the user knows it, for the error message.

        Raises:
            AnswerLost: nobody knows whether the server did it.
            ConnectionFailed: nothing was sent, or the server refused to take it.
            ApiTooOld: the arguments hold something newer than the API that is spoken.
            VSphereError: any other failure, see `vplacer.errors`.
        """

        def send() -> Value:
            try:
                return self._invoke_once(ref, method, arguments or {}, operation)
            except AnswerLost as lost:
                raise faults.lost_at(lost, obj, self.host) from None
            except SoapFault as fault:
                if faults.is_session_end(fault.fault):
                    raise SessionEnded from None
                raise faults.to_error(fault.fault, fault.message, what=what, obj=obj) from None

        return self.run(send)

    def drop(self, ref: MoRef, method: str) -> None:
        """Destroy an object of the session; where that fails the server drops it with the session."""
        with contextlib.suppress(VplacerError, SessionEnded):
            self.call_once(ref, method)

    def run(self, operation: Callable[[], T]) -> T:
        """Run an operation; if the session ends under it, log in again once and run it from its start.

        Args:
            operation: reads only, or consists of one call.

        Raises:
            SessionLost: the session ended a second time, or could not be renewed.
        """
        started_at = self._logins
        try:
            return operation()
        except SessionEnded:
            self._renew(started_at)
        try:
            return operation()
        except SessionEnded:
            raise SessionLost(
                "the vCenter ended the session twice in a row",
                obj=self.host,
                hint="look for who terminates sessions, or a clock that jumps, and run the command again",
            ) from None

    def _renew(self, ended: int) -> None:
        """Log in again, unless another thread already has since login number ``ended``."""
        with self._lock:
            if self._logins != ended:
                return
            try:
                self._login()
            except LoginFailed as refused:
                raise faults.not_renewed(refused) from None

    def _negotiate(self) -> None:
        reply = self._transport.request("GET", f"{_PATH}/vimServiceVersions.xml", repeatable=True)
        offered = versions.offered_versions(reply.body) if reply.status == 200 else None
        if offered is None:
            raise not_a_vcenter(reply, f"{_PATH}/vimServiceVersions.xml", self.host)
        version = versions.choose(offered, server=self.host, pinned=self._options.api_version)
        self._api_version = version.id
        self._codec = Codec(version.binding, self.notes)

    def _identify(self) -> None:
        content = self.call_once(_SERVICE_INSTANCE, "RetrieveServiceContent")
        about = content.data("about") if isinstance(content, Data) else None
        if about is None:
            raise ConnectionFailed(
                "the server answers, but not as a vCenter does", obj=self.host, hint="check the address"
            )
        self.content = content
        if about.text("apiType") == "HostAgent":
            raise ConnectionFailed(
                "this is an ESXi host, not a vCenter",
                obj=self.host,
                why=about.text("fullName"),
                hint="give the vCenter that manages the host; clusters and rules exist only there",
            )
        self.about = ServerAbout(
            name=about.text("name") or "",
            full_name=about.text("fullName") or "",
            version=about.text("version") or "",
            build=about.text("build") or "",
            instance_uuid=about.text("instanceUuid") or "",
            api_version=self._api_version,
        )

    def _login(self) -> None:
        """Start a session. Errors come without the frames that hold the password in the clear."""
        manager = self.content.ref("sessionManager")
        if manager is None:
            raise ConnectionFailed("the server offers no login", obj=self.host, hint="check the address")
        credentials = self._credentials
        failure: VSphereError
        try:
            login = self._invoke(
                manager,
                "Login",
                {"userName": credentials.user, "password": credentials.password.reveal()},
            )
        except SoapFault as fault:
            failure = faults.to_login_error(
                fault.fault,
                fault.message,
                host=self.host,
                user=credentials.user,
                password_from=credentials.password_from,
            )
        except VSphereError as error:
            failure = error.with_traceback(None)
        else:
            self._logins += 1
            self._logged_in = True
            if isinstance(login, Data):
                self.user = login.text("userName") or credentials.user
            return
        raise failure from None

    def _invoke(self, ref: MoRef, method: str, arguments: Mapping[str, object]) -> Value:
        """Send one call and return its result; faults are raised as they came."""
        request = self._codec.encode(ref, method, arguments)
        # A login makes a session of its own. Only its answer names the session: a server also hands a
        # cookie to whoever comes without one, which another thread may be doing just now.
        headers = self._headers(with_cookie=method != "Login")
        reply = self._transport.request(
            "POST", _PATH, body=request, headers=headers, repeatable=method in REPEATABLE
        )
        if method == "Login" and (cookie := reply.headers.get("set-cookie")):
            self._cookie = cookie.partition(";")[0]
        if reply.status not in (200, 500):
            raise bad_status(reply, self.host)
        try:
            return self._codec.decode(method, reply.body)
        except BrokenAnswer as broken:
            raise ConnectionFailed(
                f"the answer to {method} cannot be read",
                obj=self.host,
                why=str(broken),
                hint="it was cut off, or something in between answered; try again",
            ) from None

    def _invoke_once(
        self, ref: MoRef, method: str, arguments: Mapping[str, object], operation: str | None
    ) -> Value:
        """Send one changing call; what leaves it open whether it was carried out is an `AnswerLost`."""
        request = self._codec.encode(ref, method, arguments, operation)
        reply = self._transport.send_once(_PATH, body=request, headers=self._headers(with_cookie=True))
        if 400 <= reply.status < 500:
            raise bad_status(reply, self.host)
        if reply.status not in (200, 500):
            raise self._transport.answer_lost(f"HTTP {reply.status} {reply.reason}".rstrip())
        try:
            return self._codec.decode(method, reply.body)
        except BrokenAnswer as broken:
            raise self._transport.answer_lost(f"the answer to {method} cannot be read: {broken}") from None

    def _headers(self, *, with_cookie: bool) -> dict[str, str]:
        headers = {
            "Content-Type": "text/xml; charset=UTF-8",
            "SOAPAction": self._codec.soap_action,
        }
        if self._cookie and with_cookie:
            headers["Cookie"] = self._cookie
        return headers
