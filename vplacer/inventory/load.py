"""Loads a site from a file: a snapshot (JSON, gzip or not) or inventory YAML, told by its content."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Final

from vplacer.errors import FileFormatError
from vplacer.inventory.hidden_holders import hidden_holder_gaps
from vplacer.inventory.moids import moid_order
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

        return _with_hidden_holders(parse_snapshot(raw, name))
    from vplacer.inventory.site_load import load_site_text

    return load_site_text(decode_text(raw, name), name)


def _with_hidden_holders(site: Site) -> Site:
    """Return a site with gaps for the VMs that hold cards and are not in it."""
    inventory = site.inventory
    found = hidden_holder_gaps(inventory.hosts, inventory.vm_by_moid)
    new = [gap for gap in found if gap.object not in inventory.gaps_by_object]
    if not new:
        return site
    gaps = sorted([*inventory.gaps, *new], key=lambda gap: (moid_order(gap.object), gap.path, gap.kind))
    return replace(site, inventory=replace(inventory, gaps=tuple(gaps)))
