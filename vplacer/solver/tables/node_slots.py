"""A node position of a family: what its slots are, and who sits on it alone."""

from __future__ import annotations

from dataclasses import dataclass

from vplacer.solver.tables.node_table import NodeSeating
from vplacer.solver.tables.promises import NodePromises
from vplacer.solver.tables.slots import Opening, Promise


@dataclass(frozen=True)
class Node:
    """One node position of a family: its slots in order, its own seatings, and which these are.

    ``openings``: which of its slots are opened from others. ``tied``: promises, whose slots come after the
    others.
    """

    slots: tuple[object, ...]
    seatings: tuple[NodeSeating, ...]
    names: tuple[int, ...]
    openings: tuple[Opening, ...]
    tied: NodePromises

    @property
    def promises(self) -> tuple[Promise, ...]:
        """The promises, by number of the slots."""
        return self.tied.at(self.slots)
