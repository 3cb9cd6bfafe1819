"""Numbers for things that are alike: one a value, found at once for an object that was seen before."""

from __future__ import annotations

from collections.abc import Callable, Hashable


class Numbers:
    """Numbers values in the order in which they are met."""

    def __init__(self) -> None:
        self._numbers: dict[Hashable, int] = {}
        self._seen: dict[int, tuple[object, int]] = {}

    def of_key(self, key: Hashable) -> int:
        """Return the number of a value."""
        return self._numbers.setdefault(key, len(self._numbers))

    def of(self, thing: object, key: Callable[[], Hashable]) -> int:
        """Return the number of an object's key, which is asked for once; the object is kept."""
        seen = self._seen.get(id(thing))
        if seen is not None:
            return seen[1]
        number = self.of_key(key())
        self._seen[id(thing)] = (thing, number)
        return number
