"""The most valuable content of every bin of a family at given prices, from one table.

``table[k][cores, memory]``: the most that a bin with k devices and so much room can hold. Demand is
rounded up to the grid, so that what a table says fits, fits; what is lost by that is found again when
what is left over is inserted exactly.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from vplacer.solver.mix.device_patterns import DevicePattern, Item, device_patterns, undominated
from vplacer.solver.mix.shape import FULL, Bin, Demand, Pattern

Table = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Grid:
    """Cores and memory of one cell."""

    cores: int
    memory: int


@dataclass(frozen=True, slots=True)
class Priced:
    """The best content of a bin, and what it is worth."""

    worth: float
    pattern: Pattern


class PriceTable:
    """Prices the bins of a family: those that the same demands may go into."""

    def __init__(self, bins: Sequence[Bin], demands: Sequence[Demand], grid: Grid) -> None:
        """Keep the rounded demands that go into these bins.

        Args:
            bins: the different bins of the family, in the order of the answers.
            demands: all demands; those that may not go into these bins are left out.
            grid: how coarse the table is.
        """
        self._bins = tuple(bins)
        self._grid = grid
        self._height = max(item.cores // grid.cores for item in bins)
        self._width = max(item.memory // grid.memory for item in bins)
        self._devices = max(item.devices for item in bins)
        self._parts: list[tuple[int, int, int, int, int]] = []
        for index, demand in enumerate(demands):
            if demand.goes_into(bins[0].kind):
                shape = demand.shape
                cores, memory = -(-shape.cores // grid.cores), -(-shape.memory // grid.memory)
                if cores <= self._height and memory <= self._width and shape.devices <= self._devices:
                    self._parts.append((index, cores, memory, shape.devices, shape.share))

    def price(self, duals: Sequence[float]) -> list[Priced]:
        """Return the best content of each bin when a VM of demand i is worth ``duals[i]``."""
        plain, single, several = self._worthwhile(duals)
        tables = [self._without_devices(plain)]
        for count in range(1, self._devices + 1):
            below = tables[-1]
            table = below.copy()
            for pattern in single:
                _improve(table, below, pattern)
            for devices, pattern in several:
                if devices <= count:
                    _improve(table, tables[count - devices], pattern)
            tables.append(table)
        return [self._read(item, tables, plain, single, several) for item in self._bins]

    def _worthwhile(
        self, duals: Sequence[float]
    ) -> tuple[list[DevicePattern], list[DevicePattern], list[tuple[int, DevicePattern]]]:
        """Return what may fill a bin: without a device, on one device, on several."""
        fractions, plain, whole = [], [], []
        several: list[tuple[int, DevicePattern]] = []
        for index, cores, memory, devices, share in self._parts:
            worth = float(duals[index])
            if worth <= 0:
                continue
            if devices == 1 and share < FULL:
                fractions.append(Item(cores, memory, share, worth, index))
                continue
            pattern = DevicePattern(cores, memory, worth, (index,))
            if devices == 0:
                plain.append(pattern)
            elif devices == 1:
                whole.append(pattern)
            else:
                several.append((devices, pattern))
        return undominated(plain), undominated([*device_patterns(fractions), *whole]), several

    def _without_devices(self, plain: Sequence[DevicePattern]) -> Table:
        """Return the table of bins without a device: any number of each, found by doubling."""
        table = np.zeros((self._height + 1, self._width + 1), dtype=np.float32)
        for pattern in plain:
            times = 1
            while times * max(pattern.cores, 1) <= self._height and times * pattern.memory <= self._width:
                more = DevicePattern(times * pattern.cores, times * pattern.memory, times * pattern.worth, ())
                if pattern.cores == 0 and pattern.memory == 0:
                    break  # Takes nothing of the grid: it would be worth any amount.
                _improve(table, table.copy(), more)
                times *= 2
        return table

    def _read(
        self,
        item: Bin,
        tables: Sequence[Table],
        plain: Sequence[DevicePattern],
        single: Sequence[DevicePattern],
        several: Sequence[tuple[int, DevicePattern]],
    ) -> Priced:
        """Follow the tables back to what a bin holds at best."""
        cores, memory, count = item.cores // self._grid.cores, item.memory // self._grid.memory, item.devices
        worth = float(tables[count][cores, memory])
        groups: list[tuple[int, ...]] = []
        rest: list[int] = []
        while count:
            steps = [(1, pattern) for pattern in single]
            steps += [(devices, pattern) for devices, pattern in several if devices <= count]
            best = tables[count - 1][cores, memory]
            chosen: tuple[int, DevicePattern] | None = None
            for devices, pattern in steps:
                if pattern.cores <= cores and pattern.memory <= memory:
                    after = tables[count - devices][cores - pattern.cores, memory - pattern.memory]
                    if after + np.float32(pattern.worth) > best:
                        best, chosen = after + np.float32(pattern.worth), (devices, pattern)
            if chosen is None:
                count -= 1
                continue
            groups.append(chosen[1].demands)
            count, cores, memory = (
                count - chosen[0],
                cores - chosen[1].cores,
                memory - chosen[1].memory,
            )
        while tables[0][cores, memory] > 0:
            inside = [p for p in plain if p.cores <= cores and p.memory <= memory and p.cores + p.memory]
            if not inside:
                break
            step = max(inside, key=lambda p: tables[0][cores - p.cores, memory - p.memory] + p.worth)
            rest += step.demands
            cores, memory = cores - step.cores, memory - step.memory
        return Priced(worth, Pattern(tuple(groups), tuple(rest)))


def _improve(table: Table, base: Table, pattern: DevicePattern) -> None:
    """Raise a table to what the base gives when the pattern is put on top."""
    height, width = table.shape
    if pattern.cores >= height or pattern.memory >= width:
        return
    target = table[pattern.cores :, pattern.memory :]
    source = base[: height - pattern.cores, : width - pattern.memory]
    np.maximum(target, source + np.float32(pattern.worth), out=target)
