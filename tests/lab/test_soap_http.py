"""HTTP itself: chunked bodies, kept connections, gzip, limits, an orderly stop; faults injected."""

from __future__ import annotations

import gzip
import http.client
import socket
import ssl
import threading
import time
from typing import Any

import pytest
from pyVmomi import vim, vmodl

from tests.lab.clients import PC, SERVICE_CONTENT, connect, connected, context, envelope, post, view_filter
from tests.lab.small_site import BROWSER, small_site
from vplacer.lab.soap.faults import FaultRule, Harm
from vplacer.lab.soap.server import LabServer


def test_chunked_request(server: LabServer) -> None:
    data = envelope(SERVICE_CONTENT)
    status, body = post(server, b"", chunks=[data[:7], data[7:100], data[100:]])
    assert status == 200
    assert b"<RetrieveServiceContentResponse" in body


def test_connection_is_kept_after_a_chunked_request(server: LabServer) -> None:
    connection = http.client.HTTPSConnection(server.host, server.port, context=context(server), timeout=5)
    data = envelope(SERVICE_CONTENT)
    for _ in range(3):
        connection.request(
            "POST", "/sdk", iter([data]), {"SOAPAction": "urn:vim25/8.0.3.0"}, encode_chunked=True
        )
        assert b"Response" in connection.getresponse().read()
    kept = connection.sock
    connection.request("GET", "/sdk/vimServiceVersions.xml")
    assert connection.getresponse().read().startswith(b"<?xml")
    assert connection.sock is kept
    connection.close()


def raw(server: LabServer, text: bytes) -> bytes:
    with (
        socket.create_connection((server.host, server.port), timeout=5) as plain,
        context(server).wrap_socket(plain, server_hostname=server.host) as secure,
    ):
        secure.sendall(text)
        received = b""
        while part := secure.recv(65536):
            received += part
    return received


@pytest.mark.parametrize(
    ("head", "status"),
    [
        (b"Content-Length: -1", b"400"),
        (b"Content-Length: ten", b"400"),
        (b"Content-Length: 99999999999", b"413"),
        (b"Transfer-Encoding: chunked", b"400"),
    ],
)
def test_malformed_length_is_refused_and_the_connection_closed(
    server: LabServer, head: bytes, status: bytes
) -> None:
    answer = raw(server, b"POST /sdk HTTP/1.1\r\nHost: x\r\n" + head + b"\r\n\r\nzz\r\n")
    assert answer.startswith(b"HTTP/1.1 " + status)


def test_unknown_address(server: LabServer) -> None:
    connection = http.client.HTTPSConnection(server.host, server.port, context=context(server), timeout=5)
    for method, path in (("GET", "/"), ("POST", "/mob"), ("GET", "/sdk/../etc/passwd")):
        connection.request(method, path, body=b"" if method == "POST" else None)
        answer = connection.getresponse()
        assert (answer.status, answer.read()) == (404, b"")


def test_large_answers_are_compressed_when_the_client_takes_it(server: LabServer, service: Any) -> None:
    cookie = service._stub.cookie.split(";")[0]
    call = envelope(
        '<RetrievePropertiesEx xmlns="urn:vim25"><_this type="PropertyCollector">propertyCollector</_this>'
        "<specSet><propSet><type>HostSystem</type><pathSet>hardware</pathSet></propSet>"
        '<objectSet><obj type="HostSystem">host-21</obj></objectSet></specSet><options/>'
        "</RetrievePropertiesEx>"
    )
    status, plain = post(server, call, {"Cookie": cookie})
    assert status == 200
    status, packed = post(server, call, {"Cookie": cookie, "Accept-Encoding": "gzip"})
    assert gzip.decompress(packed) == plain
    assert len(packed) < len(plain) / 3


def test_answers_come_without_delay(service: Any) -> None:
    # Two writes per answer would cost 40 ms each on a kept connection.
    started = time.perf_counter()
    for _ in range(20):
        service.CurrentTime()
    assert (time.perf_counter() - started) / 20 < 0.03


def test_stop_closes_kept_connections_and_leaves_nothing(site: Any) -> None:
    server = LabServer(site).start()
    client = connect(server)
    ca_file, port = server.ca_file, server.port
    started = time.monotonic()
    server.stop()
    assert time.monotonic() - started < 2
    assert not ca_file.exists()
    with pytest.raises((OSError, http.client.HTTPException)):
        client.CurrentTime()
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", port), timeout=2)
    server.stop()  # a second time does nothing


def test_stop_lets_a_call_in_work_finish(site: Any) -> None:
    entered, go_on = threading.Event(), threading.Event()

    def slow(host: Any) -> Any:
        entered.set()
        go_on.wait(5)
        return vim.vm.ConfigTarget(numCpus=7)

    site.store.require(BROWSER).answers = {"QueryConfigTarget": slow}
    server = LabServer(site).start()
    client = connect(server)
    answers: list[Any] = []
    asking = threading.Thread(
        target=lambda: answers.append(
            vim.EnvironmentBrowser("envbrowser-12", client._stub).QueryConfigTarget()
        )
    )
    asking.start()
    assert entered.wait(5)
    stopping = threading.Thread(target=server.stop)
    stopping.start()
    time.sleep(0.1)
    go_on.set()
    stopping.join(5)
    asking.join(5)
    assert answers[0].numCpus == 7


def test_port_can_be_used_again_after_a_stop() -> None:
    first = LabServer(small_site()).start()
    port = first.port
    with connected(first):
        pass
    first.stop()
    with LabServer(small_site(), port=port) as second, connected(second) as client:
        assert client.CurrentTime() is not None


def test_starts_quickly() -> None:
    best = 9.0
    for _ in range(3):
        started = time.perf_counter()
        server = LabServer(small_site()).start()
        best = min(best, time.perf_counter() - started)
        server.stop()
    assert best < 0.3


def test_client_that_speaks_no_tls_does_not_stop_others(server: LabServer) -> None:
    with socket.create_connection((server.host, server.port), timeout=5) as plain:
        plain.sendall(b"GET / HTTP/1.1\r\n\r\n")
        with connected(server) as client:
            assert client.CurrentTime() is not None


def test_silent_client_does_not_stop_others(server: LabServer) -> None:
    with (
        socket.create_connection((server.host, server.port), timeout=5),
        connected(server) as client,
    ):
        assert client.CurrentTime() is not None


def retrieve(client: Any) -> Any:
    spec = view_filter(client, vim.VirtualMachine, ["name"])
    return client.content.propertyCollector.RetrievePropertiesEx([spec], PC.RetrieveOptions())


def test_injected_faults(server: LabServer) -> None:
    client = connect(server)
    method = "RetrievePropertiesEx"
    for harm, expected in (
        (Harm.DROP_BEFORE, (OSError, http.client.HTTPException)),
        (Harm.DROP_AFTER, (OSError, http.client.HTTPException)),
        (Harm.TRUNCATE, Exception),
    ):
        server.faults.add(FaultRule(harm, method))
        with pytest.raises(expected):
            retrieve(client)
        assert retrieve(client).objects[0].propSet[0].val == "gpu-vm-0"
    server.faults.add(FaultRule(Harm.FAULT, method, fault=lambda: vmodl.fault.HostCommunication(msg="lost")))
    with pytest.raises(vmodl.fault.HostCommunication) as lost:
        retrieve(client)
    assert lost.value.msg == "lost"
    server.faults.add(FaultRule(Harm.DELAY, method, delay_s=0.3))
    started = time.monotonic()
    retrieve(client)
    assert time.monotonic() - started >= 0.3
    server.faults.add(FaultRule(Harm.EXPIRE, method, skip=1))
    retrieve(client)
    with pytest.raises(vim.fault.NotAuthenticated):
        retrieve(client)


def test_fault_rule_counts() -> None:
    rules = [FaultRule(Harm.DROP_BEFORE, "A", skip=1, count=2), FaultRule(Harm.DELAY, count=None)]
    from vplacer.lab.soap.faults import FaultPlan

    plan = FaultPlan(rules)
    seen = [plan.next(m) for m in ("A", "A", "B", "A", "A")]
    assert [r.harm if r else None for r in seen] == [
        Harm.DELAY, Harm.DROP_BEFORE, Harm.DELAY, Harm.DROP_BEFORE, Harm.DELAY,
    ]  # fmt: skip


def test_certificate_holds_further_names() -> None:
    with LabServer(small_site(), names=["vcenter.example", "127.0.0.2"]) as server:
        verified = ssl.create_default_context(cafile=str(server.ca_file))
        with (
            socket.create_connection((server.host, server.port), timeout=5) as plain,
            verified.wrap_socket(plain, server_hostname="vcenter.example") as secure,
        ):
            names = {value for _, value in secure.getpeercert()["subjectAltName"]}  # type: ignore[index]
    assert {"localhost", "127.0.0.1", "0:0:0:0:0:0:0:1", "vcenter.example", "127.0.0.2"} == names
