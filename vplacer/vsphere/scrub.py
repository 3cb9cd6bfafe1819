"""Taking secrets out of recorded SOAP and REST messages.

Works on text by rules that are data (`ELEMENTS`, `KEYS`). Scrubbing a scrubbed text changes nothing,
so the same rules run over the request at replay, and a recording answers whoever asks. What stays
unique stays unique: a view's reference keeps its own id and loses only the session's key.
"""

from __future__ import annotations

import copy
import gzip
import re
from collections.abc import Iterable, Mapping
from functools import partial
from typing import Any
from xml.sax.saxutils import escape

from vplacer.vsphere.secret import Secret

SCRUBBED = "scrubbed"

ELEMENTS = (
    # Login and the session it makes
    "password",
    "passphrase",
    "userName",
    "loginName",
    "base64Token",
    # Tickets, tokens
    "cloneTicket",
    "ticket",
    "samlToken",
    "sessionId",
    "sessionKey",
    # Certificates, keys, thumbprints
    "certificate",
    "certificates",
    "serverCertificate",
    "serverPemCert",
    "sslCertificate",
    "caCertificate",
    "thumbprint",
    "sslThumbprint",
    "sslThumbprints",
    "privateKey",
    "publicKey",
    "cryptoKey",
    # Licences
    "licenseKey",
)
"""Elements whose text is replaced, with or without a namespace prefix."""

KEYS = (
    r"guestinfo\.[^<]*",
    r"[^<]*(?:password|passwd|passphrase|secret|token|credential|privatekey|private_key|apikey|api_key)[^<]*",
    r"RemoteDisplay\.vnc\.key",
    r"machine\.id",
    r"[^<]*(?:userdata|user-data)[^<]*",
    r"[^<]*(?:license|licence)[^<]*key[^<]*",
)
"""Keys of OptionValue and KeyValue pairs (extraConfig and the like) whose value is replaced."""

KEPT_HEADERS = frozenset({"content-type", "soapaction"})
"""All other headers are dropped: cookies, tokens, proxy credentials, server and client software."""

_ELEMENT_RE = re.compile(
    r"(<((?:\w+:)?(?:" + "|".join(ELEMENTS) + r"))(?:\s[^<>]*)?(?<!/)>)(?:[^<]|<!\[CDATA\[.*?\]\]>)*(</\2>)",
    re.IGNORECASE | re.DOTALL,
)
_OPTION_RE = re.compile(
    r"(<key(?:\s[^<>]*)?>(?:" + "|".join(KEYS) + r")</key>\s*<value(?:\s[^<>]*)?(?<!/)>)[^<]*(</value>)",
    re.IGNORECASE,
)
_SECURITY_RE = re.compile(r"(<((?:\w+:)?Security)(?:\s[^<>]*)?>).*?(</\2>)", re.DOTALL)
_ASSERTION_RE = re.compile(r"<((?:\w+:)?Assertion)(?:\s[^<>]*)?>.*?</\1>", re.DOTALL)
_PEM_RE = re.compile(r"-----BEGIN [A-Z0-9 ]+-----.*?-----END [A-Z0-9 ]+-----", re.DOTALL)
_VIEW_RE = re.compile(r"session\[[^\]<>]*\]")
_SESSION_RES = (
    re.compile(r"<LoginResponse\b.*?</LoginResponse>", re.DOTALL),
    re.compile(r"<UserSession\b.*?</UserSession>", re.DOTALL),
    re.compile(r"<((?:\w+:)?\w+)\s[^<>]*type=\"(?:\w+:)?UserSession\"[^<>]*>.*?</\1>", re.DOTALL),
    re.compile(r"<(LoginByTokenResponse|CloneSessionResponse)\b.*?</\1>", re.DOTALL),
)
_SESSION_FIELDS_RE = re.compile(r"(<(key|fullName|ipAddress|userAgent)>)[^<]*(</\2>)")
_TICKET_RESPONSE_RE = re.compile(
    r"(<(Acquire\w*Ticket\w*Response)\b[^<>]*>\s*<returnval(?:\s[^<>]*)?(?<!/)>)[^<]+(</returnval>)"
)
_TEXT_RE = re.compile(r"(?<=>)[^<]+|\A[^<]+")
_REST_SESSION_RE = re.compile(r'\A(\s*(?:\{\s*"value"\s*:\s*)?)"[^"]*"((?:\s*\})?\s*)\Z')


def scrub_text(text: str, *, names: Iterable[str] = (), secrets: Iterable[Secret] = ()) -> str:
    """Return a message without secrets.

    Args:
        text: a SOAP message, or any other text.
        names: user names to take out of element text, as whole words.
        secrets: values to take out of element text wherever they stand in it.
    """
    text = _ELEMENT_RE.sub(rf"\g<1>{SCRUBBED}\g<3>", text)
    text = _OPTION_RE.sub(rf"\g<1>{SCRUBBED}\g<2>", text)
    text = _SECURITY_RE.sub(rf"\g<1>{SCRUBBED}\g<3>", text)
    text = _ASSERTION_RE.sub(SCRUBBED, text)
    text = _PEM_RE.sub(SCRUBBED, text)
    text = _VIEW_RE.sub(f"session[{SCRUBBED}]", text)
    text = _TICKET_RESPONSE_RE.sub(rf"\g<1>{SCRUBBED}\g<3>", text)
    for pattern in _SESSION_RES:
        text = pattern.sub(lambda match: _SESSION_FIELDS_RE.sub(rf"\g<1>{SCRUBBED}\g<3>", match[0]), text)
    for name in names:
        text = _without_value(text, name, r"(?<!\w){}(?!\w)")
    for secret in secrets:
        text = _without_value(text, secret.reveal(), "{}")
    return text


def _without_value(text: str, value: str, pattern: str) -> str:
    """Replace a value in the text of elements; a user called "name" must not rewrite the tags."""
    quotes = {'"': "&quot;", "'": "&apos;"}
    for spelling in sorted({value, escape(value), escape(value, quotes)} - {""}):
        if spelling in text:
            inner = re.compile(pattern.format(re.escape(spelling)))
            text = _TEXT_RE.sub(partial(_replace_in, inner), text)
    return text


def _replace_in(pattern: re.Pattern[str], match: re.Match[str]) -> str:
    return pattern.sub(SCRUBBED, match[0])


def scrub_rest_session(text: str) -> str:
    """Return a REST answer without its token: a login is answered by nothing but one string."""
    return _REST_SESSION_RE.sub(rf'\g<1>"{SCRUBBED}"\g<2>', text)


def scrub_headers(headers: Mapping[str, object]) -> dict[str, object]:
    """Return the headers worth keeping. Cookies go; that there was one shows in the calls that follow."""
    return {name: value for name, value in headers.items() if name.lower() in KEPT_HEADERS}


class Scrubber:
    """The hooks that vcrpy calls with each request and response, before it stores or matches it."""

    def __init__(self, *, names: tuple[str, ...] = (), secrets: tuple[Secret, ...] = ()) -> None:
        self._names = names
        self._secrets = secrets

    def request(self, request: Any) -> Any:
        """Return a request without secrets (a vcrpy request; changed in a copy)."""
        scrubbed = copy.copy(request)
        scrubbed.headers = scrub_headers(request.headers)
        if isinstance(request.body, bytes):
            scrubbed.body = self._body(request.body)
        return scrubbed

    def response(self, response: dict[str, Any]) -> dict[str, Any]:
        """Return a response without secrets and not compressed."""
        body = response["body"]["string"]
        if body.startswith(b"\x1f\x8b"):
            body = gzip.decompress(body)
        return {
            "status": response["status"],
            "headers": scrub_headers(response["headers"]),
            "body": {"string": self._body(body)},
        }

    def _body(self, body: bytes) -> bytes:
        text = scrub_rest_session(body.decode())
        return scrub_text(text, names=self._names, secrets=self._secrets).encode()


_CALL_RE = re.compile(rb'<(\w+) xmlns="urn:vim25"><_this[^>]* type="(\w+)"')
_TYPE_RE = re.compile(rb"<type>(\w+)</type>")


def describe_request(request: Any) -> str:
    """Return what a request asks for, in words, without its content."""
    call = _CALL_RE.search(request.body or b"")
    if call is None:
        return f"{request.method} {request.path}"
    wanted = _TYPE_RE.search(request.body)
    return f"{call[1].decode()} of {(wanted or call)[1 if wanted else 2].decode()}"
