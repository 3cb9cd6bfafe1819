from __future__ import annotations

import pytest

from vplacer.errors import UsageError
from vplacer.vsphere.address import Address, proxy_for


@pytest.mark.parametrize(
    ("text", "host", "port", "shown"),
    [
        ("vc.example", "vc.example", 443, "vc.example"),
        (" vc.example:8443 ", "vc.example", 8443, "vc.example:8443"),
        ("https://vc.example/ui/", "vc.example", 443, "vc.example"),
        ("HTTPS://vc.example:444", "vc.example", 444, "vc.example:444"),
        ("192.0.2.1", "192.0.2.1", 443, "192.0.2.1"),
        ("2001:db8::1", "2001:db8::1", 443, "[2001:db8::1]"),
        ("[2001:db8::1]:8443", "2001:db8::1", 8443, "[2001:db8::1]:8443"),
    ],
)
def test_parse(text: str, host: str, port: int, shown: str) -> None:
    assert Address.parse(text) == Address(host, port)
    assert str(Address(host, port)) == shown


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", "not an address"),
        ("http://vc.example", "only https"),
        ("vc.example:port", "not an address"),
        ("vc.example:0", "not an address"),
        ("vc.example:70000", "not an address"),
        ("a b", "not an address"),
        ("me:hunter2@vc.example", "no user name and no password"),
    ],
)
def test_refused(text: str, expected: str) -> None:
    with pytest.raises(UsageError) as caught:
        Address.parse(text)
    assert expected in str(caught.value)
    assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize(
    ("environ", "proxied"),
    [
        ({}, False),
        ({"HTTPS_PROXY": "http://proxy:3128"}, True),
        ({"https_proxy": "proxy:3128"}, True),
        ({"HTTP_PROXY": "http://proxy:3128"}, False),
        ({"HTTPS_PROXY": "http://proxy:3128", "NO_PROXY": "other,vc.example"}, False),
        ({"HTTPS_PROXY": "http://proxy:3128", "no_proxy": ".example"}, False),
        ({"HTTPS_PROXY": "http://proxy:3128", "no_proxy": "example"}, False),
        ({"HTTPS_PROXY": "http://proxy:3128", "no_proxy": "*.example"}, False),
        ({"HTTPS_PROXY": "http://proxy:3128", "no_proxy": "ample"}, True),
        ({"HTTPS_PROXY": "http://proxy:3128", "no_proxy": "vc.example:443"}, False),
        ({"HTTPS_PROXY": "http://proxy:3128", "no_proxy": "vc.example:8443"}, True),
        ({"HTTPS_PROXY": "http://proxy:3128", "no_proxy": "*"}, False),
        ({"HTTPS_PROXY": "http://proxy:3128", "no_proxy": ""}, True),
    ],
)
def test_proxy_from_environment(environ: dict[str, str], proxied: bool) -> None:
    proxy = proxy_for(Address("vc.example"), environ)
    assert (proxy is not None) == proxied
    if proxy is not None:
        assert (proxy.host, proxy.port) == ("proxy", 3128)


def test_network_in_no_proxy() -> None:
    environ = {"HTTPS_PROXY": "http://proxy:3128", "NO_PROXY": "192.0.2.0/24"}
    assert proxy_for(Address("192.0.2.9"), environ) is None
    assert proxy_for(Address("198.51.100.9"), environ) is not None


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1", "127.8.8.8", "::1"])
def test_loopback_is_reached_directly(host: str) -> None:
    assert proxy_for(Address(host), {"HTTPS_PROXY": "http://proxy:3128"}) is None


def test_proxy_password_is_not_shown() -> None:
    proxy = proxy_for(Address("vc.example"), {"HTTPS_PROXY": "http://me:p%40ss@proxy:3128"})
    assert proxy is not None
    assert proxy.authorization is not None
    assert proxy.authorization.reveal() == "me:p@ss"
    assert "ss" not in f"{proxy} {proxy!r}".replace("address", "")
    with pytest.raises(UsageError) as caught:
        proxy_for(Address("vc.example"), {"HTTPS_PROXY": "socks5://me:hunter2@proxy"})
    assert "hunter2" not in str(caught.value)
