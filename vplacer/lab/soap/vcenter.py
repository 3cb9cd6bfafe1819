"""The simulated vCenter as a service: the site, its managers, its sessions, its settings."""

from __future__ import annotations

import copy
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from pyVmomi import vim, vmodl

from vplacer.lab.soap.fragments import Fragments
from vplacer.lab.soap.live import EVENT_MANAGER, TASK_MANAGER, Live
from vplacer.lab.soap.retrieval import Retrieval
from vplacer.lab.soap.sessions import Sessions
from vplacer.lab.soap.store import Computed, Store
from vplacer.lab.soap.updates import Updates
from vplacer.lab.soap.views import events, tasks
from vplacer.lab.soap.wire import typetable, versions
from vplacer.lab.soap.wire.typetable import Ref


def utc_now() -> datetime:
    """Return the present time with its zone."""
    return datetime.now(UTC)


def random_id() -> str:
    """Return an id that cannot be guessed."""
    return str(uuid.uuid4())


@dataclass(frozen=True, slots=True)
class ServedSite:
    """An inventory ready to be served.

    Attributes:
        store: its objects.
        root_folder: the root of its tree.
        about: who it says it is.
        name: what its administrator called the vCenter; None = nothing.
        tags: objects with their tags, written ``category:name``.
        tags_denied: nobody may read the tags.
        live: what carries out writing calls; None = the site can only be read.
    """

    store: Store
    root_folder: vim.Folder
    about: vim.AboutInfo
    name: str | None = None
    tags: tuple[tuple[Ref, tuple[str, ...]], ...] = ()
    tags_denied: bool = False
    live: Live | None = None


@dataclass(frozen=True, slots=True)
class Account:
    """Who may log in. ``privileges`` None = all."""

    username: str
    password: str = field(repr=False)
    privileges: frozenset[str] | None = None


@dataclass(frozen=True, slots=True)
class Settings:
    """How the service behaves.

    Attributes:
        api_version: newest API version served, such as ``8.0.3.0``.
        session_timeout_s: idle seconds after which a session ends.
        page_size: most objects in an answer of RetrievePropertiesEx; None = as the client asks.
        bad_path_is_fault: a wrong path is a method fault (real servers) or goes into missingSet (vcsim).
        clock: the time the server tells and sessions live by.
        new_id: makes ids of sessions, views and filters.
    """

    api_version: str = "8.0.3.0"
    session_timeout_s: float = 1800.0
    page_size: int | None = None
    bad_path_is_fault: bool = True
    clock: Callable[[], datetime] = utc_now
    new_id: Callable[[], str] = random_id


_MANAGERS: tuple[tuple[str, Any, str], ...] = (
    ("propertyCollector", vmodl.query.PropertyCollector, "propertyCollector"),
    ("viewManager", vim.view.ViewManager, "ViewManager"),
    ("sessionManager", vim.SessionManager, "SessionManager"),
    ("authorizationManager", vim.AuthorizationManager, "AuthorizationManager"),
    ("licenseManager", vim.LicenseManager, "LicenseManager"),
    ("searchIndex", vim.SearchIndex, "SearchIndex"),
    ("taskManager", vim.TaskManager, typetable.moid(TASK_MANAGER)),
    ("eventManager", vim.event.EventManager, typetable.moid(EVENT_MANAGER)),
    ("serviceManager", vim.ServiceManager, "ServiceMgr"),
    ("setting", vim.option.OptionManager, "VpxSettings"),
    ("customFieldsManager", vim.CustomFieldsManager, "CustomFieldsManager"),
    ("customizationSpecManager", vim.CustomizationSpecManager, "CustomizationSpecManager"),
    ("extensionManager", vim.ExtensionManager, "ExtensionManager"),
    ("fileManager", vim.FileManager, "FileManager"),
    ("vmProvisioningChecker", vim.vm.check.ProvisioningChecker, "ProvChecker"),
    ("vmCompatibilityChecker", vim.vm.check.CompatibilityChecker, "CompatChecker"),
)
"""Members of ServiceContent: what clients look up without checking, so each must be there and resolve."""

INSTANCE = vim.ServiceInstance("ServiceInstance")


class VCenter:
    """All that methods work on. Adds the service's own objects to the site's store.

    Raises:
        UsageError: the API version is unknown.
    """

    def __init__(self, site: ServedSite, account: Account, settings: Settings) -> None:
        self.version = versions.served_version(settings.api_version)
        self.site = site
        self.store = site.store
        self.account = account
        self.settings = settings
        self.sessions = Sessions(settings.clock, settings.new_id, settings.session_timeout_s)
        fragments = Fragments(site.store, bad_path_is_fault=settings.bad_path_is_fault)
        self.retrieval = Retrieval(site.store, fragments, settings.page_size)
        self.updates = Updates(site.store, self.retrieval, fragments)
        self.managers: dict[str, Ref] = {name: cls(moid) for name, cls, moid in _MANAGERS}
        self.content = self._service_content()
        self._add_managers()

    def now(self) -> datetime:
        """Tell the service's time."""
        return self.settings.clock()

    def wake(self) -> None:
        """Make those who wait for updates look whether their session still lives."""
        with self.store.changed:
            self.store.changed.notify_all()

    def _service_content(self) -> vim.ServiceInstanceContent:
        about = copy.copy(self.site.about)
        about.apiVersion = self.settings.api_version
        return vim.ServiceInstanceContent(rootFolder=self.site.root_folder, about=about, **self.managers)

    def _add_managers(self) -> None:
        self.store.add(
            INSTANCE,
            {"content": self.content, "serverClock": Computed(self.now), "capability": _capability()},
        )
        for name, ref in self.managers.items():
            if self.store.find(ref) is None:
                self.store.add(ref, self._properties(name))

    def _properties(self, manager: str) -> dict[str, Any]:
        if manager == "sessionManager":
            return {
                "sessionList": Computed(self._session_list),
                # Unset here; each session has an object of its own in front of this one.
                "defaultLocale": "en",
                "messageLocaleList": ["en"],
                "supportedLocaleList": ["en"],
            }
        if manager == "setting":
            name = vim.option.OptionValue(key="VirtualCenter.InstanceName", value=self.site.name)
            return {"setting": [] if self.site.name is None else [name]}
        if manager == "licenseManager":
            none = vmodl.KeyAnyValue(key="expirationHours", value=0)
            return {"licenses": [], "evaluation": vim.LicenseManager.EvaluationInfo(properties=[none])}
        if manager == "taskManager":
            return {"recentTask": [], "description": tasks.description(), "maxCollector": 32}
        if manager == "eventManager":
            return {"description": events.description(), "maxCollector": 32}
        return {}

    def _session_list(self) -> typetable.Value:
        return typetable.array_of(vim.UserSession, [s.user_session() for s in self.sessions.live()])


def _capability() -> vim.Capability:
    return vim.Capability(provisioningSupported=True, multiHostSupported=True, userShellAccessSupported=True)
