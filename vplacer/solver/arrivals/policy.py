"""Where one more VM goes: a slot of its shape, else room that no slot keeps, else where it destroys least."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from vplacer.solver.arrivals.slots import NEVER, Amounts, Slot, SlotBook

MOST_TRIED = 40
"""Sets of slots looked at for one way; the best found by then stands, and one is always found."""


@dataclass(frozen=True, slots=True)
class Ways:
    """The ways in which an arrival may be put, each at one place.

    ``takes[way]``: amounts of the place's resources. ``waste[way]``: between ways that destroy as much, the
    one with the least is taken, and of several such the first.
    """

    places: Amounts
    takes: Amounts
    waste: Amounts


@dataclass(frozen=True, slots=True)
class Decision:
    """Where an arrival goes. ``slot``: of its shape, taken; ``destroyed``: those it makes impossible."""

    place: int
    takes: tuple[int, ...]
    slot: Slot | None = None
    destroyed: tuple[Slot, ...] = ()

    @property
    def loss(self) -> int:
        """Value of the slots destroyed."""
        return sum(slot.value for slot in self.destroyed)


def decide(book: SlotBook, shape: str, ways: Callable[[], Ways]) -> Decision | None:
    """Choose where one more VM goes; None if it fits nowhere. VMs that are there are never touched.

    Args:
        book: slots and free room; not changed.
        shape: the arrival's, by which it finds its slots.
        ways: every way to put it beside the VMs there are, slots not looked at; asked only if no slot
            of the shape is left.
    """
    slot = book.first_of_shape(shape)
    if slot is not None:
        return Decision(slot.place, slot.takes, slot=slot)
    return _elsewhere(book, ways())


def carry_out(book: SlotBook, decision: Decision) -> None:
    """Change the book by a decision: slots go, and room is taken."""
    for slot in (*((decision.slot,) if decision.slot else ()), *decision.destroyed):
        book.drop(slot)
    book.take(decision.place, decision.takes)


def _elsewhere(book: SlotBook, ways: Ways) -> Decision | None:
    """Choose among ways outside the shape's slots: the least value destroyed, then the least waste."""
    fits = (ways.takes <= book.free[ways.places]).all(axis=1)
    places, takes, waste = ways.places[fits], ways.takes[fits], ways.waste[fits]
    if not len(places):
        return None
    after = book.free[places] - book.kept[places] - takes
    undisturbed = (after >= 0).all(axis=1)
    if undisturbed.any():
        rows = np.nonzero(undisturbed)[0]
        row = int(rows[np.argmin(waste[rows])])
        return Decision(int(places[row]), tuple(int(amount) for amount in takes[row]))
    best = (NEVER, 0)
    chosen: Decision | None = None
    least = _least_losses(book, places, after)
    for row in np.lexsort((waste, least)):
        if (int(least[row]), int(waste[row])) >= best:
            break
        below = best[0] + 1 if waste[row] < best[1] else best[0]
        destroyed = cheapest(book.at(int(places[row])), [-int(amount) for amount in after[row]], below)
        if destroyed is not None:
            best = (sum(slot.value for slot in destroyed), int(waste[row]))
            chosen = Decision(
                int(places[row]), tuple(int(amount) for amount in takes[row]), destroyed=destroyed
            )
    return chosen


def _least_losses(book: SlotBook, places: Amounts, after: Amounts) -> Amounts:
    """Return a loss that each way has at least: its dearest shortage, met by the cheapest slots for it."""
    by_slot = np.where(after < 0, book.cheapest[places], 0).max(axis=1)
    short = np.where(after < 0, -after, 0)
    by_unit = np.where(after < 0, short * np.where(after < 0, book.rate[places], 0), 0).max(axis=1)
    # Values are whole; what rounding adds to a product of a few units is far below a thousandth.
    least: Amounts = np.maximum(by_slot, np.ceil(by_unit - 1e-3).astype(np.int64))
    return least


def cheapest(slots: Sequence[Slot], short: Sequence[int], below: int = NEVER) -> tuple[Slot, ...] | None:
    """Return slots of least value whose amounts cover a shortage; the first found of several as cheap.

    Args:
        slots: those of one place.
        short: missing amount of each resource; zero and less: nothing is missing.
        below: only a value under this is of interest.

    Returns:
        None if there are none.
    """
    search = _Cover(sorted(slots, key=lambda slot: (slot.value, slot.number)), below)
    search.extend((), 0, list(short), frozenset())
    return search.best


class _Cover:
    """A search for the cheapest slots that cover a shortage: resource by resource, cheapest first."""

    def __init__(self, slots: Sequence[Slot], below: int) -> None:
        self.slots = slots
        self.best: tuple[Slot, ...] | None = None
        self.value = below
        self.tried = 0
        self.rates: dict[int, float] = {}

    def extend(self, chosen: tuple[Slot, ...], value: int, short: list[int], barred: frozenset[int]) -> None:
        """Try every slot that meets the first shortage left; those tried before it are barred below it."""
        missing = next((resource for resource, amount in enumerate(short) if amount > 0), None)
        if missing is None:
            if value < self.value:
                self.best, self.value = chosen, value
            return
        if value + short[missing] * self._rate(missing) > self.value - 1 + 1e-3:
            return
        for slot in self.slots:
            if slot.number in barred or not slot.takes[missing]:
                continue
            if value + slot.value >= self.value or (self.tried >= MOST_TRIED and self.value < NEVER):
                return
            self.tried += 1
            barred |= {slot.number}
            rest = [amount - taken for amount, taken in zip(short, slot.takes, strict=True)]
            self.extend((*chosen, slot), value + slot.value, rest, barred)

    def _rate(self, resource: int) -> float:
        """Return the least value of a unit of a resource in any slot."""
        if resource not in self.rates:
            self.rates[resource] = min(
                (slot.value / slot.takes[resource] for slot in self.slots if slot.takes[resource]),
                default=float("inf"),
            )
        return self.rates[resource]
