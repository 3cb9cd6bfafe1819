"""Tags: the one part of the inventory that vCenter tells over REST only.

Read from ``/api`` (vCenter 7.0 U2 and later), else from the older ``/rest``; a server that has neither
has no tags. A tag is written ``category:name``.
"""

from __future__ import annotations

import base64
import contextlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from vplacer.errors import ConnectionFailed, PermissionMissing, VSphereError
from vplacer.vsphere.credentials import Credentials
from vplacer.vsphere.transport import Transport

_TYPES = frozenset({"ClusterComputeResource", "HostSystem", "VirtualMachine"})
_BATCH = 500
_SESSION_HEADER = "vmware-api-session-id"


@dataclass(frozen=True, slots=True)
class TagReading:
    """Tags by moid, sorted; or why there are none."""

    tags: dict[str, tuple[str, ...]]
    note: str | None = None


@dataclass(frozen=True, slots=True)
class _Dialect:
    """How one of the two REST interfaces spells the calls."""

    session: str
    tagging: str
    one: str
    action: str
    wrapped: bool


_DIALECTS = (
    _Dialect("/api/session", "/api/cis/tagging", "{}", "?action=", False),
    _Dialect("/rest/com/vmware/cis/session", "/rest/com/vmware/cis/tagging", "id:{}", "?~action=", True),
)


class _NotServed(Exception):
    """The server does not have this interface."""


def read_tags(transport: Transport, credentials: Credentials) -> TagReading:
    """Return the tags of clusters, hosts and VMs.

    Args:
        transport: the connection to the vCenter.
        credentials: those of the SOAP session; REST has sessions of its own.

    Raises:
        PermissionMissing: the account may not read tags.
        VSphereError: anything else that fails.
    """
    for dialect in _DIALECTS:
        client = _Client(transport, dialect)
        try:
            client.login(credentials)
        except _NotServed:
            continue
        try:
            return TagReading(_read(client))
        except _NotServed:
            continue
        except (AttributeError, KeyError, TypeError):
            raise ConnectionFailed(
                "tags cannot be read", obj=str(transport.address), why="the answer has an unknown form"
            ) from None
        finally:
            client.logout()
    return TagReading({}, "the server has no tagging service: no tags were read")


def _read(client: _Client) -> dict[str, tuple[str, ...]]:
    ids = sorted(client.get("/tag"))
    attached: dict[str, set[str]] = {}
    for start in range(0, len(ids), _BATCH):
        batch = ids[start : start + _BATCH]
        for entry in client.action("/tag-association", "list-attached-objects-on-tags", {"tag_ids": batch}):
            for target in entry.get("object_ids") or ():
                if target.get("type") in _TYPES:
                    attached.setdefault(entry["tag_id"], set()).add(target["id"])
    names = _names(client, sorted(attached))
    found: dict[str, set[str]] = {}
    for tag, moids in attached.items():
        for moid in moids:
            found.setdefault(moid, set()).add(names[tag])
    return {moid: tuple(sorted(tags)) for moid, tags in sorted(found.items())}


def _names(client: _Client, tags: Sequence[str]) -> dict[str, str]:
    """Return ``category:name`` of each tag; only of those in use, since each is a call."""
    models = {tag: client.get_one("/tag", tag) for tag in tags}
    categories = {
        identifier: client.get_one("/category", identifier).get("name", "")
        for identifier in sorted({model.get("category_id", "") for model in models.values()})
        if identifier
    }
    return {
        tag: f"{categories.get(model.get('category_id', ''), '')}:{model.get('name', '')}"
        for tag, model in models.items()
    }


def _basic(credentials: Credentials) -> str:
    pair = f"{credentials.user}:{credentials.password.reveal()}".encode()
    return f"Basic {base64.b64encode(pair).decode()}"


class _Client:
    """One REST session in one dialect."""

    def __init__(self, transport: Transport, dialect: _Dialect) -> None:
        self._transport = transport
        self._dialect = dialect
        self._token: str | None = None

    def login(self, credentials: Credentials) -> None:
        token = self._call("POST", self._dialect.session, {"Authorization": _basic(credentials)})
        if not isinstance(token, str):
            raise _NotServed
        self._token = token

    def logout(self) -> None:
        if self._token is not None:
            with contextlib.suppress(VSphereError, _NotServed):
                self._call("DELETE", self._dialect.session, self._headers())
            self._token = None

    def get(self, path: str) -> list[str]:
        listed: list[str] | None = self._call("GET", self._dialect.tagging + path, self._headers())
        return listed or []

    def get_one(self, path: str, identifier: str) -> dict[str, Any]:
        place = self._dialect.one.format(quote(identifier, safe=""))
        model: dict[str, Any] = self._call("GET", f"{self._dialect.tagging}{path}/{place}", self._headers())
        return model

    def action(self, path: str, name: str, body: object) -> list[dict[str, Any]]:
        headers = {**self._headers(), "Content-Type": "application/json"}
        content = json.dumps(body).encode()
        place = f"{self._dialect.tagging}{path}{self._dialect.action}{name}"
        found: list[dict[str, Any]] | None = self._call("POST", place, headers, content)
        return found or []

    def _headers(self) -> dict[str, str]:
        return {_SESSION_HEADER: self._token or ""}

    def _call(self, method: str, path: str, headers: dict[str, str], body: bytes | None = None) -> Any:
        reply = self._transport.request(
            method, path, body=body, headers={"Accept": "application/json", **headers}, repeatable=True
        )
        obj = str(self._transport.address)
        if reply.status in (401, 403):
            raise PermissionMissing(
                "tags cannot be read", obj=obj, why=f"{path}: HTTP {reply.status} {reply.reason}".rstrip()
            )
        if reply.status in (404, 405, 501) or (reply.status == 400 and self._token is None):
            raise _NotServed
        if reply.status not in (200, 201, 204):
            raise ConnectionFailed(
                "tags cannot be read", obj=obj, why=f"{path}: HTTP {reply.status} {reply.reason}".rstrip()
            )
        if not reply.body:
            return None
        try:
            content = json.loads(reply.body)
        except ValueError:
            # A web page instead of JSON: some other service answers here.
            raise _NotServed from None
        return content["value"] if self._dialect.wrapped and isinstance(content, dict) else content
