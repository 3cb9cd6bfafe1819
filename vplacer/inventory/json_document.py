"""Reads the JSON files that vplacer writes (snapshot, plan, state of the lab), up to their version."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, TypeVar

from vplacer.errors import FileFormatError, NewerFormatError
from vplacer.inventory.canonical import sha256_of
from vplacer.inventory.codec import CodecError, decode
from vplacer.inventory.yaml_marks import pointer_text

T = TypeVar("T")

_ENVELOPE = ("format", "format_version", "sha256")


@dataclass(frozen=True, slots=True)
class JsonFormat:
    """A file format: ``format`` is its word in the file, ``name`` what people call such a file.

    ``hint``: what to do about a file that is none. ``newest``: the newest version that is read.
    """

    format: str
    name: str
    newest: int
    hint: str


def parse_document(content: bytes, path: str, kind: JsonFormat) -> dict[str, Any]:
    """Return the document of a file; ``path`` is what errors call it.

    Raises:
        FileFormatError: cut off, not JSON, of another format, or without a version.
        NewerFormatError: a newer vplacer wrote it.
    """
    document = _parse_json(content, path)
    if not isinstance(document, dict) or document.get("format") != kind.format:
        raise FileFormatError(
            f"not a {kind.name}", path=path, why=f'it has no "format": "{kind.format}"', hint=kind.hint
        )
    version = document.get("format_version")
    if type(version) is not int or version < 1:
        raise FileFormatError("not a version number", path=path, pointer="format_version")
    if version > kind.newest:
        tool = document.get("tool_version")
        writer = f"it was written by vplacer {tool}; " if isinstance(tool, str) else ""
        raise NewerFormatError(
            f"{kind.name} format {version} is newer than this version reads",
            obj=path,
            why=f"{writer}this version reads up to format {kind.newest}",
            hint="upgrade vplacer",
        )
    return document


def sealed(kind: JsonFormat, content: dict[str, Any]) -> dict[str, Any]:
    """Return a document of a format, with its newest version and the hash of all the rest."""
    document = {"format": kind.format, "format_version": kind.newest, **content}
    return {**document, "sha256": sha256_of(document)}


def sealed_bytes(document: dict[str, Any]) -> bytes:
    """Return the content of a file for a sealed document: sorted and indented, to be compared with `diff`."""
    return json.dumps(document, sort_keys=True, indent=1, allow_nan=False).encode("ascii") + b"\n"


def parse_sealed(
    content: bytes, path: str, kind: JsonFormat, *, edited_hint: str, beside: str | None = None
) -> dict[str, Any]:
    """Return a document without its envelope, if its ``sha256`` is that of all the rest as canonical JSON.

    Args:
        content: of the file.
        path: what errors call the file.
        kind: its format.
        edited_hint: what to do instead of editing such a file.
        beside: a key that may stand beside what is sealed; it is left out.

    Raises:
        FileFormatError: as `parse_document`, or changed after it was written.
        NewerFormatError: a newer vplacer wrote it.
    """
    document = parse_document(content, path, kind)
    if beside is not None:
        document.pop(beside, None)
    stored = document.pop("sha256", None)
    if stored != sha256_of(document):
        raise FileFormatError(
            "the file was changed after it was written",
            path=path,
            why="its sha256 does not fit its content",
            hint=edited_hint,
        )
    for key in _ENVELOPE:
        document.pop(key, None)
    return document


def as_pairs(holder: dict[str, Any], key: str) -> None:
    """Turn a mapping of a file into the sorted pairs of the model; anything else stays as it is."""
    if isinstance(holder.get(key), dict):
        holder[key] = [[name, value] for name, value in sorted(holder[key].items())]


def decoded(kind: type[T], document: dict[str, Any], path: str) -> T:
    """Return a document as a value of the model; ``path`` is what errors call the file.

    Raises:
        FileFormatError: it does not fit; the error says where.
    """
    try:
        return decode(kind, document)
    except CodecError as error:
        raise FileFormatError(error.what, path=path, pointer=pointer_text(error.pointer)) from None


def _parse_json(content: bytes, path: str) -> object:
    try:
        return json.loads(content)
    except json.JSONDecodeError as error:
        # A text that was cut off inside a string is in error where the string begins.
        if error.pos >= len(error.doc.rstrip()) or error.msg.startswith("Unterminated string"):
            raise FileFormatError("the file is truncated", path=path, why="the JSON ends early") from None
        raise FileFormatError(
            "not valid JSON", path=path, line=error.lineno, column=error.colno, why=error.msg
        ) from None
    except (UnicodeDecodeError, RecursionError, ValueError):
        raise FileFormatError("not valid JSON", path=path) from None
