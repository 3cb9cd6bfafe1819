"""Small pieces the JSON Schema of inventory YAML is put together from."""

from __future__ import annotations

from typing import Any, Final

NAME: Final[dict[str, Any]] = {"type": "string", "minLength": 1}
INDEX: Final[dict[str, Any]] = {"type": "integer", "minimum": 0, "maximum": 2**31 - 1}
POSITIVE: Final[dict[str, Any]] = {"type": "integer", "minimum": 1, "maximum": 2**31 - 1}
SIZE: Final[dict[str, Any]] = {"type": "number", "minimum": 0, "maximum": 1_000_000}
BOOL: Final[dict[str, Any]] = {"type": "boolean"}
ADDRESS: Final[dict[str, Any]] = {
    "type": "string",
    "pattern": r"^([0-9a-fA-F]{4,8}:)?[0-9a-fA-F]{2}:[01][0-9a-fA-F]\.[0-7]$",
    "title": "a PCI address such as 0000:3b:00.0",
}
IDS: Final[dict[str, Any]] = {
    "type": "string",
    "pattern": r"^[0-9a-fA-F]{4}:[0-9a-fA-F]{4}(:[0-9a-fA-F]{4}:[0-9a-fA-F]{4})?$",
    "title": "ids such as 10de:20b7, or with the subsystem 10de:20b7:10de:1532",
    "description": "vendor:device[:subvendor:subdevice], hexadecimal.",
}
UTC: Final[dict[str, Any]] = {
    "type": "string",
    "pattern": r"^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d+)?Z$",
    "title": "a time such as 2025-01-31T12:00:00Z",
}


def about(base: dict[str, Any], text: str, **more: Any) -> dict[str, Any]:
    """Return a schema with its description."""
    return {**base, **more, "description": text}


def array(items: dict[str, Any], text: str, **more: Any) -> dict[str, Any]:
    """Return the schema of a list."""
    return {"type": "array", "items": items, "description": text, **more}


def mapping(properties: dict[str, Any], *required: str, text: str = "") -> dict[str, Any]:
    """Return the schema of a mapping that takes these keys and no others."""
    schema: dict[str, Any] = {
        "type": "object",
        "additionalProperties": False,
        "properties": properties,
    }
    if required:
        schema["required"] = list(required)
    if text:
        schema["description"] = text
    return schema


def up_to(most: int) -> dict[str, Any]:
    """Return the schema of a whole number from 1: a slip of the hand must not fill the memory."""
    return {"type": "integer", "minimum": 1, "maximum": most}


def words(text: str, *words: str) -> dict[str, Any]:
    """Return the schema of a choice of words."""
    return {"enum": list(words), "description": text}


def word_or_list(text: str) -> dict[str, Any]:
    """Return the schema of a name or a list of names."""
    return {
        "anyOf": [NAME, {"type": "array", "items": NAME, "minItems": 1}],
        "title": "a name or a list of names",
        "description": text,
    }


TAGS: Final = array(NAME, "Tags as CATEGORY:NAME, for example fabric:a.")
NODE: Final[dict[str, Any]] = {
    "anyOf": [INDEX, {"enum": ["unknown"]}],
    "title": "the number of a NUMA node, or 'unknown'",
    "description": "pNUMA node the device hangs on; 'unknown' = vCenter lists it under no node. "
    "May be left out only where the host has one node.",
}
STRINGS: Final[dict[str, Any]] = {
    "type": "object",
    "additionalProperties": {"type": ["string", "number", "integer", "boolean"]},
}
