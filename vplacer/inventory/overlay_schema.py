"""The JSON Schema (draft 2020-12) of overlay files; `vplacer schema overlay` prints it."""

from __future__ import annotations

from typing import Any, Final

FORMAT_VERSION: Final = 1

_NAME: Final[dict[str, Any]] = {"type": "string", "minLength": 1}
_NAME_OR_NULL: Final[dict[str, Any]] = {"type": ["string", "null"], "minLength": 1}
_INDEX: Final[dict[str, Any]] = {"type": "integer", "minimum": 0}
_INDEX_OR_NULL: Final[dict[str, Any]] = {"type": ["integer", "null"], "minimum": 0}
_ADDRESS: Final[dict[str, Any]] = {
    "type": "string",
    "pattern": r"^([0-9a-fA-F]{4,8}:)?[0-9a-fA-F]{2}:[01][0-9a-fA-F]\.[0-7]$",
    "title": "a PCI address such as 0000:3b:00.0",
}
_IDS: Final[dict[str, Any]] = {
    "type": "string",
    "pattern": r"^[0-9a-fA-F]{4}:[0-9a-fA-F]{4}(:[0-9a-fA-F]{4}:[0-9a-fA-F]{4})?$",
    "title": "ids such as 10de:20b7, or with the subsystem 10de:20b7:10de:1532",
}
_UTC: Final[dict[str, Any]] = {
    "type": "string",
    "pattern": r"^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d+)?Z$",
    "title": "a time such as 2025-01-31T12:00:00Z",
}


def _mapping(text: str, properties: dict[str, Any], *required: str) -> dict[str, Any]:
    return {
        "type": "object",
        "description": text,
        "additionalProperties": False,
        "properties": properties,
        "required": list(required),
    }


def _list(items: dict[str, Any]) -> dict[str, Any]:
    return {"type": ["array", "null"], "items": items}


_DEVICE: Final = _mapping(
    "A fact about one device.",
    {
        "address": _ADDRESS,
        "ids": {
            **_IDS,
            "description": "What was there when the fact was learnt; the key to refuse it later.",
        },
        "numa_node": {**_INDEX_OR_NULL, "description": "pNUMA node; null = nothing said of it."},
    },
    "address",
    "ids",
)
_LINK: Final = _mapping(
    "NVLinks between two GPUs of `devices`.",
    {"a": _ADDRESS, "b": _ADDRESS, "lanes": {**_INDEX, "description": "The # of NV#; 0 = proved absent."}},
    "a",
    "b",
    "lanes",
)
_HOME: Final = _mapping(
    "Where a VM was measured.",
    {
        "vm_uuid": {**_NAME, "description": "Instance uuid of the VM."},
        "nodes": {"type": "array", "items": _INDEX, "minItems": 1},
        "locality_percent": {"type": ["integer", "null"], "minimum": 0, "maximum": 100},
        "migrations": _INDEX_OR_NULL,
        "at": _UTC,
    },
    "vm_uuid",
    "nodes",
    "at",
)
_SOURCE: Final = _mapping(
    "What one source told, and when.",
    {
        "source": {**_NAME, "description": "nvidia-smi topo -m, hwloc, or human: who said so."},
        "created": _UTC,
        "detail": {
            **_NAME_OR_NULL,
            "description": "From which file, and how it was read, for people.",
        },
        "devices": _list(_DEVICE),
        "links": _list(_LINK),
        "homes": _list(_HOME),
    },
    "source",
    "created",
)

OVERLAY_SCHEMA: Final[dict[str, Any]] = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "title": "vplacer overlay",
    **_mapping(
        "What vCenter cannot say about one host.",
        {
            "format_version": {"type": "integer", "minimum": 1, "description": "Version of this format: 1."},
            "host": {**_NAME, "description": "Name of the host."},
            "host_uuid": {**_NAME_OR_NULL, "description": "Hardware uuid of the host."},
            "vcenter_uuid": {**_NAME_OR_NULL, "description": "Instance uuid of the vCenter."},
            "sources": {"type": "array", "items": _SOURCE, "minItems": 1},
        },
        "format_version",
        "host",
        "sources",
    ),
}
