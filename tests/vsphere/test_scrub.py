"""Secrets leave recorded messages (cases as data) and headers."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from tests.conftest import REPO
from vplacer.vsphere.scrub import ELEMENTS, scrub_headers, scrub_text
from vplacer.vsphere.secret import Secret

CASES: list[dict[str, Any]] = yaml.safe_load((REPO / "tests/cases/scrub/messages.yaml").read_text())


@pytest.mark.parametrize("case", CASES, ids=[case["name"] for case in CASES])
def test_message(case: dict[str, Any]) -> None:
    arguments = {
        "names": case.get("names", ()),
        "secrets": [Secret(value) for value in case.get("secrets", ())],
    }
    scrubbed = scrub_text(case["text"], **arguments)
    assert scrubbed == case["want"]
    assert scrub_text(scrubbed, **arguments) == scrubbed
    if "gone" in case:
        assert case["gone"] not in scrubbed


@pytest.mark.parametrize("element", ELEMENTS)
@pytest.mark.parametrize("prefix", ["", "ns1:"])
def test_each_element(element: str, prefix: str) -> None:
    text = f'<a><{prefix}{element} x="y">SECRET\nSECRET</{prefix}{element}><b>kept</b></a>'
    assert scrub_text(text) == f'<a><{prefix}{element} x="y">scrubbed</{prefix}{element}><b>kept</b></a>'


def test_only_harmless_headers_stay() -> None:
    headers = {
        "Content-Type": "text/xml",
        "SOAPAction": '"urn:vim25/8.0.3.0"',
        "Cookie": "vmware_soap_session=abc",
        "Set-Cookie": ["vmware_soap_session=abc"],
        "Authorization": "Basic abc",
        "Proxy-Authorization": "Basic abc",
        "vmware-api-session-id": "abc",
        "X-Anything": "abc",
    }
    assert scrub_headers(headers) == {"Content-Type": "text/xml", "SOAPAction": '"urn:vim25/8.0.3.0"'}
