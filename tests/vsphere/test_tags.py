"""Tags over both REST interfaces, and servers that have none or refuse."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from typing import Any

import pytest

from vplacer.errors import ConnectionFailed, PermissionMissing, VplacerError
from vplacer.vsphere.address import Address
from vplacer.vsphere.credentials import Credentials
from vplacer.vsphere.secret import Secret
from vplacer.vsphere.tags import TagReading, read_tags
from vplacer.vsphere.transport import Reply

CREDENTIALS = Credentials("a@x", Secret("pä:ss"), "", "")
CATEGORY = "urn:vmomi:InventoryServiceCategory:1:GLOBAL"
TAGS = [f"urn:vmomi:InventoryServiceTag:{number}:GLOBAL" for number in (1, 2, 3)]


class FakeRest:
    """A `Transport` that serves tags in one of the two dialects, or not at all."""

    def __init__(self, dialect: str | None, status: Mapping[str, int] | None = None) -> None:
        self.address = Address("vc.example")
        self.dialect = dialect
        self.status = status or {}
        self.calls: list[str] = []
        self.open = 0

    def request(
        self,
        method: str,
        path: str,
        *,
        body: bytes | None = None,
        headers: Mapping[str, str] | None = None,
        repeatable: bool,
    ) -> Reply:
        assert headers is not None
        self.calls.append(f"{method} {path}")
        for part, status in self.status.items():
            if part in path:
                return Reply(status, "Reason", b"", {})
        if self.dialect is None or not path.startswith(f"/{self.dialect}/"):
            return Reply(404, "Not Found", b"<html/>", {})
        content = self._content(method, path, body, headers)
        if self.dialect == "rest":
            content = {"value": content}
        return Reply(201 if method == "POST" else 200, "", json.dumps(content).encode(), {})

    def _content(self, method: str, path: str, body: bytes | None, headers: Mapping[str, str]) -> Any:
        if path.endswith("session"):
            if method == "DELETE":
                self.open -= 1
                return None
            assert base64.b64decode(headers["Authorization"].removeprefix("Basic ")) == "a@x:pä:ss".encode()
            self.open += 1
            return "token"
        assert headers["vmware-api-session-id"] == "token"
        assert "Authorization" not in headers
        last = path.rpartition("/")[2].removeprefix("id:").replace("%3A", ":")
        if last == "tag":
            return list(TAGS)
        if last in TAGS:
            return {"id": last, "name": f"t{TAGS.index(last) + 1}", "category_id": CATEGORY}
        if last == CATEGORY:
            return {"id": CATEGORY, "name": "fabric"}
        assert last.startswith("tag-association?")
        assert last.endswith("action=list-attached-objects-on-tags")
        assert body is not None
        asked = json.loads(body)["tag_ids"]
        attached = {
            TAGS[0]: [{"id": "vm-1", "type": "VirtualMachine"}, {"id": "host-1", "type": "HostSystem"}],
            TAGS[1]: [{"id": "vm-1", "type": "VirtualMachine"}, {"id": "datastore-1", "type": "Datastore"}],
            TAGS[2]: [],
        }
        return [{"tag_id": tag, "object_ids": attached[tag]} for tag in asked]


@pytest.mark.parametrize("dialect", ["api", "rest"])
def test_tags_by_object(dialect: str) -> None:
    server = FakeRest(dialect)
    reading = read_tags(server, CREDENTIALS)  # type: ignore[arg-type]
    assert reading == TagReading({"host-1": ("fabric:t1",), "vm-1": ("fabric:t1", "fabric:t2")})
    assert server.open == 0
    # A tag on nothing of interest costs no call.
    assert not any(TAGS[2].replace(":", "%3A") in call for call in server.calls)


def test_server_without_tags() -> None:
    reading = read_tags(FakeRest(None), CREDENTIALS)  # type: ignore[arg-type]
    assert reading.tags == {}
    assert reading.note is not None


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        ({"session": 401}, PermissionMissing),
        ({"tagging/tag": 403}, PermissionMissing),
        ({"tagging/tag": 500}, ConnectionFailed),
    ],
)
def test_refused(status: dict[str, int], kind: type[VplacerError]) -> None:
    server = FakeRest("api", status)
    with pytest.raises(kind) as caught:
        read_tags(server, CREDENTIALS)  # type: ignore[arg-type]
    assert "tags cannot be read" in str(caught.value)
    assert "pä:ss" not in str(caught.value)
    assert server.open == 0


@pytest.mark.parametrize("answer", ["17", '[{"tag": 1}]', '[{"tag_id": "x", "object_ids": [1]}]'])
def test_answer_of_another_form(monkeypatch: pytest.MonkeyPatch, answer: str) -> None:
    server = FakeRest("api")
    whole = server._content

    def changed(method: str, path: str, body: bytes | None, headers: Mapping[str, str]) -> Any:
        return json.loads(answer) if "association" in path else whole(method, path, body, headers)

    monkeypatch.setattr(server, "_content", changed)
    if answer == '[{"tag": 1}]':
        assert read_tags(server, CREDENTIALS).tags == {}  # type: ignore[arg-type]
        return
    with pytest.raises(ConnectionFailed, match="unknown form"):
        read_tags(server, CREDENTIALS)  # type: ignore[arg-type]
