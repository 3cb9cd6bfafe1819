"""The devices of a node as numbers per slot, and what taking some leaves.

Slots may be opened from another one: a card that chooses its profile gives so many slots of it.

A promise is a slot of its own, 1 until somebody relies on it: that some other slots are used up in the end,
by VMs whose cards are chosen by name.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

State = tuple[int, ...]
"""Free devices per slot of a node."""

Takes = tuple[tuple[int, int], ...]
"""(slot, count), sorted. Of the slot of a promise: one of `UNTIED`, `RELIES`, `JOINS`."""

UNTIED = 0
"""Takes cards of those promised, and not by name: only as long as nobody relies on the promise."""

RELIES = 1
"""Relies on the promise and takes cards of it itself: only as long as nobody else relies on it."""

JOINS = 2
"""Relies on the promise, whoever else does."""


@dataclass(frozen=True, slots=True)
class Opening:
    """Where more of a slot comes from: each one taken of slot ``source`` gives ``gives`` of ``slot``."""

    slot: int
    source: int
    gives: int


@dataclass(frozen=True, slots=True)
class Promise:
    """That slots ``empty`` are used up in the end, by cards chosen by name, once ``slot`` is 0."""

    slot: int
    empty: tuple[int, ...]

    @property
    def look(self) -> Takes:
        """The promise, said like what somebody takes: to tell which are alike."""
        return tuple(sorted([(self.slot, -1), *((slot, -2) for slot in self.empty)]))


def taken(
    state: State, takes: Takes, openings: Sequence[Opening] = (), promises: Sequence[Promise] = ()
) -> State | None:
    """Return the state after some devices are taken, None if there are not so many.

    No more is opened than is needed.
    """
    tied = {promise.slot for promise in promises}
    left = list(state)
    for slot, count in takes:
        if slot not in tied:
            left[slot] -= count
        elif count == JOINS:
            left[slot] = 0
        elif not left[slot]:
            return None
        else:
            left[slot] -= count
    for opening in openings:
        if left[opening.slot] < 0:
            opened = -(left[opening.slot] // opening.gives)
            left[opening.source] -= opened
            left[opening.slot] += opened * opening.gives
    return None if min(left, default=0) < 0 else tuple(left)


def relied_on(state: State, promises: Sequence[Promise]) -> bool:
    """Whether somebody relies on a promise."""
    return any(not state[promise.slot] for promise in promises)


def broken(state: State, promises: Sequence[Promise]) -> bool:
    """Whether a promise that somebody relies on is not kept, if nothing more is placed."""
    return any(not state[promise.slot] and any(state[slot] for slot in promise.empty) for promise in promises)


def relies(takes: Takes, promises: Sequence[Promise]) -> bool:
    """Whether who takes this relies on a promise."""
    tied = {promise.slot for promise in promises}
    return any(slot in tied and count != UNTIED for slot, count in takes)


def devices(takes: Takes, promises: Sequence[Promise]) -> Takes:
    """Return the devices taken, promises left out."""
    tied = {promise.slot for promise in promises}
    return tuple(pair for pair in takes if pair[0] not in tied)


def most_devices(state: State, openings: Sequence[Opening]) -> int:
    """Return how many devices a state has at most: less after anything is taken."""
    gives: dict[int, int] = {}
    for opening in openings:
        gives[opening.source] = max(gives.get(opening.source, 1), opening.gives)
    return sum(count * gives.get(slot, 1) for slot, count in enumerate(state))


def fixed(openings: Sequence[Opening], promises: Sequence[Promise] = ()) -> frozenset[int]:
    """Return the slots that cannot change places with others."""
    opened = {slot for opening in openings for slot in (opening.slot, opening.source)}
    return frozenset(opened | {promise.slot for promise in promises})


def is_shared(slot: object) -> bool:
    """Whether a slot is of cards that vGPUs share."""
    return isinstance(slot, tuple) and slot[0] in ("token", "cards")


def is_gpu(slot: object) -> bool:
    """Whether a slot is of GPUs, whole or shared."""
    return is_shared(slot) or (isinstance(slot, tuple) and slot[1] == "gpu")


def slot_order(slot: object) -> tuple[int, str]:
    """Shared cards come last."""
    return (int(is_shared(slot)), str(slot))
