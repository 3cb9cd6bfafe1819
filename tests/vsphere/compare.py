"""Comparing two inventories field by field, against a list of the differences that may be there."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import yaml

from vplacer.inventory.vcenter import Inventory

Difference = tuple[str, str, str]


def differences(one: Any, other: Any, path: str = "") -> Iterator[Difference]:
    """Yield path (list keys left out), value of the one, value of the other of every leaf that differs."""
    if dataclasses.is_dataclass(one) and type(one) is type(other):
        for field in dataclasses.fields(one):
            inner = f"{path}.{field.name}" if path else field.name
            yield from differences(getattr(one, field.name), getattr(other, field.name), inner)
    elif path in ("gaps", "notes"):
        yield from ((path, repr(item), "") for item in one if item not in other)
        yield from ((path, "", repr(item)) for item in other if item not in one)
    elif isinstance(one, tuple) and isinstance(other, tuple) and len(one) == len(other):
        for mine, theirs in zip(one, other, strict=True):
            yield from differences(mine, theirs, f"{path}[]")
    elif one != other:
        yield path, repr(one), repr(other)


@dataclass(frozen=True)
class Allowed:
    """The differences that may be there, each with a reason and a site in which it is seen."""

    entries: tuple[dict[str, str], ...]

    @classmethod
    def load(cls, path: Path) -> Self:
        entries = yaml.safe_load(path.read_text(encoding="utf-8"))
        assert all(entry["why"] and entry["seen_in"] for entry in entries)
        return cls(tuple(entries))

    @property
    def sites(self) -> set[str]:
        return {entry["seen_in"] for entry in self.entries}

    def check(self, site: str, lab: Inventory, other: Inventory) -> None:
        """Fail for a difference that is not allowed, and for one that no longer occurs in its site."""
        found = list(differences(lab, other))
        reasons = [self._reason(item) for item in found]
        unexplained = [item for item, reason in zip(found, reasons, strict=True) if reason is None]
        assert unexplained == []
        unused = [
            entry
            for number, entry in enumerate(self.entries)
            if entry["seen_in"] == site and number not in reasons
        ]
        assert unused == [], "these no longer differ: take them out of the list"

    def _reason(self, found: Difference) -> int | None:
        path, lab, other = found
        for number, entry in enumerate(self.entries):
            fits = re.fullmatch(entry.get("lab", ".*"), lab) and re.fullmatch(entry["other"], other)
            if entry["path"] == path and fits:
                return number
        return None
