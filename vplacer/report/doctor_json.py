"""The doctor's report as JSON: stable, for programs."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any


def doctor_json(document: Mapping[str, Any]) -> str:
    """Return the document of `doctor_document` as JSON."""
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"
