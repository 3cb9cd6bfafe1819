"""Where a vCenter is and which way leads to it."""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import unquote, urlsplit

from vplacer.errors import UsageError
from vplacer.vsphere.secret import Secret

DEFAULT_PORT = 443


@dataclass(frozen=True, slots=True)
class Address:
    """Host name or IP address, without brackets, and port of a vCenter."""

    host: str
    port: int = DEFAULT_PORT

    @classmethod
    def parse(cls, text: str) -> Address:
        """Parse ``name``, ``name:port``, ``[v6]:port``, a bare IPv6 address, or an https URL.

        A path is ignored, so that the address of the browser will do.

        Raises:
            UsageError: nothing usable, plain http, or a user name or password inside.
        """
        stripped = text.strip()
        if "@" in stripped:
            raise UsageError(
                "a vCenter's address holds no user name and no password",
                hint="give the name alone; --username and --password-file take the rest",
            )
        scheme, separator, _ = stripped.partition("://")
        if separator and scheme.lower() != "https":
            raise UsageError(
                f"'{scheme}' is no way to reach a vCenter", obj=stripped, hint="only https is spoken"
            )
        if not separator and _is_ipv6(stripped):
            return cls(stripped)
        try:
            parts = urlsplit(stripped if separator else f"https://{stripped}")
            host, port = parts.hostname, parts.port
        except ValueError as error:
            raise UsageError("not an address of a vCenter", obj=stripped, why=str(error)) from None
        if not host or any(character.isspace() for character in host) or port == 0:
            raise UsageError(
                "not an address of a vCenter", obj=stripped or "(empty)", hint="expected name or name:port"
            )
        return cls(host, DEFAULT_PORT if port is None else port)

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == DEFAULT_PORT else f"{host}:{self.port}"


def _is_ipv6(text: str) -> bool:
    try:
        return ipaddress.ip_address(text).version == 6
    except ValueError:
        return False


@dataclass(frozen=True, slots=True)
class Proxy:
    """An HTTP proxy that tunnels (CONNECT) to the vCenter, and the variable that named it."""

    host: str
    port: int
    source: str
    authorization: Secret | None = None

    def __str__(self) -> str:
        return f"{self.host}:{self.port} (from {self.source})"


def proxy_for(address: Address, environ: Mapping[str, str]) -> Proxy | None:
    """Return the proxy the environment wants for an address: HTTPS_PROXY unless NO_PROXY matches.

    Loopback addresses are never sent through a proxy.

    Raises:
        UsageError: the variable holds no usable URL.
    """
    for name in ("https_proxy", "HTTPS_PROXY"):
        if value := environ.get(name, "").strip():
            break
    else:
        return None
    if _is_loopback(address.host) or _excluded(address, environ):
        return None
    try:
        parts = urlsplit(value if "://" in value else f"http://{value}")
        host, port = parts.hostname, parts.port
    except ValueError:
        host, port = None, None
    else:
        if parts.scheme != "http":
            host = None
    if not host:
        # The value may hold a password: it is not shown.
        raise UsageError(f"{name} is not the URL of an http proxy", hint="expected http://name:port")
    authorization = None
    if parts.username is not None:
        pair = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
        authorization = Secret(pair)
    return Proxy(host, port or 80, name, authorization)


def _excluded(address: Address, environ: Mapping[str, str]) -> bool:
    listed = environ.get("no_proxy") or environ.get("NO_PROXY") or ""
    host = address.host.lower().rstrip(".")
    for entry in (item.strip().lower() for item in listed.split(",")):
        if not entry:
            continue
        if entry == "*" or entry in (host, f"{host}:{address.port}"):
            return True
        if host.endswith("." + entry.lstrip("*").lstrip(".")):
            return True
        if _in_network(host, entry):
            return True
    return False


def _in_network(host: str, entry: str) -> bool:
    try:
        return ipaddress.ip_address(host) in ipaddress.ip_network(entry, strict=False)
    except ValueError:
        return False


def _is_loopback(host: str) -> bool:
    if host.lower() == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
