"""Slots kept for VMs to come, beside what is free at every place."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Amounts = NDArray[np.int64]

NEVER = int(np.iinfo(np.int64).max)
"""A loss that no slot stands for."""


@dataclass(frozen=True, slots=True)
class Slot:
    """Room kept for one VM of a shape.

    ``takes``: amounts of the resources of its place, in their order. ``value``: what losing it costs.
    """

    number: int
    shape: str
    place: int
    takes: tuple[int, ...]
    value: int


class SlotBook:
    """Which slots are left, and what is free at every place besides.

    ``free[place, resource]``: not taken by a VM; slots are no VMs. ``kept``: the part of it that slots hold.
    ``cheapest[place, resource]``: value of the cheapest slot that holds some of it, NEVER without one;
    ``rate``: least value of a unit of it in any slot, infinite without one.
    Places with fewer resources than others have none of the last ones.
    """

    def __init__(self, free: Sequence[Sequence[int]] | Amounts, slots: Iterable[Slot]) -> None:
        """Keep the slots; together they must fit what is free."""
        self.free: Amounts = np.array(free, dtype=np.int64)
        self.kept: Amounts = np.zeros_like(self.free)
        self.cheapest: Amounts = np.full_like(self.free, NEVER)
        self.rate: NDArray[np.float64] = np.full(self.free.shape, np.inf)
        self._of_shape: dict[str, dict[int, Slot]] = {}
        self._at: dict[int, dict[int, Slot]] = {}
        for slot in sorted(slots, key=lambda slot: slot.number):
            self._of_shape.setdefault(slot.shape, {})[slot.number] = slot
            self._at.setdefault(slot.place, {})[slot.number] = slot
            self.kept[slot.place] += slot.takes
        if (self.kept > self.free).any():
            raise ValueError("the slots do not fit what is free")
        for place in self._at:
            self._value(place)

    def first_of_shape(self, shape: str) -> Slot | None:
        """Return the slot of the lowest number that is left for a shape."""
        return next(iter(self._of_shape.get(shape, {}).values()), None)

    def at(self, place: int) -> Sequence[Slot]:
        """Return the slots left at a place, by number."""
        return tuple(self._at.get(place, {}).values())

    def drop(self, slot: Slot) -> None:
        """Keep a slot no longer: a VM took it, or it was destroyed."""
        del self._of_shape[slot.shape][slot.number]
        del self._at[slot.place][slot.number]
        self.kept[slot.place] -= slot.takes
        self._value(slot.place)

    def _value(self, place: int) -> None:
        """Find the cheapest slots of a place anew."""
        slots = self.at(place)
        if not slots:
            self.cheapest[place], self.rate[place] = NEVER, np.inf
            return
        amounts = np.array([slot.takes for slot in slots], dtype=np.int64)
        values = np.array([slot.value for slot in slots], dtype=np.int64)[:, None]
        self.cheapest[place] = np.where(amounts > 0, values, NEVER).min(axis=0)
        self.rate[place] = np.where(amounts > 0, values / np.maximum(amounts, 1), np.inf).min(axis=0)

    def take(self, place: int, amounts: Sequence[int] | Amounts) -> None:
        """Count a VM's amounts off what is free."""
        self.free[place] -= np.asarray(amounts, dtype=np.int64)
        if (self.free[place] < self.kept[place]).any():
            raise ValueError("a VM was put where a slot is kept")
