"""The JSON Schemas of the files that people and other programs write."""

from __future__ import annotations

from typing import Any


def schema(name: str) -> dict[str, Any]:
    """Return a schema by format name. KeyError for a name that is none."""
    if name == "inventory":
        from vplacer.inventory.site_schema import SITE_SCHEMA

        return SITE_SCHEMA
    if name == "request":
        from vplacer.request.schema import request_schema

        return request_schema()
    if name == "overlay":
        from vplacer.inventory.overlay_schema import OVERLAY_SCHEMA

        return OVERLAY_SCHEMA
    if name == "what-if":
        from vplacer.request.what_if.schema import file_schema

        return file_schema()
    if name == "waivers":
        from vplacer.audit.waivers_schema import waivers_schema

        return waivers_schema()
    if name == "capacity":
        from vplacer.report.capacity_schema import capacity_schema

        return capacity_schema()
    raise KeyError(name)
