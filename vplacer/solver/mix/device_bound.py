"""How many shares of the devices can be allocated at most: a proof that looks at devices alone.

Every device is a bin of FULL shares; cores, memory and which devices sit together are left out, so that
no packing can do better. Column generation finds good prices for the shares asked for; the bound itself
is the Lagrangian value at those prices, in whole numbers, and holds whatever the prices are.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence

from ortools.linear_solver import pywraplp

from vplacer.errors import InternalError
from vplacer.solver.mix.shape import FULL, Bin, Demand

PRICE_UNITS = 1_000_000
"""Prices are whole multiples of 1/PRICE_UNITS of a share."""

Asked = tuple[int, frozenset[str] | None]
"""Shares of one device, and the kinds of bin that will do."""


def device_bound(bins: Sequence[Bin], demands: Sequence[Demand]) -> int:
    """Return an upper bound of the shares that any placement of these demands allocates."""
    devices = Counter[str]()
    for item in bins:
        devices[item.kind] += item.devices
    asked = Counter[Asked]()
    for demand in demands:
        if demand.shape.devices:
            asked[demand.shape.share, demand.kinds] += demand.shape.devices * demand.wanted
    if not asked:
        return 0
    relaxation = _Relaxation(asked, devices)
    while relaxation.improve():
        pass
    return _lagrangian(asked, devices, relaxation.prices)


class _Relaxation:
    """The linear relaxation of filling devices, over the patterns known."""

    def __init__(self, asked: Mapping[Asked, int], devices: Mapping[str, int]) -> None:
        self._asked, self._devices = asked, devices
        self._solver = pywraplp.Solver.CreateSolver("GLOP")
        self._solver.SetSolverSpecificParametersAsString("use_preprocessing: false")
        infinity = self._solver.infinity()
        objective = self._solver.Objective()
        objective.SetMaximization()
        self._rows = {}
        for item, number in asked.items():
            placed = self._solver.NumVar(0, number, "")
            objective.SetCoefficient(placed, item[0])
            self._rows[item] = self._solver.RowConstraint(0, infinity, "")
            self._rows[item].SetCoefficient(placed, -1)
        self._used = {
            kind: self._solver.RowConstraint(-infinity, number, "") for kind, number in devices.items()
        }
        self.prices: dict[Asked, int] = {item: item[0] * PRICE_UNITS for item in asked}
        self._known: set[tuple[str, tuple[tuple[Asked, int], ...]]] = set()

    def improve(self) -> bool:
        """Add the best pattern of each kind at the prices and solve; False if all were known."""
        grown = False
        for kind in self._devices:
            _, pattern = _best(_for_kind(self.prices, kind))
            if (kind, pattern) in self._known:
                continue
            self._known.add((kind, pattern))
            grown = True
            variable = self._solver.NumVar(0, self._solver.infinity(), "")
            self._used[kind].SetCoefficient(variable, 1)
            for item, count in pattern:
                self._rows[item].SetCoefficient(variable, count)
        if grown:
            if self._solver.Solve() != pywraplp.Solver.OPTIMAL:
                raise InternalError("the bound's relaxation has no solution")
            self.prices = {
                item: max(0, round(-row.dual_value() * PRICE_UNITS)) for item, row in self._rows.items()
            }
        return grown


def _lagrangian(asked: Mapping[Asked, int], devices: Mapping[str, int], prices: Mapping[Asked, int]) -> int:
    """Return the value that no placement exceeds, whatever the prices; shares are whole: rounded down."""
    units = sum(
        number * max(0, item[0] * PRICE_UNITS - prices[item]) for item, number in asked.items()
    ) + sum(number * _best(_for_kind(prices, kind))[0] for kind, number in devices.items())
    return units // PRICE_UNITS


def _for_kind(prices: Mapping[Asked, int], kind: str) -> dict[Asked, int]:
    return {item: price for item, price in prices.items() if item[1] is None or kind in item[1]}


def _best(prices: Mapping[Asked, int]) -> tuple[int, tuple[tuple[Asked, int], ...]]:
    """Return the dearest content of one device, and what it is: an unbounded knapsack over shares."""
    step = math.gcd(FULL, *(item[0] for item in prices))
    items = sorted(prices.items(), key=lambda pair: (pair[0][0], sorted(pair[0][1] or ())))
    worth = [0] * (FULL // step + 1)
    last: list[Asked | None] = [None] * len(worth)
    for used in range(1, len(worth)):
        worth[used], last[used] = worth[used - 1], None
        for item, price in items:
            size = item[0] // step
            if size <= used and worth[used - size] + price > worth[used]:
                worth[used], last[used] = worth[used - size] + price, item
    content: Counter[Asked] = Counter()
    used = len(worth) - 1
    while used:
        item_here = last[used]
        if item_here is None:
            used -= 1
        else:
            content[item_here] += 1
            used -= item_here[0] // step
    return worth[-1], tuple(sorted(content.items(), key=lambda pair: (pair[0][0], sorted(pair[0][1] or ()))))
