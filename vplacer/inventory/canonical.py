"""Canonical JSON: one text for one value, so that equal content has equal bytes and an equal hash."""

from __future__ import annotations

import hashlib
import json
from typing import Any


def canonical_json(value: Any) -> bytes:
    """Return JSON values as ASCII bytes: sorted keys, no spaces, everything else escaped."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False).encode("ascii")


def sha256_of(value: Any) -> str:
    """Return the hexadecimal sha256 of a value's canonical JSON."""
    return hashlib.sha256(canonical_json(value)).hexdigest()
