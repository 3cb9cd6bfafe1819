"""Real names, or pseudonyms in their stead, for the marks of `vplacer.doctor.marks`.

A pseudonym is the kind and a number: "host-1", "vm-7". Objects are numbered in the order of their managed
object ids and other values in the order of their first use, so equal inventories give equal reports,
whatever the names in them. Texts of others are not searched for what is secret: of them only the words
stay that the vocabulary knows, and the names of the inventory become pseudonyms.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Final

from vplacer.doctor.marks import FOREIGN, OBJECT
from vplacer.doctor.vocabulary import common_word, known_word

ObjectNames = Mapping[str, tuple[str, str]]
"""Managed object id to kind and name."""

_TOKEN_RE: Final = re.compile(r"[^\s\"'()\[\]{}<>,;=]+|[\s\"'()\[\]{}<>,;=]+")
_EDGES: Final = ".:!?"
_HIDDEN: Final = "(...)"


class RealNames:
    """Shows everything as it is: for the screen of the site's own administrator."""

    def __init__(self, names: ObjectNames) -> None:
        self._names = names

    def __call__(self, sort: str, _kind: str, value: str) -> str:
        """Return what stands for a mark."""
        if sort == OBJECT:
            known = self._names.get(value)
            return known[1] or value if known else value
        return value


class Pseudonyms:
    """Shows nothing of the site's names."""

    def __init__(self, names: ObjectNames, order: Iterable[str]) -> None:
        """Number the objects.

        Args:
            names: the inventory's objects.
            order: all their managed object ids in the order to number them in.
        """
        self._objects: dict[str, str] = {}
        self._values: dict[tuple[str, str], str] = {}
        self._next: dict[str, int] = {}
        for moid in order:
            kind, _ = names[moid]
            self._objects[moid] = self._new(kind)
        # A name that is a common word stays where others write it: to replace the word would tell the name.
        by_name = {
            name.casefold(): self._objects[moid]
            for moid, (_, name) in names.items()
            if name and not common_word(name)
        }
        by_name |= {moid.casefold(): alias for moid, alias in self._objects.items()}
        self._by_name = dict(sorted(by_name.items(), key=lambda item: (-len(item[0]), item[0])))
        pattern = "|".join(re.escape(name) for name in self._by_name)
        self._names_re = (
            re.compile(rf"(?<![^\W_])(?:{pattern})(?![^\W_])", re.IGNORECASE) if pattern else None
        )

    def __call__(self, sort: str, kind: str, value: str) -> str:
        """Return what stands for a mark."""
        if sort == FOREIGN:
            return self._foreign(value)
        if sort == OBJECT and value in self._objects:
            return self._objects[value]
        # An object that the account cannot see has no name here, and its id is still not shown.
        key = (kind, value.casefold())
        if key not in self._values:
            self._values[key] = self._new(kind)
        return self._values[key]

    def _new(self, kind: str) -> str:
        self._next[kind] = self._next.get(kind, 0) + 1
        return f"{kind}-{self._next[kind]}"

    def _foreign(self, text: str) -> str:
        """Return a text of which only names turned into pseudonyms and known words are left."""
        if self._names_re is None:
            return _known_words(text)
        parts, end = [], 0
        for match in self._names_re.finditer(text):
            parts += [_known_words(text[end : match.start()]), self._by_name[match[0].casefold()]]
            end = match.end()
        return "".join([*parts, _known_words(text[end:])])


def _known_words(text: str) -> str:
    shown: list[str] = []
    for token in _TOKEN_RE.findall(text):
        core = token.strip(_EDGES)
        if (
            not core
            or token.isspace()
            or not any(character.isalnum() for character in token)
            or known_word(core)
        ):
            shown.append(token)
        elif not shown or shown[-1] != _HIDDEN:
            shown.append(_HIDDEN)
    return "".join(shown)
