"""`LabServer`: a simulated vCenter, ready for clients."""

from __future__ import annotations

import secrets
import tempfile
import threading
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from datetime import datetime
from pathlib import Path
from types import TracebackType
from typing import Self

from vplacer.inventory.site import Site
from vplacer.lab.model.clock import VirtualClock
from vplacer.lab.model.machine import Machine, MachineOptions
from vplacer.lab.model.state import seed_state
from vplacer.lab.soap.call_log import CallLog
from vplacer.lab.soap.certs import make_certificates
from vplacer.lab.soap.dispatch import Dispatcher
from vplacer.lab.soap.faults import FaultPlan, FaultRule
from vplacer.lab.soap.http import SoapServer
from vplacer.lab.soap.rest import TagService
from vplacer.lab.soap.sessions import READ_ONLY
from vplacer.lab.soap.ticker import Ticker
from vplacer.lab.soap.vcenter import Account, ServedSite, Settings, VCenter, random_id, utc_now
from vplacer.lab.soap.views.site import live_site
from vplacer.lab.soap.wire import versions

DEFAULT_USER = "administrator@vsphere.local"
_GRACE_S = 5.0
_POLL_S = 0.02


class LabServer:
    """A simulated vCenter behind SOAP over HTTPS on loopback. A context manager, or `start` and `stop`.

    Args:
        site: what is served: a loaded inventory YAML or snapshot, or a store built by hand.
        api_version: newest API version served; None = the site's own.
        host: where to listen: 127.0.0.1, ::1 or localhost.
        port: 0 = any free port.
        username: who may log in.
        password: None = a random one, in `password`.
        read_only: the account has vSphere's role Read-only.
        privileges: the account has exactly these privileges; None = all, unless `read_only`.
        names: further names or addresses for the server's certificate.
        tls: False = plain HTTP.
        faults: what goes wrong, see `FaultRule`; more can be added to `faults` while it runs.
        session_timeout_s: idle seconds after which a session ends.
        page_size: most objects in a page; None = as the client asks.
        bad_path_is_fault: False = answer wrong paths in missingSet, as vcsim does.
        clock: the time the server tells and sessions live by; None = for a `Site` the moment at which the
            inventory was taken, passing only while something is under way; the real time for a store
            built by hand.
        speed: seconds that pass for the simulated vCenter in one real second.
        clock_runs: for a `Site`, the server's time begins now and always passes.
        options: how the simulated vCenter behaves, such as how long its tasks take.
        new_id: makes ids of sessions, views and filters; random unless a test wants them fixed.

    Raises:
        UsageError: unknown API version, host not loopback, port taken.
    """

    def __init__(
        self,
        site: Site | ServedSite,
        *,
        api_version: str | None = None,
        host: str = "127.0.0.1",
        port: int = 0,
        username: str = DEFAULT_USER,
        password: str | None = None,
        read_only: bool = False,
        privileges: Collection[str] | None = None,
        names: Sequence[str] = (),
        tls: bool = True,
        faults: Iterable[FaultRule] = (),
        session_timeout_s: float = 1800.0,
        page_size: int | None = None,
        bad_path_is_fault: bool = True,
        clock: Callable[[], datetime] | None = None,
        speed: float = 1.0,
        clock_runs: bool = False,
        options: MachineOptions | None = None,
        new_id: Callable[[], str] = random_id,
    ) -> None:
        self.host = host
        self.username = username
        self.password = secrets.token_urlsafe(12) if password is None else password
        self.machine: Machine | None = None
        """What carries out changes; None for a store built by hand."""
        self._ticker: Ticker | None = None
        if isinstance(site, Site):
            machine, ticker = _machine(site, speed, options or MachineOptions(), clock_runs=clock_runs)
            self.machine, self._ticker = machine, ticker
            clock = clock or machine.clock
            site = live_site(machine, ticker)
        held = READ_ONLY if read_only and privileges is None else privileges
        self.vcenter = VCenter(
            site,
            Account(username, self.password, None if held is None else frozenset(held)),
            Settings(
                api_version=api_version or str(site.about.apiVersion),
                # Clients are no faster where time is: an idle second is one of theirs.
                session_timeout_s=session_timeout_s * (speed if self.machine is not None else 1.0),
                page_size=page_size,
                bad_path_is_fault=bad_path_is_fault,
                clock=clock or utc_now,
                new_id=new_id,
            ),
        )
        self.faults = FaultPlan(faults)
        self.calls: Counter[str] = Counter()
        """How often each method was called, by wire name."""
        self.log = CallLog()
        """The calls themselves."""
        self._tls = tls
        self._port = port
        self._names = tuple(names)
        self._server: SoapServer | None = None
        self._thread: threading.Thread | None = None
        self._folder: tempfile.TemporaryDirectory[str] | None = None

    @property
    def port(self) -> int:
        """The port in use; the one asked for while not running."""
        return self._port if self._server is None else self._server.port

    @property
    def url(self) -> str:
        """Address of the service, such as ``https://127.0.0.1:40123/sdk``."""
        name = f"[{self.host}]" if ":" in self.host else self.host
        return f"{'https' if self._tls else 'http'}://{name}:{self.port}/sdk"

    @property
    def ca_file(self) -> Path:
        """PEM file of the CA that clients verify the server with; exists while it runs.

        Raises:
            RuntimeError: not running, or without TLS.
        """
        if self._folder is None:
            raise RuntimeError("the server does not run with TLS")
        return Path(self._folder.name) / "ca.pem"

    def start(self) -> Self:
        """Listen and answer in threads of its own."""
        if self._server is not None:
            raise RuntimeError("the server runs already")
        context = None
        if self._tls:
            certificates = make_certificates(self._names)
            context = certificates.context
            self._folder = tempfile.TemporaryDirectory(prefix="vplacer-lab-")
            self.ca_file.write_bytes(certificates.ca_pem)
        dispatcher = Dispatcher(self.vcenter, self.faults, self.calls, self.log)
        vcenter = self.vcenter
        rest = TagService(
            vcenter.account, vcenter.site.tags, vcenter.settings.new_id, denied=vcenter.site.tags_denied
        )
        version_file = versions.version_file(self.vcenter.settings.api_version)
        try:
            self._server = SoapServer(self.host, self._port, context, dispatcher, rest, version_file)
        except BaseException:
            self._remove_folder()
            raise
        self._thread = threading.Thread(
            target=self._server.serve_forever, args=(_POLL_S,), name="vplacer-lab", daemon=True
        )
        self._thread.start()
        if self._ticker is not None:
            self._ticker.start()
        return self

    def stop(self) -> None:
        """Stop: no new connections, waits end, requests in work are answered, connections close."""
        server, self._server = self._server, None
        if server is None or self._thread is None:
            return
        self._port = server.port
        if self._ticker is not None:
            self._ticker.stop()
        server.shutdown()
        self._thread.join()
        self.vcenter.updates.stop()
        server.finish_requests(_GRACE_S)
        server.server_close()
        self._remove_folder()

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def _remove_folder(self) -> None:
        if self._folder is not None:
            self._folder.cleanup()
            self._folder = None


def _machine(
    site: Site, speed: float, options: MachineOptions, *, clock_runs: bool
) -> tuple[Machine, Ticker]:
    clock = VirtualClock(utc_now()) if clock_runs else VirtualClock.at(site.inventory.taken_at)
    machine = Machine(seed_state(site), site.overlays, clock=clock, options=options)
    return machine, Ticker(machine, speed, always=clock_runs)
