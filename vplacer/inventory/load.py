"""Loads a site from a file: a snapshot (JSON, gzip or not) or inventory YAML, told by its content."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from vplacer.errors import FileFormatError
from vplacer.inventory.site import Site
from vplacer.inventory.yaml_marks import decode_text, read_bytes

_GZIP_MAGIC: Final = b"\x1f\x8b"


def load_inventory_file(path: Path) -> Site:
    """Load a snapshot or an inventory YAML file. The content decides, not the name.

    Raises:
        UnknownObjectError: there is no such file, it is a folder, or it cannot be read.
        FileFormatError: it is neither of the two, or damaged; carries line or pointer where known.
        NewerFormatError: it was written by a newer vplacer.
    """
    raw = read_bytes(path)
    name = str(path)
    if not raw.strip():
        raise FileFormatError("the file is empty", path=name)
    if raw.startswith(_GZIP_MAGIC) or raw.lstrip().startswith((b"{", b"[")):
        from vplacer.inventory.snapshot import parse_snapshot

        return parse_snapshot(raw, name)
    from vplacer.inventory.site_load import load_site_text

    return load_site_text(decode_text(raw, name), name)
