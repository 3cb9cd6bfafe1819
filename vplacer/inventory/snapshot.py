"""Snapshots: what a vCenter said at one time, as a file that is never edited.

Canonical JSON, gzip if the name ends in ``.gz``. Every object carries a fingerprint (sha256 of its
canonical JSON), so that a damaged or edited file is refused with the names of what was touched. Older
formats are migrated as they are read; newer ones are refused by name.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import zlib
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path
from typing import Any, Final

from vplacer.errors import FileFormatError
from vplacer.inventory.canonical import canonical_json, sha256_of
from vplacer.inventory.codec import CodecError, decode, encode
from vplacer.inventory.cycle_search import no_cycle_search
from vplacer.inventory.files import write_file
from vplacer.inventory.json_document import JsonFormat, parse_document
from vplacer.inventory.site import Site
from vplacer.inventory.vcenter import Inventory
from vplacer.inventory.yaml_marks import pointer_text, read_bytes

FORMAT: Final = "vplacer-snapshot"
FORMAT_VERSION: Final = 2
_FILE: Final = JsonFormat(
    FORMAT,
    "snapshot",
    FORMAT_VERSION,
    "a snapshot is written by `vplacer collect`; inventory YAML starts with format_version",
)
MAX_JSON_BYTES: Final = 2 * 1024**3
_GZIP_MAGIC: Final = b"\x1f\x8b"
_MAX_NAMED: Final = 10
_SEAL_START: Final = b',"sha256":"'
_SEAL_END: Final = b'"}\n'

# The lists of objects with a managed object id; everything else is fingerprinted as a whole.
_OBJECT_LISTS: Final = ("datacenters", "clusters", "hosts", "pools", "datastores", "networks", "vms")

Migration = Callable[[dict[str, Any]], dict[str, Any]]


def _to_format_2(document: dict[str, Any]) -> dict[str, Any]:
    """Format 2 knows the CPU features of hosts, and holds nothing that was measured: overlays do."""
    for host in document["inventory"]["hosts"]:
        host.setdefault("cpu_features", None)
        host.setdefault("cpu_features_visible", None)
    for vm in document["inventory"]["vms"]:
        vm.pop("measured_home", None)
    return document


MIGRATIONS: Final[dict[int, Migration]] = {1: _to_format_2}
"""Format version to the function that turns its document into one of the next version."""


def snapshot_bytes(inventory: Inventory, *, compress: bool) -> bytes:
    """Return a snapshot file's content. Equal inventories give equal bytes."""
    text, fingerprints = _inventory_text(inventory)
    head = {"fingerprints": fingerprints, "format": FORMAT, "format_version": FORMAT_VERSION}
    # The canonical form has its keys sorted: inventory after the head, sha256 after all it covers.
    covered = canonical_json(head)[:-1] + b',"inventory":' + text
    content = covered + _SEAL_START + hashlib.sha256(covered + b"}").hexdigest().encode() + _SEAL_END
    return gzip.compress(content, compresslevel=6, mtime=0) if compress else content


def _inventory_text(inventory: Inventory) -> tuple[bytes, dict[str, str]]:
    """Return the canonical JSON of an inventory and its fingerprints; each object is written once."""
    result: dict[str, str] = {}
    parts = []
    for name in sorted(field.name for field in fields(inventory)):
        value = getattr(inventory, name)
        if name in _OBJECT_LISTS:
            texts = [canonical_json(encode(item)) for item in value]
            result.update(
                (f"{name}/{item.moid}", hashlib.sha256(text).hexdigest())
                for item, text in zip(value, texts, strict=True)
            )
            text = b"[" + b",".join(texts) + b"]"
        else:
            text = canonical_json(encode(value))
            result[name] = hashlib.sha256(text).hexdigest()
        parts.append(f'"{name}":'.encode("ascii") + text)
    return b"{" + b",".join(parts) + b"}", result


def save_snapshot(inventory: Inventory, path: Path) -> None:
    """Write a snapshot; mode 0600, whole or not at all, gzip if the name ends in ``.gz``.

    Raises:
        OutputError: it cannot be written.
    """
    write_file(path, snapshot_bytes(inventory, compress=path.name.endswith(".gz")))


def load_snapshot(path: Path) -> Inventory:
    """Read a snapshot.

    Raises:
        UnknownObjectError: there is no such file, or it cannot be read.
        FileFormatError: truncated, damaged, edited, or not a snapshot.
        NewerFormatError: written by a newer vplacer.
    """
    return parse_snapshot(read_bytes(path), str(path)).inventory


def inventory_fingerprint(inventory: Inventory) -> str:
    """Return the sha256 of all that was read; when it was read does not count.

    Two collects of an unchanged vCenter have the same fingerprint.
    """
    fingerprints = object_fingerprints(inventory)
    del fingerprints["taken_at"]
    return sha256_of(fingerprints)


def object_fingerprints(inventory: Inventory) -> dict[str, str]:
    """Return the sha256 of each object by ``hosts/host-12``, and of the rest by its name."""
    return _inventory_text(inventory)[1]


def parse_snapshot(raw: bytes, path: str) -> Site:
    """Read a snapshot file's content; ``path`` is what errors call it. Errors as `load_snapshot`."""
    with no_cycle_search():
        inventory = _parse(_decompress(raw, path), path)
    return Site(name=inventory.about.name, source="snapshot", inventory=inventory)


def _parse(content: bytes, path: str) -> Inventory:
    document = parse_document(content, path, _FILE)
    version: int = document["format_version"]
    _verify(document, content, path)
    while version < FORMAT_VERSION:
        migrate = MIGRATIONS.get(version)
        if migrate is None:
            raise FileFormatError(
                f"snapshot format {version} is not readable", path=path, hint="collect a new snapshot"
            )
        document = migrate(document)
        version += 1
    try:
        inventory: Inventory = decode(Inventory, document["inventory"])
    except CodecError as error:
        raise FileFormatError(
            error.what, path=path, pointer=pointer_text(("inventory", *error.pointer))
        ) from None
    return inventory


def _decompress(raw: bytes, path: str) -> bytes:
    if not raw.startswith(_GZIP_MAGIC):
        return raw
    try:
        with gzip.GzipFile(fileobj=io.BytesIO(raw)) as file:
            content = file.read(MAX_JSON_BYTES + 1)
    except EOFError:
        raise FileFormatError("the file is truncated", path=path, why="the gzip data ends early") from None
    except (OSError, zlib.error) as error:
        raise FileFormatError("the file is damaged", path=path, why=str(error)) from None
    if len(content) > MAX_JSON_BYTES:
        raise FileFormatError("unpacks to more than 2 GiB, which no snapshot does", path=path)
    return content


def _sealed(content: bytes) -> bool:
    """Whether the bytes are as they were written, told by the sha256 at their end."""
    covered, _, seal = content.rpartition(_SEAL_START)
    return seal == hashlib.sha256(covered + b"}").hexdigest().encode() + _SEAL_END


def _verify(document: dict[str, Any], content: bytes, path: str) -> None:
    """Refuse a file whose content is not what was written, and name what differs.

    A file that was only laid out anew (by a JSON formatter) means the same and is accepted.
    """
    if _sealed(content):
        return
    data, stored = document.get("inventory"), document.get("fingerprints")
    if not isinstance(data, dict) or not isinstance(stored, dict):
        missing = "inventory" if not isinstance(data, dict) else "fingerprints"
        raise FileFormatError("this mapping is missing", path=path, pointer=missing)
    try:
        actual = _fingerprints(data)
    except CodecError as error:
        raise FileFormatError(
            error.what, path=path, pointer=pointer_text(("inventory", *error.pointer))
        ) from None
    differing = sorted(key for key in actual.keys() | stored.keys() if actual.get(key) != stored.get(key))
    if differing:
        shown = ", ".join(_what_differs(key, actual, stored) for key in differing[:_MAX_NAMED])
        more = f" and {len(differing) - _MAX_NAMED} more" if len(differing) > _MAX_NAMED else ""
        raise FileFormatError(
            "the file was changed after it was written",
            path=path,
            why=f"{shown}{more}",
            hint="a snapshot is never edited: collect it again, or describe the site in inventory YAML",
        )
    covered = {key: value for key, value in document.items() if key != "sha256"}
    if document.get("sha256") != sha256_of(covered):
        raise FileFormatError(
            "the file was changed after it was written",
            path=path,
            why="its sha256 is not that of its content",
            hint="collect it again",
        )


def _what_differs(key: str, actual: dict[str, str], stored: dict[str, Any]) -> str:
    if key not in stored:
        return f"{key} was added"
    return f"{key} was removed" if key not in actual else f"{key} was changed"


def _fingerprints(data: dict[str, Any]) -> dict[str, str]:
    """Return the fingerprint of each object, and of every other part of the inventory.

    Raises:
        CodecError: a list of objects is no list, or an object has no id of its own.
    """
    result: dict[str, str] = {}
    for name, part in data.items():
        if name not in _OBJECT_LISTS:
            result[name] = sha256_of(part)
            continue
        if not isinstance(part, list):
            raise _misshapen("this is not a list", name)
        for index, item in enumerate(part):
            moid = item.get("moid") if isinstance(item, dict) else None
            if not isinstance(moid, str):
                raise _misshapen("this has no managed object id", name, index)
            key = f"{name}/{moid}"
            if key in result:
                raise _misshapen(f"the managed object id {moid} is given twice", name, index)
            result[key] = sha256_of(item)
    return result


def _misshapen(what: str, *pointer: str | int) -> CodecError:
    error = CodecError(what)
    error.parts.extend(reversed(pointer))
    return error
