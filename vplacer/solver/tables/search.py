"""Levels "placed" and "locality" of an instance of many hosts, by patterns: values, bounds, plans."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import gcd

from vplacer.solver.bounds import plain_bounds
from vplacer.solver.host_plan import HostPlan
from vplacer.solver.instance import Instance
from vplacer.solver.kinds import HostKind
from vplacer.solver.tables.lp import Aim, Whole
from vplacer.solver.tables.one_aim import AimSearch
from vplacer.solver.tables.placed import (
    TOGETHER_SCALE,
    factors_together,
    weight_placed,
    weights_by_priority,
    weights_together,
)
from vplacer.solver.tables.plans import plans_of
from vplacer.solver.tables.search_parts import SearchParts

LEAST_HOSTS = 40
"""Hosts below which exact models of a few hosts at a time find the best answer by themselves."""

LEVEL_SCALE = 1 << 10
"""Of the search of one priority, where a point, the least there is, decides between equals and no more."""

LOCALITY_SCALE = 1 << 20
"""Finer than that of weights: a point may be worth very many of them."""


@dataclass(frozen=True)
class TableAnswer:
    """Plans by host position; values and bounds of the levels looked at, in the maximised sense."""

    plans: Mapping[int, HostPlan]
    values: Mapping[str, int]
    bounds: Mapping[str, int | None]
    stopped: bool


def takes(instance: Instance) -> bool:
    """Whether the search is for such an instance: many hosts, and all VMs are new."""
    return len(instance.tasks) >= LEAST_HOSTS and all(cls.vm is None for cls in instance.classes)


class TableSearch:
    """One search."""

    def __init__(
        self,
        instance: Instance,
        kinds: Sequence[HostKind],
        seed: int,
        work: float,
        should_stop: Callable[[], bool],
    ) -> None:
        self.parts = SearchParts(instance, kinds, seed)
        self.should_stop = should_stop
        self._aims = AimSearch(self.parts, work, should_stop)

    def run(self) -> TableAnswer:
        """Search level by level."""
        plain = plain_bounds(self.parts.instance)
        weights = weights_by_priority(self.parts.classes)
        factor = factors_together(weights)
        # Where floating VMs share the cores of hosts, points between equals cost more than they bring.
        point = 0 if self.parts.tables.pooled else 1
        together = self._aims.run(Aim(weights_together(weights), point, TOGETHER_SCALE), first=True)
        held = together.whole
        bounds: dict[str, int | None] = {}
        values: dict[str, int] = {}
        settled: list[tuple[Mapping[int, int], int]] = []
        over = together.bound
        for priority, mine in weights.items():
            name = f"placed:{priority}"
            step = gcd(*mine.values())
            bound = plain.get(name, 0)
            if over is not None:
                bound = min(bound, over // factor[priority] // step * step)
            if self._placed(held, mine) < bound and not self.should_stop():
                found = self._aims.run(Aim(mine, point, LEVEL_SCALE, tuple(settled)), held)
                if found.bound is not None:
                    bound = min(bound, found.bound // step * step)
                held = self._better(held, found.whole, settled, mine)
            value, bounds[name] = self._placed(held, mine), bound
            if over is not None:
                over -= factor[priority] * value
            settled.append(({index: each // step for index, each in mine.items()}, value // step))
        if any(level.id == "locality" for level in self.parts.instance.levels):
            bound = plain["locality"]
            if _points(held) < bound and not self.should_stop():
                found = self._aims.run(Aim({}, LOCALITY_SCALE, LOCALITY_SCALE, tuple(settled)), held)
                if found.bound is not None:
                    bound = min(bound, found.bound)
                held = self._better(held, found.whole, settled, None)
            values["locality"], bounds["locality"] = _points(held), bound
        # The search of a later level may have come upon more of an earlier one.
        values |= {f"placed:{priority}": self._placed(held, mine) for priority, mine in weights.items()}
        plans = plans_of(self.parts, held)
        stopped = any(bounds[name] != value for name, value in values.items())
        return TableAnswer(plans, values, bounds, stopped)

    def _better(
        self,
        held: Whole,
        found: Whole,
        settled: Sequence[tuple[Mapping[int, int], int]],
        weight: Mapping[int, int] | None,
    ) -> Whole:
        """The answer found, if it is better at a level and keeps those settled; else the one held.

        ``weight``: of the level's classes; None = points of locality.
        """

        def value(whole: Whole) -> int:
            return _points(whole) if weight is None else self._placed(whole, weight)

        kept = all(self._placed(found, classes) >= reach for classes, reach in settled)
        return found if kept and value(found) > value(held) else held

    def _placed(self, held: Whole, weight: Mapping[int, int]) -> int:
        """Weight of the classes placed by some columns."""
        return weight_placed(self.parts.items, self.parts.classes, held, weight)


def _points(held: Whole) -> int:
    """Points of locality of some columns."""
    return sum(column.points * count for column, count in held)
