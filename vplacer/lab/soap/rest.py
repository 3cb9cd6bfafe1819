"""The part of vCenter's REST API that SOAP has no counterpart for: tags.

Served as vCenter 7.0 U2 and later do, under ``/api``: a session by user name and password, tags,
categories, and what each tag is attached to (vSphere Automation API: cis/session, cis/tagging).
"""

from __future__ import annotations

import base64
import binascii
import hmac
import json
import threading
import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from email.message import Message
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

from vplacer.lab.soap.vcenter import Account
from vplacer.lab.soap.wire import typetable
from vplacer.lab.soap.wire.typetable import Ref

PREFIX = "/api/"
_SESSION = "/api/session"
_TAGGING = "/api/cis/tagging"
_SESSION_HEADER = "vmware-api-session-id"
_NAMESPACE = uuid.UUID("6f9a5d0e-3a0c-5e0c-9a55-7a1d3c1f0b11")


@dataclass(frozen=True, slots=True)
class RestReply:
    """A status and what is sent as JSON; None = no body."""

    status: int
    content: Any = None


class TagService:
    """Answers REST calls. Thread-safe.

    Args:
        account: who may log in.
        tagged: objects with their tags, written ``category:name``.
        new_id: makes session tokens.
    """

    def __init__(
        self,
        account: Account,
        tagged: Sequence[tuple[Ref, Sequence[str]]],
        new_id: Callable[[], str],
        *,
        denied: bool = False,
    ) -> None:
        self._denied = denied
        self._account = account
        self._new_id = new_id
        self._sessions: set[str] = set()
        self._lock = threading.Lock()
        self._attached: dict[str, list[Ref]] = {}
        for ref, tags in tagged:
            for tag in tags:
                self._attached.setdefault(tag, []).append(ref)
        self._tags = {_tag_id(tag): tag for tag in sorted(self._attached)}
        categories = sorted({_category(tag) for tag in self._attached})
        self._categories = {_category_id(name): name for name in categories}

    def answer(self, method: str, target: str, headers: Message, body: bytes) -> RestReply:
        """Answer one call.

        Args:
            method: GET, POST or DELETE.
            target: path and query.
            headers: of the request, found without regard to case.
            body: of the request.
        """
        try:
            parts = urlsplit(target)
        except ValueError:
            return RestReply(400, {"error_type": "INVALID_ARGUMENT"})
        if parts.path == _SESSION:
            return self._session(method, headers)
        with self._lock:
            known = headers.get(_SESSION_HEADER, "") in self._sessions
        if not known:
            return RestReply(401, {"error_type": "UNAUTHENTICATED"})
        if self._denied:
            return RestReply(403, {"error_type": "UNAUTHORIZED"})
        if method == "GET" and parts.path.startswith(_TAGGING):
            return self._get(parts.path.removeprefix(_TAGGING))
        if method == "POST" and parts.path == f"{_TAGGING}/tag-association":
            action = parse_qs(parts.query).get("action", [""])[0]
            return self._association(action, body)
        return RestReply(404, {"error_type": "NOT_FOUND"})

    def _session(self, method: str, headers: Message) -> RestReply:
        if method == "POST":
            if not self._may_log_in(headers.get("Authorization", "")):
                return RestReply(401, {"error_type": "UNAUTHENTICATED"})
            token = self._new_id()
            with self._lock:
                self._sessions.add(token)
            return RestReply(201, token)
        if method == "DELETE":
            with self._lock:
                self._sessions.discard(headers.get(_SESSION_HEADER, ""))
            return RestReply(204)
        return RestReply(404, {"error_type": "NOT_FOUND"})

    def _may_log_in(self, authorization: str) -> bool:
        scheme, _, encoded = authorization.partition(" ")
        try:
            given = base64.b64decode(encoded, validate=True)
        except binascii.Error:
            return False
        expected = f"{self._account.username}:{self._account.password}".encode()
        return scheme == "Basic" and hmac.compare_digest(given, expected)

    def _get(self, path: str) -> RestReply:
        kind, _, identifier = path.strip("/").partition("/")
        identifier = unquote(identifier)
        if kind == "tag":
            if not identifier:
                return RestReply(200, list(self._tags))
            tag = self._tags.get(identifier)
            if tag is not None:
                return RestReply(200, _tag_model(identifier, tag))
        if kind == "category":
            if not identifier:
                return RestReply(200, list(self._categories))
            name = self._categories.get(identifier)
            if name is not None:
                return RestReply(200, _category_model(identifier, name))
        return RestReply(404, {"error_type": "NOT_FOUND"})

    def _association(self, action: str, body: bytes) -> RestReply:
        try:
            asked = json.loads(body)
        except ValueError:
            return RestReply(400, {"error_type": "INVALID_ARGUMENT"})
        if action == "list-attached-objects-on-tags" and isinstance(asked, dict):
            ids = [i for i in asked.get("tag_ids", ()) if i in self._tags]
            return RestReply(200, [self._objects_of(identifier) for identifier in ids])
        return RestReply(404, {"error_type": "NOT_FOUND"})

    def _objects_of(self, identifier: str) -> dict[str, Any]:
        refs = self._attached[self._tags[identifier]]
        objects = [{"id": typetable.moid(ref), "type": typetable.wire_name(type(ref))} for ref in refs]
        return {"tag_id": identifier, "object_ids": objects}


def _category(tag: str) -> str:
    return tag.partition(":")[0]


def _identifier(kind: str, name: str) -> str:
    return f"urn:vmomi:InventoryService{kind}:{uuid.uuid5(_NAMESPACE, f'{kind} {name}')}:GLOBAL"


def _tag_id(tag: str) -> str:
    return _identifier("Tag", tag)


def _category_id(name: str) -> str:
    return _identifier("Category", name)


def _tag_model(identifier: str, tag: str) -> dict[str, Any]:
    category, _, name = tag.partition(":")
    return {
        "id": identifier,
        "name": name,
        "description": "",
        "category_id": _category_id(category),
        "used_by": [],
    }


def _category_model(identifier: str, name: str) -> dict[str, Any]:
    return {
        "id": identifier,
        "name": name,
        "description": "",
        "cardinality": "MULTIPLE",
        "associable_types": [],
        "used_by": [],
    }
