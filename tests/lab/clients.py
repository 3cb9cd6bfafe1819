"""Clients for the tests: pyVmomi verified against the lab's CA, and bare HTTP."""

from __future__ import annotations

import http.client
import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from pyVim.connect import Disconnect, SmartConnect
from pyVmomi import vim, vmodl

from vplacer.lab.soap.server import LabServer

PC = vmodl.query.PropertyCollector


def context(server: LabServer) -> ssl.SSLContext:
    # pyVmomi checks no certificate on loopback unless it is given a context.
    return ssl.create_default_context(cafile=str(server.ca_file))


def connect(server: LabServer, **more: Any) -> Any:
    options: dict[str, Any] = {"user": server.username, "pwd": server.password, **more}
    return SmartConnect(
        host=server.host, port=server.port, sslContext=context(server), connectionPoolTimeout=-1, **options
    )


@contextmanager
def connected(server: LabServer, **more: Any) -> Iterator[Any]:
    service = connect(server, **more)
    try:
        yield service
    finally:
        Disconnect(service)


def object_filter(ref: Any, paths: list[str], cls: Any = None) -> Any:
    return PC.FilterSpec(
        objectSet=[PC.ObjectSpec(obj=ref)],
        propSet=[PC.PropertySpec(type=cls or type(ref), pathSet=paths)],
    )


def view_filter(service: Any, cls: Any, paths: list[str]) -> Any:
    content = service.content
    view = content.viewManager.CreateContainerView(content.rootFolder, [cls], True)
    walk = PC.TraversalSpec(name="view", type=vim.view.ContainerView, path="view", skip=False)
    return PC.FilterSpec(
        objectSet=[PC.ObjectSpec(obj=view, skip=True, selectSet=[walk])],
        propSet=[PC.PropertySpec(type=cls, pathSet=paths)],
    )


def bind(service: Any, ref: Any) -> Any:
    return type(ref)(ref._moId, service._stub)


def read(service: Any, ref: Any, *paths: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """Read paths of one object: values and faults of missingSet."""
    answer = service.content.propertyCollector.RetrievePropertiesEx(
        [object_filter(bind(service, ref), list(paths))], PC.RetrieveOptions()
    )
    values = {p.name: p.val for o in answer.objects for p in o.propSet}
    missing = {m.path: m.fault for o in answer.objects for m in o.missingSet}
    return values, missing


def post(
    server: LabServer, body: bytes, headers: dict[str, str] | None = None, chunks: list[bytes] | None = None
) -> tuple[int, bytes]:
    """Send a request by hand; `chunks` sends it in pieces, as govc does."""
    connection = http.client.HTTPSConnection(server.host, server.port, context=context(server), timeout=10)
    try:
        connection.request(
            "POST",
            "/sdk",
            iter(chunks) if chunks else body,
            {"SOAPAction": "urn:vim25/8.0.3.0", "Content-Type": "text/xml", **(headers or {})},
            encode_chunked=chunks is not None,
        )
        response = connection.getresponse()
        return response.status, response.read()
    finally:
        connection.close()


def envelope(inner: str, prolog: str = "") -> bytes:
    return (
        f'<?xml version="1.0"?>{prolog}<soapenv:Envelope '
        'xmlns:soapenv="http://schemas.xmlsoap.org/soap/envelope/" '
        'xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" '
        'xmlns:xsd="http://www.w3.org/2001/XMLSchema">'
        f"<soapenv:Body>{inner}</soapenv:Body></soapenv:Envelope>"
    ).encode()


SERVICE_CONTENT = (
    '<RetrieveServiceContent xmlns="urn:vim25"><_this type="ServiceInstance">ServiceInstance</_this>'
    "</RetrieveServiceContent>"
)
