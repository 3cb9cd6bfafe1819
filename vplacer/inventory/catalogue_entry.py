"""One entry of the catalogue, read strictly: every key known, of its type, and every fact with a source."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from vplacer.errors import CatalogueError
from vplacer.inventory.pci import PciIds

_HEX_ID: Final = re.compile(r"[0-9a-f]{4}")
_MISSING: Final = object()


class Entry:
    """A table of a catalogue file. Each value is taken once; `finish` refuses what is left.

    ``kind``: the table's name ("gpu"). ``file`` and ``label``: what errors call it.
    """

    def __init__(
        self, kind: str, table: Any, file: str, place: str, texts: Mapping[str, str], *, nested: bool = False
    ) -> None:
        self.kind = kind
        self.file = file
        if not isinstance(table, dict):
            raise CatalogueError(file, place, "a table is needed")
        name = table.get("name", table.get("key"))
        self.label = place if nested or not isinstance(name, str) else f"{kind} {name}"
        self._table = table
        self._taken: set[str] = set()
        self._texts = texts
        self._sources: dict[str, str] = {} if nested else self._cite(table)

    @property
    def cited(self) -> frozenset[str]:
        """The keys of the sources that this entry cites."""
        return frozenset(self._sources.values())

    def text(self, key: str, default: Any = _MISSING) -> Any:
        """Return a text that is not empty, or the default."""
        value = self._value(key, default)
        if value is not default and (not isinstance(value, str) or not value.strip()):
            raise self.error(key, "a text is needed")
        return value

    def texts(self, key: str, default: Any = _MISSING) -> tuple[str, ...]:
        """Return a list of texts, none twice."""
        value = self._value(key, default)
        if value is default:
            return tuple(default)
        if not isinstance(value, list) or not all(isinstance(item, str) and item for item in value):
            raise self.error(key, "a list of texts is needed")
        if len(set(value)) < len(value):
            raise self.error(key, "the same text twice")
        return tuple(value)

    def flag(self, key: str, default: Any = _MISSING) -> Any:
        """Return true or false, or the default."""
        value = self._value(key, default)
        if value is not default and not isinstance(value, bool):
            raise self.error(key, "true or false is needed")
        return value

    def integer(self, key: str, default: Any = _MISSING, *, least: int = 1) -> Any:
        """Return a whole number not below ``least``, or the default."""
        value = self._value(key, default)
        if value is not default and (type(value) is not int or value < least):
            raise self.error(key, f"a whole number from {least} is needed")
        return value

    def number(self, key: str, default: Any = _MISSING) -> Any:
        """Return a number above 0 as a float, or the default."""
        value = self._value(key, default)
        if value is default:
            return value
        if type(value) not in (int, float) or value <= 0:
            raise self.error(key, "a number above 0 is needed")
        return float(value)

    def word(self, key: str, allowed: tuple[str, ...]) -> str:
        """Return one of the allowed words."""
        value: str = self.text(key)
        if value not in allowed:
            raise self.error(key, f"one of {', '.join(allowed)} is needed")
        return value

    def table(self, key: str) -> Entry | None:
        """Return a table within the entry, or None where it is not given."""
        value = self._value(key, None)
        return None if value is None else self._nested(key, value)

    def tables(self, key: str) -> tuple[Entry, ...]:
        """Return a list of tables within the entry."""
        value = self._value(key, [])
        if not isinstance(value, list):
            raise self.error(key, "a list of tables is needed")
        return tuple(self._nested(key, item) for item in value)

    def figures(self, key: str, allowed: tuple[str, ...]) -> tuple[tuple[str, float], ...]:
        """Return a table of numbers by word in the allowed order; empty where it is not given."""
        entry = self.table(key)
        if entry is None:
            return ()
        found = tuple((word, entry.number(word)) for word in allowed if word in entry._table)
        entry.finish(())
        return found

    def is_false(self, key: str) -> bool:
        """Whether the entry says that there is none of it: ``key = false``."""
        self._taken.add(key)
        return self._table.get(key) is False

    def has(self, key: str) -> bool:
        """Whether the entry gives the key."""
        return key in self._table

    def sources(self) -> tuple[tuple[str, str], ...]:
        """Return group of facts and the text of its source, in order of the groups."""
        return tuple((group, self._texts[key]) for group, key in sorted(self._sources.items()))

    def finish(self, groups: tuple[str, ...]) -> None:
        """Refuse keys that nobody took, and facts without a source or sources without a fact.

        ``groups``: the groups of facts that the entry gives.
        """
        unknown = sorted(set(self._table) - self._taken - {"sources"})
        if unknown:
            raise self.error(unknown[0], "no such key")
        lacking = sorted(set(groups) - set(self._sources))
        if lacking:
            raise self.error("sources", f"no source for {', '.join(lacking)}")
        idle = sorted(set(self._sources) - set(groups))
        if idle:
            raise self.error("sources", f"a source for {', '.join(idle)}, which is not given")

    def error(self, key: str, what: str) -> CatalogueError:
        """Return the error of a key."""
        return CatalogueError(self.file, f"{self.label}: {key}", what)

    def _value(self, key: str, default: Any) -> Any:
        self._taken.add(key)
        if key in self._table:
            return self._table[key]
        if default is _MISSING:
            raise self.error(key, "is missing")
        return default

    def _nested(self, key: str, value: Any) -> Entry:
        place = f"{self.label}: {key}"
        return Entry(self.kind, value, self.file, place, self._texts, nested=True)

    def _cite(self, table: dict[str, Any]) -> dict[str, str]:
        given = table.get("sources")
        if not isinstance(given, dict):
            raise self.error("sources", "a table is needed: group of facts = key of a source")
        for group, key in given.items():
            if key not in self._texts:
                raise self.error(f"sources: {group}", f"the file has no source called {key!r}")
        return dict(given)


def read_ids(entry: Entry) -> tuple[PciIds, ...]:
    """Return the ids of an entry, "vendor:device" in hexadecimal, all of one vendor; at least one.

    Raises:
        CatalogueError: there is none, or it is no id.
    """
    found = []
    for text in entry.texts("ids"):
        vendor, _, device = text.partition(":")
        found.append(PciIds(read_hex(entry, "ids", vendor), read_hex(entry, "ids", device)))
    if not found or len({ids.vendor for ids in found}) > 1:
        raise entry.error("ids", "ids of one vendor are needed")
    return tuple(found)


def read_hex(entry: Entry, key: str, text: str) -> int:
    """Return an id of four hexadecimal digits.

    Raises:
        CatalogueError: it is none.
    """
    if not _HEX_ID.fullmatch(text):
        raise entry.error(key, f"{text!r} is not four hexadecimal digits")
    return int(text, 16)
