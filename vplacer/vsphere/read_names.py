"""Names as people know them."""

from __future__ import annotations

import re

_ESCAPED_RE = re.compile(r"%(2f|5c|25)", re.IGNORECASE)


def shown_name(name: str | None) -> str:
    """Return a name as the vSphere Client shows it: the API escapes ``/``, ``\\`` and ``%`` in names."""
    return _ESCAPED_RE.sub(lambda match: chr(int(match[1], 16)), name or "")
