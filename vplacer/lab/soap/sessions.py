"""Sessions: who is logged in, what each has made (views, collectors, filters), and when they end."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from pyVmomi import vim

from vplacer.lab.soap.store import Entry
from vplacer.lab.soap.wire import typetable
from vplacer.lab.soap.wire.typetable import Ref

ANONYMOUS = frozenset({"System.Anonymous"})
READ_ONLY = frozenset({"System.Anonymous", "System.View", "System.Read"})
"""The privileges of vSphere's role "Read-only"."""
ALL_PRIVILEGES = READ_ONLY | {
    "Datastore.AllocateSpace",
    "Global.Licenses",
    "Global.LogEvent",
    "Global.ServiceManagers",
    "Host.Config.PciPassthru",
    "Host.Config.Settings",
    "Host.Inventory.EditCluster",
    "Network.Assign",
    "Resource.AssignVMToPool",
    "Resource.ColdMigrate",
    "Resource.HotMigrate",
    "Sessions.TerminateSession",
    "Sessions.ValidateSession",
    "VirtualMachine.Config.AddRemoveDevice",
    "VirtualMachine.Config.AdvancedConfig",
    "VirtualMachine.Config.CPUCount",
    "VirtualMachine.Config.EditDevice",
    "VirtualMachine.Config.Memory",
    "VirtualMachine.Config.Resource",
    "VirtualMachine.Config.Settings",
    "VirtualMachine.Config.UpgradeVirtualHardware",
    "VirtualMachine.Interact.PowerOff",
    "VirtualMachine.Interact.PowerOn",
    "VirtualMachine.Inventory.CreateFromExisting",
    "VirtualMachine.Inventory.Delete",
    "VirtualMachine.Provisioning.DeployTemplate",
}
"""Those that methods and tools of this kind ask for by name: what an administrator is said to hold."""


@dataclass(slots=True)
class Session:
    """One session. ``privileges`` None = all (the role Administrator)."""

    cookie: str
    key: str
    user: str
    privileges: frozenset[str] | None
    login_time: datetime
    last_active: datetime
    new_id: Callable[[], str]
    calls: int = 0
    ended: bool = False
    objects: dict[str, Entry] = field(default_factory=dict)
    pages: dict[str, Any] = field(default_factory=dict)

    @property
    def is_anonymous(self) -> bool:
        """Whether nobody has logged in."""
        return not self.cookie

    def may(self, privilege: str | None) -> bool:
        """Whether the account holds a privilege (None = no privilege is asked for)."""
        return privilege is None or self.privileges is None or privilege in self.privileges

    def new_ref(self, cls: Any) -> Ref:
        """Make a reference for an object that lives in this session only."""
        return cls(f"session[{self.key}]{self.new_id()}")

    def user_session(self) -> vim.UserSession:
        """Describe the session as the API does."""
        return vim.UserSession(
            key=self.key,
            userName=self.user,
            fullName=self.user,
            loginTime=self.login_time,
            lastActiveTime=self.last_active,
            locale="en",
            messageLocale="en",
            extensionSession=False,
            ipAddress="127.0.0.1",
            callCount=self.calls,
        )


class Sessions:
    """All sessions of a server. Thread-safe.

    Args:
        clock: tells the time, with zone.
        new_id: makes ids; ids of sessions are secrets, so they must not be guessable outside tests.
        timeout_s: seconds without a call after which a session ends (vCenter's default is 1800).
    """

    def __init__(self, clock: Callable[[], datetime], new_id: Callable[[], str], timeout_s: float) -> None:
        self._clock = clock
        self._new_id = new_id
        self.timeout_s = timeout_s
        self._by_cookie: dict[str, Session] = {}
        self._lock = threading.Lock()

    def login(self, user: str, privileges: frozenset[str] | None) -> Session:
        """Start a session."""
        session = self._make(user, privileges, self._new_id(), self._new_id())
        with self._lock:
            self._by_cookie[session.cookie] = session
        return session

    def anonymous(self) -> Session:
        """Return a stand-in for a request without a session."""
        return self._make("", ANONYMOUS, "", "")

    def find(self, cookie: str | None) -> Session | None:
        """Return the live session of a cookie and count a call, or None; one idle too long ends here."""
        with self._lock:
            session = self._by_cookie.get(cookie or "")
            if session is None:
                return None
            now = self._clock()
            if now - session.last_active > timedelta(seconds=self.timeout_s):
                self._end(session)
                return None
            session.last_active = now
            session.calls += 1
            return session

    def live(self) -> list[Session]:
        """List the sessions that have not ended."""
        with self._lock:
            return list(self._by_cookie.values())

    def end(self, session: Session) -> None:
        """End a session: its objects are gone, its waits must stop."""
        with self._lock:
            self._end(session)

    def _end(self, session: Session) -> None:
        session.ended = True
        session.objects.clear()
        session.pages.clear()
        self._by_cookie.pop(session.cookie, None)

    def _make(self, user: str, privileges: frozenset[str] | None, cookie: str, key: str) -> Session:
        now = self._clock()
        return Session(cookie, key, user, privileges, now, now, self._new_id)


def required_privilege(info: typetable.Info) -> str:
    """Return the privilege that reading a property takes; System.Read where the table names none."""
    return info.privId or "System.Read"
