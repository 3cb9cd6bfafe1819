"""The devices of a node as numbers per slot, and what taking some leaves.

Slots may be opened from another one: a card that chooses its profile gives so many slots of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

State = tuple[int, ...]
"""Free devices per slot of a node."""

Takes = tuple[tuple[int, int], ...]
"""(slot, count), sorted."""


@dataclass(frozen=True, slots=True)
class Opening:
    """Where more of a slot comes from: each one taken of slot ``source`` gives ``gives`` of ``slot``."""

    slot: int
    source: int
    gives: int


def taken(state: State, takes: Takes, openings: Sequence[Opening] = ()) -> State | None:
    """Return the state after some devices are taken, None if there are not so many.

    No more is opened than is needed.
    """
    left = list(state)
    for slot, count in takes:
        left[slot] -= count
    for opening in openings:
        if left[opening.slot] < 0:
            opened = -(left[opening.slot] // opening.gives)
            left[opening.source] -= opened
            left[opening.slot] += opened * opening.gives
    return None if min(left, default=0) < 0 else tuple(left)


def most_devices(state: State, openings: Sequence[Opening]) -> int:
    """Return how many devices a state has at most: less after anything is taken."""
    gives: dict[int, int] = {}
    for opening in openings:
        gives[opening.source] = max(gives.get(opening.source, 1), opening.gives)
    return sum(count * gives.get(slot, 1) for slot, count in enumerate(state))


def fixed(openings: Sequence[Opening]) -> frozenset[int]:
    """Return the slots that cannot change places with others."""
    return frozenset(slot for opening in openings for slot in (opening.slot, opening.source))


def is_shared(slot: object) -> bool:
    """Whether a slot is of cards that vGPUs share."""
    return isinstance(slot, tuple) and slot[0] in ("token", "cards")


def is_gpu(slot: object) -> bool:
    """Whether a slot is of GPUs, whole or shared."""
    return is_shared(slot) or (isinstance(slot, tuple) and slot[1] == "gpu")


def slot_order(slot: object) -> tuple[int, str]:
    """Shared cards come last."""
    return (int(is_shared(slot)), str(slot))
