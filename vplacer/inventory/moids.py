"""The order of managed object ids: by type, then by number, so that host-9 comes before host-10."""

from __future__ import annotations

import re

_MOID_RE = re.compile(r"^(.*?)0*([0-9]+)$", re.DOTALL)


def moid_order(moid: str) -> tuple[str, int, str, str]:
    """Return the sort key of a managed object id; any other text sorts by itself.

    Numbers are compared by their digits: a server may send any text, and int() refuses very long ones.
    """
    match = _MOID_RE.match(moid)
    if match is None:
        return (moid, -1, "", moid)
    return (match[1], len(match[2]), match[2], moid)
