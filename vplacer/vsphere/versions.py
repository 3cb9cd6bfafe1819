"""Which API version to speak with a server, and when to refuse.

pyVmomi drops every field that is newer than the negotiated version from what it sends, without a
word, so speaking an older version than a plan needs would lose the plan's content. The server lists
the versions it speaks in ``/sdk/vimServiceVersions.xml``.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final
from xml.etree import ElementTree

from vplacer.errors import ApiTooOld, ConnectionFailed, VSphereError

MINIMUM = "8.0.0.1"
"""The first version with vNUMA shapes, device NUMA nodes and device groups."""

_NUMBER_RE: Final = re.compile(r"[0-9]{1,9}")


@dataclass(frozen=True, slots=True)
class ApiVersion:
    """A version both sides speak: its public id and pyVmomi's name for it."""

    id: str
    binding: str


def offered_versions(document: bytes) -> tuple[str, ...] | None:
    """Return the versions of the vim25 API a server lists, or None if this is no such list."""
    try:
        root = ElementTree.fromstring(document)
    except (ElementTree.ParseError, LookupError, ValueError):
        # The last two: an encoding that nobody knows, or that the parser does not take.
        return None
    if root.tag != "namespaces":
        return None
    found: list[str] = []
    for namespace in root.findall("namespace"):
        if namespace.findtext("name", "").strip() in ("urn:vim25", "urn:vim2"):
            texts = [namespace.findtext("version", "")]
            texts += [element.text or "" for element in namespace.findall("priorVersions/version")]
            found += [text.strip() for text in texts if text.strip()]
    return tuple(dict.fromkeys(found))


def choose(offered: tuple[str, ...], *, server: str, pinned: str | None = None) -> ApiVersion:
    """Return the newest version both sides speak.

    Args:
        offered: what the server lists.
        server: the server, for the message.
        pinned: this version and no other (a recorded session knows only one).

    Raises:
        ApiTooOld: the server speaks nothing from 8.0.0.1 on.
        ConnectionFailed: the server is newer than vplacer and lists no older version.
    """
    from pyVmomi import VmomiSupport

    known = {
        VmomiSupport.versionIdMap[name]: name for name in reversed(VmomiSupport.GetServiceVersions("vim25"))
    }
    usable = [
        ApiVersion(text, known[text]) for text in offered if text in known and number(text) >= number(MINIMUM)
    ]
    if pinned is not None:
        usable = [version for version in usable if version.id == pinned]
    if usable:
        return max(usable, key=lambda version: number(version.id))
    raise _refusal(offered, server, pinned)


def _refusal(offered: tuple[str, ...], server: str, pinned: str | None) -> VSphereError:
    newest = max(offered, key=number, default="none")
    if pinned is not None:
        return ConnectionFailed(f"the server does not speak API {pinned}", obj=server, why=f"it has {newest}")
    if number(newest) > number(MINIMUM):
        return ConnectionFailed(
            f"no API version is known to both sides: the server offers {newest}",
            obj=server,
            hint="upgrade vplacer",
        )
    return too_old(newest, server)


def too_old(version: str, server: str) -> ApiTooOld:
    """Return the error for a server below the minimum."""
    return ApiTooOld(
        f"the server speaks API {version}; {MINIMUM} or later is needed",
        obj=server,
        why="older versions silently drop vNUMA shapes, device NUMA nodes and device groups",
        hint="use a vCenter 8.0 or later",
    )


def number(text: str) -> tuple[int, ...]:
    """Return a version as comparable numbers; () for anything else, which is older than all."""
    parts = text.split(".")
    return tuple(map(int, parts)) if all(_NUMBER_RE.fullmatch(part) for part in parts) else ()
