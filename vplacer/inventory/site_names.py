"""Names, managed object ids and uuids of a described site: deterministic, and shaped like vCenter's."""

from __future__ import annotations

import re
import uuid
from fnmatch import fnmatchcase
from typing import Final

_NAMESPACE: Final = uuid.UUID("6f1c9f5e-6b0a-5d5c-9a6e-0d6c1f7b9a10")
_NUMBER_RE: Final = re.compile(r"\{n(?::0?(\d))?\}")
_FIRST_NUMBER: Final = {
    "datacenter": 3,
    "domain-c": 8,
    "domain-s": 5001,
    "resgroup": 9,
    "datastore": 11,
    "network": 7,
    "host": 1001,
    "vm": 2001,
}


class MoidCounter:
    """Hands out managed object ids, one series a type, in the order asked."""

    def __init__(self) -> None:
        self._next = dict(_FIRST_NUMBER)

    def take(self, kind: str) -> str:
        """Return the next id of a type: ``host-1001``, ``domain-c8``."""
        number = self._next[kind]
        self._next[kind] = number + 1
        return f"{kind}{number}" if kind.startswith("domain-") else f"{kind}-{number}"


def stable_uuid(*parts: str) -> str:
    """Return the uuid that always belongs to these words."""
    return str(uuid.uuid5(_NAMESPACE, "/".join(parts)))


def fill_number(pattern: str, number: int) -> str:
    """Replace ``{n}`` and ``{n:02}`` by a number."""
    return _NUMBER_RE.sub(lambda match: f"{number:0{int(match[1] or 1)}d}", pattern)


def has_number(pattern: str) -> bool:
    """Whether a name has a place for a running number."""
    return _NUMBER_RE.search(pattern) is not None


def matches(name: str, pattern: str) -> bool:
    """Whether a name equals a pattern or fits its ``*`` and ``?``."""
    return name == pattern or fnmatchcase(name, pattern)
