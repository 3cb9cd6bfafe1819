"""How many device states the tables of a family need, member by member."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import prod

from vplacer.solver.tables.cards import Share, reached

MOST_STATES = 120
"""Device states of one kind of node, shared cards left out, beyond which its hosts are priced one by one."""

MOST_SHARED_STATES = 1_500
"""The same with shared cards. A state costs a table some tenths of a millisecond, a host priced alone
some tenths of a second."""


class StateCount:
    """Counts the device states of the nodes of a family."""

    def __init__(self, nodes: int, most: int = MOST_SHARED_STATES) -> None:
        """Count for so many nodes; ``most``: states that a table with shared cards has at most."""
        self._limit = most
        self._most: list[tuple[int, ...]] = [() for _ in range(nodes)]
        self._shared: list[set[Share]] = [set() for _ in range(nodes)]

    def add(
        self, node: int, sizes: Sequence[int], shares: Iterable[Share] = (), gives: tuple[int, ...] = ()
    ) -> None:
        """Count the states of one more host.

        Args:
            node: position of the node.
            sizes: devices in each of its slots but for shared cards.
            shares: what it may have of the shared cards.
            gives: what a card that chooses gives.
        """
        known = self._most[node] or (0,) * len(sizes)
        self._most[node] = tuple(max(a, b) for a, b in zip(known, sizes, strict=True))
        for share in shares:
            if len(self._shared[node]) > self._limit:
                return
            if share not in self._shared[node]:
                self._shared[node] |= reached(share, gives, self._limit)

    def states(self) -> int:
        """Return the states of the richest node at most."""
        sizes = zip(self._most, self._shared, strict=True)
        return max((prod(1 + n for n in most) * max(1, len(shared)) for most, shared in sizes), default=1)

    def too_many(self) -> bool:
        """Whether some node has more than a table takes."""
        return self.states() > self._limit or any(
            prod(1 + n for n in most) > MOST_STATES for most in self._most
        )
