"""A table of a kind of node for some values of the seatings: the best of each residual, and what makes it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[Any]

Kept = tuple[int, int, int, int]
"""What may be placed: cores and memory in units, value, seating."""


@dataclass(frozen=True)
class _Choices:
    """What may be placed next in one state: sizes in units, value, way to the residual after, seating."""

    cores: Ints
    memory: Ints
    value: Ints
    step: Ints
    seating: Ints


@dataclass
class FilledTable:
    """A table for some values of the seatings: the best value of each residual, and how it is reached."""

    values: Ints
    most: tuple[int, int]
    _after: tuple[tuple[tuple[int, int], ...], ...]
    _kept: tuple[list[list[Kept]], ...]
    _broken: tuple[bool, ...]
    _choices: dict[int, _Choices] = field(default_factory=dict)
    _traced: dict[int, tuple[int, ...]] = field(default_factory=dict)

    def trace(self, flats: Sequence[int]) -> None:
        """Find seatings, by number, whose values add up to the value of each of some residuals.

        They are then told by `traced`.
        """
        height = self.most[1] + 1
        size = (self.most[0] + 1) * height
        names = [flat for flat in dict.fromkeys(flats) if flat not in self._traced]
        found: list[list[int]] = [[] for _ in names]
        at = np.array(names, np.int64)
        open_rows = np.arange(len(names))
        broken_states = np.array(self._broken, bool)
        while len(open_rows):
            here = at[open_rows]
            open_rows = open_rows[(self.values[here] > 0) | broken_states[here // size]]
            states = at[open_rows] // size
            for state in np.unique(states):
                rows = open_rows[states == state]
                self._step(int(state), rows, at, found, size, height)
        for flat, numbers in zip(names, found, strict=True):
            self._traced[flat] = tuple(sorted(numbers))

    def traced(self, flat: int) -> tuple[int, ...]:
        """Return the seatings found for a residual."""
        return self._traced[flat]

    def _step(self, state: int, rows: Ints, at: Ints, found: list[list[int]], size: int, height: int) -> None:
        """Place one VM on each of some residuals of one state."""
        options = self._options(state)
        here = at[rows]
        cores, memory = (here % size) // height, here % height
        fits = (options.cores <= cores[:, None]) & (options.memory <= memory[:, None])
        then = np.where(fits, here[:, None] + options.step, 0)
        hit = fits & (self.values[then] + options.value == self.values[here][:, None])
        chosen = hit.argmax(axis=1)
        at[rows] = then[np.arange(len(rows)), chosen]
        for row, number in zip(rows.tolist(), options.seating[chosen].tolist(), strict=True):
            found[row].append(number)

    def _options(self, state: int) -> _Choices:
        known = self._choices.get(state)
        if known is None:
            groups = self._kept[state]
            rows = [(*kept, then) for group, then in self._after[state] for kept in groups[group]]
            rows += [(*kept, state) for kept in groups[0]]
            array = np.array(rows, np.int64).reshape(len(rows), 5)
            height = self.most[1] + 1
            size = (self.most[0] + 1) * height
            step = (array[:, 4] - state) * size - array[:, 0] * height - array[:, 1]
            known = _Choices(array[:, 0], array[:, 1], array[:, 2], step, array[:, 3])
            self._choices[state] = known
        return known
