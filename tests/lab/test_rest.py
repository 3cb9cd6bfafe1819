"""The REST half: sessions and tags."""

from __future__ import annotations

import base64
import http.client
import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.lab.clients import context
from tests.lab.small_site import HOSTS, VM, small_site
from vplacer.lab.soap.server import LabServer
from vplacer.lab.soap.vcenter import ServedSite

FABRIC = "fabric:rail-a"
ATTACHED = "/api/cis/tagging/tag-association?action=list-attached-objects-on-tags"


@pytest.fixture
def tagged() -> Iterator[LabServer]:
    site = small_site()
    tags = ((HOSTS[0], (FABRIC,)), (VM, ("team:ml/ops", FABRIC)))
    with LabServer(ServedSite(site.store, site.root_folder, site.about, "lab", tags)) as server:
        yield server


class Rest:
    def __init__(self, server: LabServer) -> None:
        self.server = server
        self.token = ""

    def call(self, method: str, path: str, body: Any = None, **headers: str) -> tuple[int, Any]:
        connection = http.client.HTTPSConnection(
            self.server.host, self.server.port, context=context(self.server), timeout=10
        )
        sent = {"vmware-api-session-id": self.token, **headers}
        try:
            connection.request(method, path, None if body is None else json.dumps(body), sent)
            answer = connection.getresponse()
            content = answer.read()
        finally:
            connection.close()
        return answer.status, json.loads(content) if content else None

    def login(self, user: str | None = None, password: str | None = None) -> int:
        pair = f"{user or self.server.username}:{password or self.server.password}"
        basic = base64.b64encode(pair.encode()).decode()
        status, token = self.call("POST", "/api/session", Authorization=f"Basic {basic}")
        self.token = token if status == 201 else ""
        return status


def test_tags_with_their_categories_and_objects(tagged: LabServer) -> None:
    rest = Rest(tagged)
    assert rest.login() == 201
    status, ids = rest.call("GET", "/api/cis/tagging/tag")
    assert (status, len(ids)) == (200, 2)
    names = {}
    for identifier in ids:
        tag = rest.call("GET", f"/api/cis/tagging/tag/{identifier}")[1]
        category = rest.call("GET", f"/api/cis/tagging/category/{tag['category_id']}")[1]
        names[identifier] = f"{category['name']}:{tag['name']}"
    assert sorted(names.values()) == [FABRIC, "team:ml/ops"]
    assert len(rest.call("GET", "/api/cis/tagging/category")[1]) == 2
    attached = rest.call("POST", ATTACHED, {"tag_ids": ids})[1]
    found = {names[a["tag_id"]]: {(o["type"], o["id"]) for o in a["object_ids"]} for a in attached}
    assert found == {
        FABRIC: {("HostSystem", "host-21"), ("VirtualMachine", "vm-31")},
        "team:ml/ops": {("VirtualMachine", "vm-31")},
    }


def test_only_with_a_session(tagged: LabServer) -> None:
    rest = Rest(tagged)
    assert rest.call("GET", "/api/cis/tagging/tag")[0] == 401
    assert rest.login(password="wrong") == 401
    assert rest.login(user="nobody") == 401
    for header in ("Bearer x", "Basic !!!", "Basic"):
        assert rest.call("POST", "/api/session", Authorization=header)[0] == 401
    assert rest.login() == 201
    assert rest.call("GET", "/api/cis/tagging/tag")[0] == 200
    assert rest.call("DELETE", "/api/session") == (204, None)
    assert rest.call("GET", "/api/cis/tagging/tag")[0] == 401


@pytest.mark.parametrize(
    ("method", "path", "body", "status"),
    [
        ("GET", "/api/vcenter/host", None, 404),
        ("GET", "/api/cis/tagging/tag/none", None, 404),
        ("POST", "/api/cis/tagging/tag-association?action=attach", {}, 404),
        ("POST", ATTACHED, {"tag_ids": ["x"]}, 200),
        ("GET", "/rest/com/vmware/cis/tagging/tag", None, 404),
    ],
)  # fmt: skip
def test_other_calls(tagged: LabServer, method: str, path: str, body: Any, status: int) -> None:
    rest = Rest(tagged)
    rest.login()
    assert rest.call(method, path, body)[0] == status


def test_body_that_is_no_json(tagged: LabServer) -> None:
    rest = Rest(tagged)
    rest.login()
    connection = http.client.HTTPSConnection(tagged.host, tagged.port, context=context(tagged), timeout=10)
    connection.request("POST", ATTACHED, "{", {"vmware-api-session-id": rest.token})
    assert connection.getresponse().status == 400
    connection.close()


def test_name_of_the_vcenter(tagged: LabServer) -> None:
    options = tagged.vcenter.store.read(tagged.vcenter.managers["setting"], "setting")
    assert [(o.key, o.value) for o in options] == [("VirtualCenter.InstanceName", "lab")]
