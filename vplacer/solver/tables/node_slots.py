"""The node positions of a family: what the slots of each are, and who sits on it alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from vplacer.solver.tables.cards import SharedCards
from vplacer.solver.tables.families import Family
from vplacer.solver.tables.node_table import NodeSeating
from vplacer.solver.tables.promises import NodePromises, node_promises
from vplacer.solver.tables.seatings import Seating
from vplacer.solver.tables.slots import Opening, Promise, slot_order

MOST_NODES_TIED = 2
"""Nodes of hosts whose tables keep track of promises."""


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


def build_nodes(
    family: Family, positions: Sequence[int], cards: SharedCards, profiles: Sequence[str]
) -> tuple[list[Node], list[int]]:
    """Sort the seatings of a family: those of one node to their node, the others to the host.

    Args:
        family: the family.
        positions: of its nodes.
        cards: those that vGPUs share.
        profiles: of these vGPUs.

    Returns:
        The nodes, and the seatings of the host, by number.
    """
    mine: dict[int, list[int]] = {position: [] for position in positions}
    spanning: list[int] = []
    for number, seating in enumerate(family.seatings):
        alone = len(seating.parts) == 1 and seating.parts[0].amount.millicores > 0
        if alone and number not in family.only:
            mine[seating.parts[0].position].append(number)
        else:
            spanning.append(number)
    return [_node(family, p, mine[p], cards, profiles) for p in positions], spanning


def _node(
    family: Family, position: int, mine: Sequence[int], cards: SharedCards, profiles: Sequence[str]
) -> Node:
    slots: set[object] = set()
    if position >= 0:
        slots |= {("token", name) for name in profiles}
        slots |= {("cards",)} if cards.gives else set()
    for seating in family.seatings:
        slots |= {slot for part in seating.parts if part.position == position for slot, _ in part.takes}
    ordered = tuple(sorted(slots, key=slot_order))
    at = {slot: number for number, slot in enumerate(ordered)}
    # None where the cores of a node are shared with other nodes: see `Pooled`.
    few = position >= 0 and len(family.members[0].kind.task.state.node_ids) <= MOST_NODES_TIED
    tied = node_promises(family.seatings if few else (), position, len(ordered))
    made = [_node_seating(family.seatings[n], at, tied) for n in mine]
    order = sorted(range(len(made)), key=lambda n: (made[n].item, made[n].takes, made[n].points))
    return Node(
        ordered,
        tuple(made[n] for n in order),
        tuple(mine[n] for n in order),
        cards.openings(ordered) if position >= 0 else (),
        tied,
    )


def _node_seating(seating: Seating, at: Mapping[object, int], tied: NodePromises) -> NodeSeating:
    part = seating.parts[0]
    takes = {at[slot]: count for slot, count in part.takes} | dict(tied.takes(seating))
    takes |= {at["token", name]: count for name, count in seating.tokens}
    amount = part.amount
    return NodeSeating(
        seating.item, tuple(sorted(takes.items())), amount.millicores, amount.memory_mib, seating.points
    )
