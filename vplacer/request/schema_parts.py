"""Pieces that the JSON Schema of the request file is made of."""

from __future__ import annotations

from typing import Any, Final

Schema = dict[str, Any]

SIZE_PATTERN: Final = r"^[0-9]+(\.[0-9]+)?\s*(MiB|GiB|TiB)$"
SPEED_PATTERN: Final = r"^[0-9]+(\.[0-9]+)?\s*(Mbit/s|Gbit/s|Mbps|Gbps)$"

_LEVELS: Final = ["nvlink", "switch", "root", "numa", "socket", "any"]
NAME: Final[Schema] = {"type": "string", "minLength": 1}
NAMES: Final[Schema] = {
    "anyOf": [NAME, {"type": "array", "items": NAME, "minItems": 1}],
    "title": "a name or a list of names",
}
BOOL: Final[Schema] = {"type": "boolean"}
POSITIVE: Final[Schema] = {"type": "integer", "minimum": 1}
COUNT: Final[Schema] = {"type": "integer", "minimum": 0}
RATIO: Final[Schema] = {"type": "number", "minimum": 1, "maximum": 1000}


def about(base: Schema, text: str, **more: Any) -> Schema:
    """Return a schema with its description and more."""
    return {**base, "description": text, **more}


def mapping(properties: dict[str, Schema], *required: str, text: str = "", **more: Any) -> Schema:
    """Return a mapping with known keys only."""
    schema: Schema = {"type": "object", "additionalProperties": False, "properties": properties, **more}
    if required:
        schema["required"] = list(required)
    if text:
        schema["description"] = text
    return schema


def one_of(text: str, *words: str, **more: Any) -> Schema:
    """Return a choice of words."""
    return {"enum": list(words), "description": text, **more}


def size(text: str) -> Schema:
    """Return an amount of memory."""
    return {
        "type": "string",
        "pattern": SIZE_PATTERN,
        "title": "a size with its unit, such as 256 GiB (MiB, GiB or TiB)",
        "description": text,
        "examples": ["256 GiB", "1.5 TiB", "512 MiB"],
    }


def policy(text: str) -> Schema:
    """Return a policy of nearness."""
    return one_of(text, "required", "socket", "preferred", "none", default="preferred")


def level(text: str, default: str) -> Schema:
    """Return a level of nearness between two devices."""
    return one_of(text, *_LEVELS, default=default)


def soft(text: str) -> Schema:
    """Return whether something must hold."""
    return one_of(text, "required", "preferred")
