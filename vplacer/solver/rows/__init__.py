"""What couples hosts: linear rows over counts of classes on hosts, one module per constraint.

Both ways of solving take them from here: the exact model adds them as they are, the master of the
column generation writes them over its columns.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

Key = tuple[str, int | str]
"""A quantity of one host: ("seats", class), of those ("new", class) are not VMs that stay;
("as_is", class); ("rule", name); ("power_cycles", 0) and ("moves", 0): what is done to existing VMs."""


@dataclass(frozen=True)
class Row:
    """``low <= sum(coefficient x quantity) + sum(coefficient x auxiliary) <= high``.

    ``everywhere``: coefficient of a quantity on every host; ``at``: on one host (moid), added to it.
    None = no limit on that side.
    """

    name: str
    low: int | None
    high: int | None
    everywhere: Mapping[Key, int] = field(default_factory=dict)
    at: Mapping[tuple[str, Key], int] = field(default_factory=dict)
    auxiliary: Mapping[str, int] = field(default_factory=dict)

    def coefficient(self, host: str, key: Key) -> int:
        """Coefficient of a quantity on a host."""
        return self.everywhere.get(key, 0) + self.at.get((host, key), 0)

    @cached_property
    def quantities(self) -> tuple[Key, ...]:
        """All quantities the row looks at, in order."""
        return tuple(sorted(set(self.everywhere) | {key for _, key in self.at}, key=str))


@dataclass(frozen=True)
class RowSet:
    """Rows and their integer auxiliaries, each from 0 to its limit."""

    rows: tuple[Row, ...]
    auxiliaries: Mapping[str, int] = field(default_factory=dict)


def merge(sets: list[RowSet]) -> RowSet:
    """Join row sets."""
    return RowSet(
        tuple(row for item in sets for row in item.rows),
        {name: most for item in sets for name, most in item.auxiliaries.items()},
    )
