"""The identity of a request: what it says, not how it is laid out."""

from __future__ import annotations

import hashlib
import json
from typing import Any


def canonical_json(data: Any) -> str:
    """Return a document as JSON with sorted keys and no spaces. Order of lists counts, of keys not."""
    return json.dumps(data, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


def request_sha256(data: Any) -> str:
    """Return the sha256 of a request document's canonical JSON, in lower-case hexadecimal."""
    return hashlib.sha256(canonical_json(data).encode()).hexdigest()
