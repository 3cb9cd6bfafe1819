"""Logging in, being refused, expiring."""

from __future__ import annotations

import ssl
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from pyVim.connect import SmartConnect
from pyVmomi import vim, vmodl

from tests.lab.clients import PC, connect, connected, object_filter, read, view_filter
from tests.lab.small_site import HOSTS, VM, small_site
from vplacer.errors import UsageError
from vplacer.lab.soap.server import LabServer


class Clock:
    def __init__(self) -> None:
        self.now = datetime(2026, 1, 1, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.now


def test_login_gives_a_session_with_the_account_s_name(server: LabServer, service: Any) -> None:
    session = service.content.sessionManager.currentSession
    assert session.userName == server.username
    assert service.content.about.apiVersion == "8.0.3.0"


def test_password_is_random_unless_given(site: Any) -> None:
    assert LabServer(site).password != LabServer(small_site()).password


@pytest.mark.parametrize(("user", "password"), [("nobody", None), (None, "wrong"), (None, "")])
def test_wrong_user_or_password(server: LabServer, user: str | None, password: str | None) -> None:
    with pytest.raises(vim.fault.InvalidLogin) as refused:
        connect(
            server,
            user=user or server.username,
            pwd=server.password if password is None else password,
        )
    assert "incorrect user name or password" in refused.value.msg


def test_token_login_is_refused_with_a_reason(server: LabServer) -> None:
    with pytest.raises(vim.fault.InvalidLogin) as refused:
        connect(
            server,
            token='<saml2:Assertion xmlns:saml2="urn:oasis:names:tc:SAML:2.0:assertion"/>',
            tokenType="saml",
        )
    assert "no single sign-on" in refused.value.msg


def test_second_login_on_a_live_session_is_refused(server: LabServer, service: Any) -> None:
    with pytest.raises(vim.fault.InvalidLogin):
        service.content.sessionManager.Login(server.username, server.password)


def test_without_login_only_the_service_itself_is_told(server: LabServer) -> None:
    client = connect(server)
    manager = client.content.sessionManager
    manager.Logout()
    assert client.RetrieveContent().about.apiVersion == "8.0.3.0"
    assert manager.currentSession is None
    for forbidden in (
        client.CurrentTime,
        lambda: read(client, HOSTS[0], "name"),
        lambda: manager.sessionList,
        lambda: client.content.viewManager.CreateContainerView(client.content.rootFolder, [], True),
    ):
        with pytest.raises(vim.fault.NotAuthenticated):
            forbidden()


def test_unauthenticated_reading_of_currentsession_through_the_collector(server: LabServer) -> None:
    # govc asks this to learn whether its saved session is still good.
    client = connect(server)
    client.content.sessionManager.Logout()
    values, missing = read(client, client.content.sessionManager, "currentSession")
    assert values == {}
    assert missing == {}


def test_idle_session_expires_by_the_server_s_clock() -> None:
    clock = Clock()
    with LabServer(small_site(), clock=clock, session_timeout_s=60) as server:
        client = connect(server)
        clock.now += timedelta(seconds=59)
        assert client.CurrentTime() == clock.now
        clock.now += timedelta(seconds=59)
        client.CurrentTime()  # each call counts as activity
        clock.now += timedelta(seconds=61)
        with pytest.raises(vim.fault.NotAuthenticated):
            client.CurrentTime()
        with pytest.raises(vim.fault.NotAuthenticated):
            read(client, VM, "name")


def test_objects_of_an_ended_session_are_gone(server: LabServer) -> None:
    client = connect(server)
    spec = view_filter(client, vim.VirtualMachine, ["name"])
    client.content.sessionManager.Logout()
    client.content.sessionManager.Login(server.username, server.password)
    with pytest.raises(vmodl.fault.ManagedObjectNotFound):
        client.content.propertyCollector.RetrievePropertiesEx([spec], PC.RetrieveOptions())


def test_one_session_does_not_see_another_s_view(server: LabServer, service: Any) -> None:
    spec = view_filter(service, vim.VirtualMachine, ["name"])
    with connected(server) as other, pytest.raises(vmodl.fault.ManagedObjectNotFound):
        other.content.propertyCollector.RetrievePropertiesEx([spec], PC.RetrieveOptions())


def test_terminating_another_session(server: LabServer, service: Any) -> None:
    victim = connect(server)
    key = victim.content.sessionManager.currentSession.key
    manager = service.content.sessionManager
    assert manager.SessionIsActive(key, server.username)
    assert {s.key for s in manager.sessionList} == {key, manager.currentSession.key}
    manager.TerminateSession([key])
    assert not manager.SessionIsActive(key, server.username)
    with pytest.raises(vim.fault.NotAuthenticated):
        victim.CurrentTime()
    with pytest.raises(vim.fault.NotFound):
        manager.TerminateSession([key])


def test_read_only_account() -> None:
    with LabServer(small_site(), read_only=True) as server, connected(server) as client:
        assert read(client, HOSTS[0], "name")[0] == {"name": "esx0.lab"}
        manager = client.content.authorizationManager
        rights = manager.HasPrivilegeOnEntities(
            [client.content.rootFolder], client.content.sessionManager.currentSession.key,
            ["System.Read", "Global.ServiceManagers"],
        )  # fmt: skip
        assert [(r.privId, r.isGranted) for r in rights[0].privAvailability] == [
            ("System.Read", True),
            ("Global.ServiceManagers", False),
        ]
        with pytest.raises(vim.fault.NoPermission) as refused:
            client.content.serviceManager.QueryServiceList()
        assert refused.value.privilegeId == "Global.ServiceManagers"


def test_property_without_the_privilege_is_in_missingset() -> None:
    held = ["System.Anonymous", "System.View"]
    with LabServer(small_site(), privileges=held) as server, connected(server) as client:
        values, missing = read(client, HOSTS[0], "name", "hardware.memorySize")
        assert values == {"name": "esx0.lab"}
        assert isinstance(missing["hardware.memorySize"], vim.fault.NoPermission)
        assert missing["hardware.memorySize"].privilegeId == "System.Read"


def test_certificate_is_verified_by_the_lab_s_ca_and_by_no_other(server: LabServer) -> None:
    for context, good in ((ssl.create_default_context(), False), (None, True)):
        if good:
            with connected(server) as client:
                assert client.content.about.vendor == "VMware, Inc."
            continue
        with pytest.raises(ssl.SSLCertVerificationError):
            SmartConnect(
                host=server.host,
                port=server.port,
                user=server.username,
                pwd=server.password,
                sslContext=context,
            )


def test_strict_verification_accepts_the_certificate(server: LabServer) -> None:
    context = ssl.create_default_context(cafile=str(server.ca_file))
    context.verify_flags |= ssl.VERIFY_X509_STRICT
    client = SmartConnect(
        host="localhost", port=server.port, user=server.username, pwd=server.password, sslContext=context
    )
    assert client.content.about.productLineId == "vpx"


def test_address_outside_loopback_is_refused() -> None:
    with pytest.raises(UsageError, match="loopback only"):
        LabServer(small_site(), host="0.0.0.0").start()


def test_port_taken(server: LabServer) -> None:
    with pytest.raises(UsageError, match="cannot listen"):
        LabServer(small_site(), port=server.port).start()


def test_plain_http_and_ipv6() -> None:
    for host, tls in (("127.0.0.1", False), ("::1", True)):
        with LabServer(small_site(), host=host, tls=tls) as server:
            assert server.url.startswith("https://[::1]:" if tls else "http://127.0.0.1:")
            options: dict[str, Any] = {"protocol": "http"} if not tls else {}
            if tls:
                options["sslContext"] = ssl.create_default_context(cafile=str(server.ca_file))
            client = SmartConnect(
                host=host, port=server.port, user=server.username, pwd=server.password, **options
            )
            assert client.content.propertyCollector.RetrievePropertiesEx(
                [object_filter(VM, ["name"])], PC.RetrieveOptions()
            ).objects[0].propSet[0].val == "gpu-vm-0"  # fmt: skip
