"""Reads the catalogue of known hardware: TOML files beside the code, each fact with its source.

The files are the only place where these facts stand; `gpu_models`, `nic_models`, `cpu_models` and
`vplacer.topology.boards` are typed views over them. They are read when first asked for, so that
``vplacer --help`` does not pay for them, and kept: package data does not change while a process runs.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable
from functools import cache
from importlib import resources
from pathlib import PurePath
from typing import Any, Final, Protocol

from vplacer.errors import CatalogueError
from vplacer.inventory.catalogue_entry import Entry

KINDS: Final = ("gpu", "nvswitch", "board", "nic", "cpu_feature", "cpu")
"""The arrays of tables that a file may hold."""


class _TextFile(Protocol):
    """What is needed of a file: a path of the disk or of an installed package."""

    @property
    def name(self) -> str: ...

    def read_text(self, encoding: str) -> str: ...


def catalogue_entries(kind: str) -> tuple[Entry, ...]:
    """Return the entries of a kind, files in order of their names.

    Raises:
        CatalogueError: a file of the package is damaged.
    """
    return tuple(entry for entry in _built_in() if entry.kind == kind)


def read_catalogue(files: Iterable[_TextFile]) -> tuple[Entry, ...]:
    """Read catalogue files.

    Raises:
        CatalogueError: not TOML, an unknown table, a source that is no text, two entries of one name.
    """
    found: list[Entry] = []
    names: dict[tuple[str, str], str] = {}
    for file in sorted(files, key=lambda item: item.name):
        for entry in _read_file(file):
            key = (entry.kind, entry.label.casefold())
            if key in names:
                raise CatalogueError(entry.file, entry.label, f"stands in {names[key]} too")
            names[key] = entry.file
            found.append(entry)
    return tuple(found)


@cache
def _built_in() -> tuple[Entry, ...]:
    folder = resources.files("vplacer") / "topology" / "catalogue"
    files = [item for item in folder.iterdir() if PurePath(item.name).suffix == ".toml"]
    return read_catalogue(files)


def _read_file(file: _TextFile) -> list[Entry]:
    try:
        document: dict[str, Any] = tomllib.loads(file.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise CatalogueError(file.name, "", f"not TOML: {error}") from None
    sources = document.pop("sources", None)
    if not isinstance(sources, dict) or not all(isinstance(v, str) and v.strip() for v in sources.values()):
        raise CatalogueError(file.name, "sources", "a table of texts is needed")
    used: set[str] = set()
    entries = []
    for kind, tables in document.items():
        if kind not in KINDS or not isinstance(tables, list):
            raise CatalogueError(file.name, kind, f"no such table; known: {', '.join(KINDS)}")
        for number, table in enumerate(tables, 1):
            entry = Entry(kind, table, file.name, f"{kind} {number}", sources)
            used.update(entry.cited)
            entries.append(entry)
    if idle := sorted(set(sources) - used):
        raise CatalogueError(file.name, "sources", f"not cited by any entry: {', '.join(idle)}")
    return entries
