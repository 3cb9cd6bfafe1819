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
_PERCENT: Final[dict[str, Any]] = {"type": "integer", "minimum": 0, "maximum": 100}


def _spread(number: dict[str, Any], text: str) -> dict[str, Any]:
    """Return the schema of a number over several samples."""
    whole = _mapping("", {"median": number, "low": number, "high": number}, "median", "low", "high")
    return {"anyOf": [{"type": "null"}, number, whole], "description": text}


_HOME: Final = _mapping(
    "Where a VM was measured.",
    {
        "vm_uuid": {**_NAME, "description": "Instance uuid of the VM."},
        "nodes": {**_list(_INDEX), "description": "Home nodes (pNUMA); empty = not told, or not understood."},
        "at": _UTC,
        "locality_percent": _spread(_PERCENT, "Share of its memory that is on its home nodes."),
        "local_mib": _spread(_INDEX, "Its memory on its home nodes."),
        "remote_mib": _spread(_INDEX, "Its memory elsewhere."),
        "migrations": {**_INDEX_OR_NULL, "description": "Moves between nodes since power-on."},
        "migrations_seen": {**_INDEX_OR_NULL, "description": "Moves between the first and the last sample."},
        "earlier_nodes": {**_list(_INDEX), "description": "Home nodes of earlier samples only."},
        "samples": {"type": "integer", "minimum": 1},
        "nodes_told": {
            "type": ["string", "null"],
            "description": "The host's text for the home nodes, where it is not understood.",
        },
    },
    "vm_uuid",
    "nodes",
    "at",
)
_NODE_MEMORY: Final = _mapping(
    "Memory of one NUMA node.",
    {
        "node": {**_INDEX, "description": "pNUMA node."},
        "total_mib": _INDEX_OR_NULL,
        "free_mib": _spread(_INDEX, "What is free."),
    },
    "node",
)
_SOURCE: Final = _mapping(
    "What one source told, and when.",
    {
        "source": {**_NAME, "description": "nvidia-smi topo -m, hwloc, esxtop, or human: who said so."},
        "created": _UTC,
        "detail": {
            **_NAME_OR_NULL,
            "description": "From which file, and how it was read, for people.",
        },
        "devices": _list(_DEVICE),
        "links": _list(_LINK),
        "homes": _list(_HOME),
        "node_memory": _list(_NODE_MEMORY),
        "notes": {**_list({"type": "string"}), "description": "What the source did not tell, for people."},
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
