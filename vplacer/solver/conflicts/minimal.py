"""A minimal conflicting subset of some things, by halves, and the work that may be spent on it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

T = TypeVar("T")


@dataclass
class Budget:
    """Work that is left, in hosts looked at by a solver."""

    left: int

    def spend(self, amount: int) -> bool:
        """Take an amount; False, and nothing taken, where less than that is left."""
        if amount > self.left:
            return False
        self.left -= amount
        return True


def minimal_conflict(things: Sequence[T], conflicting: Callable[[list[T]], bool]) -> list[T]:
    """Return a subset that still conflicts and of which nothing can be left out; earlier ones are preferred.

    Halves are tried before single things (QuickXplain: Junker, AAAI 2004): a few out of many need few
    trials.

    Args:
        things: they conflict all together.
        conflicting: whether some of them conflict; what is not known counts as no.
    """

    def needed(background: list[T], grown: bool, rest: Sequence[T]) -> list[T]:
        if grown and conflicting(background):
            return []
        if len(rest) == 1:
            return list(rest)
        half = len(rest) // 2
        first, second = list(rest[:half]), list(rest[half:])
        late = needed(background + first, bool(first), second)
        early = needed(background + late, bool(late), first)
        return early + late

    if not things or conflicting([]):
        return []
    return needed([], False, things)
