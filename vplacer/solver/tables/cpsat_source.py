"""Prices by the host model, for kinds of hosts that no table can price, and to prove what a table claims."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from vplacer.request.demand import RequestOptions
from vplacer.solver.classes import DemandClass
from vplacer.solver.column import Column
from vplacer.solver.kinds import HostKind
from vplacer.solver.pricing import MAX_WORK_A_PRICE, Pricer
from vplacer.solver.rows import Key
from vplacer.solver.tables.items import Item
from vplacer.solver.tables.lp import LightColumn
from vplacer.solver.tables.sources import Duals, RowTerms

Array = npt.NDArray[Any]


def merged(classes: Sequence[DemandClass], items: Sequence[Item]) -> tuple[DemandClass, ...]:
    """Return the classes with all VMs of an item in the class that leads it."""
    found = list(classes)
    for item in items:
        if item.moving is not None:
            continue
        members = tuple(member for index in item.classes for member in classes[index].members)
        found[item.lead] = replace(classes[item.lead], members=members)
    return tuple(found)


class CpSatSource:
    """Prices kinds one by one, exactly."""

    cheap = False

    def __init__(
        self,
        kinds: Sequence[HostKind],
        numbers: Sequence[int],
        items: Sequence[Item],
        classes: tuple[DemandClass, ...],
        options: RequestOptions,
        terms: RowTerms,
        seed: int,
    ) -> None:
        """Take the kinds.

        Args:
            kinds: the kinds to price.
            numbers: their positions among all kinds.
            items: the items.
            classes: classes, merged by item.
            options: of the request.
            terms: what rows say of an item on a host.
            seed: for CP-SAT.
        """
        self.kinds = tuple(numbers)
        self.work = 0.0
        self.untold = False
        self._hosts = tuple(kinds)
        self._item_of = {item.lead: item.index for item in items}
        self._classes, self._options, self._terms, self._seed = classes, options, terms, seed
        self._pricers: dict[int, Pricer] = {}
        self._found: dict[int, Column | None] = {}

    def price(self, duals: Duals, deep: bool) -> Array:  # noqa: ARG002 - always the true one
        """Return the best value of each kind."""
        prices = [self.price_one(number, duals) for number in range(len(self.kinds))]
        self.untold = None in prices
        return np.array([price or 0 for price in prices], np.int64)

    def price_one(self, number: int, duals: Duals, work: float = MAX_WORK_A_PRICE) -> int | None:
        """Return the best value of one kind, by its number here; None if the work allowed told nothing."""
        pricer = self._pricer(number)
        host = self._hosts[number].task.state.host.moid
        weights: dict[Key, int] = {}
        for key in pricer.quantities:
            item = self._item_of[int(key[1])]
            charge = sum(duals.row[name] * weight for name, weight in self._terms.on(item, host).items())
            if duals.item[item] != charge:
                weights[key] = duals.item[item] - charge
        levels = {"locality": duals.point} if duals.point else {}
        price = pricer.price(weights, levels, self._seed, work)
        self.work += price.work
        self._found[number] = price.column
        return None if price.bound is None else max(0, price.bound)

    def columns(self, numbers: Sequence[int]) -> list[LightColumn | None]:
        """Return the columns of the last prices of some kinds."""
        return [self._light(number) for number in numbers]

    def fits(self, number: int, seats: Sequence[tuple[int, int, int]]) -> bool:
        """Whether a host of a kind takes (item, option number, count) and nothing else."""
        kind = self._hosts[number]
        lead = {item: index for index, item in self._item_of.items()}
        listed: dict[int, list[tuple[int, int]]] = {}
        for item, option, count in seats:
            listed.setdefault(lead[item], []).append((option, count))
        # A model of nothing else is small, however much else the host might take.
        options = {
            index: tuple(kind.task.options[index][option] for option, _ in mine)
            for index, mine in sorted(listed.items())
        }
        small = HostKind(kind.index, kind.positions, replace(kind.task, options=options))
        wanted = {(i, n): count for i, mine in listed.items() for n, (_, count) in enumerate(mine)}
        return Pricer(small, self._classes, self._options, set()).fits(wanted, self._seed)

    def _light(self, number: int) -> LightColumn | None:
        column = self._found.get(number)
        if column is None or not column.plan.chosen:
            return None
        host = self._hosts[number].task.state.host.moid
        seats = tuple(sorted((self._item_of[c], n) for c, n in column.plan.seats().items()))
        points = column.levels.get("locality", 0)
        return LightColumn(self.kinds[number], seats, points, self._terms.of_seats(seats, host), column.plan)

    def _pricer(self, number: int) -> Pricer:
        if number not in self._pricers:
            kind = self._hosts[number]
            options: Mapping[int, Any] = {
                index: listed for index, listed in kind.task.options.items() if index in self._item_of
            }
            task = replace(kind.task, options=dict(options))
            keys: set[Key] = {("seats", index) for index in options}
            self._pricers[number] = Pricer(
                HostKind(kind.index, kind.positions, task), self._classes, self._options, keys
            )
        return self._pricers[number]
