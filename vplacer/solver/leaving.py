"""A first place for VMs that must be placed anew, a host's worth of them at a time.

An existing VM that does not have what it asks for, or must leave its host, goes on holding what it holds
until it is placed: its host and the one it goes to have to be looked at together. Column generation finds
such pairs late where hosts are many, so they are sought first.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from vplacer.solver.classes import DemandClass
from vplacer.solver.column import Column
from vplacer.solver.exact import ExactModel
from vplacer.solver.instance import Instance

GROUP = 8
"""VMs of one host that are placed together."""

TARGETS = 4
"""Hosts that a group is offered at once."""

OFFERS = 6
"""Offers to a group before it is left to the search that follows."""

WORK_A_MODEL = 0.5
"""CP-SAT's work for one level of one offer; far more than such a model takes."""

_LEVELS = ("placed", "power_cycles", "moves")
"""Levels that an offer is decided by; the rest is the search's to better."""


@dataclass
class _Placer:
    instance: Instance
    held: dict[int, Column]
    seed: int
    should_stop: Callable[[], bool]
    work: float = 0.0

    def place(self, home: int, group: Sequence[DemandClass]) -> None:
        """Offer a group of VMs of one host other hosts until all have a place, or none is left."""
        waiting = list(group)
        targets = self._targets(home, waiting)
        for start in range(0, min(len(targets), OFFERS * TARGETS), TARGETS):
            if not waiting or self.should_stop():
                return
            self._offer({home, *targets[start : start + TARGETS]})
            waiting = [cls for cls in waiting if not self._has_place(cls)]

    def _offer(self, free: set[int]) -> None:
        """Solve some hosts exactly, the others held, and keep the answer if more is placed."""
        exact = ExactModel(self.instance, {p: column for p, column in self.held.items() if p not in free})
        before = {level.id: self._value(level.id) for level in self.instance.levels}
        columns: Mapping[int, Column] = {}
        for level in self.instance.levels:
            if level.id.split(":")[0] not in _LEVELS or isinstance(exact.objective(level.id), int):
                continue
            result = exact.solve(level.id, seed=self.seed, work=WORK_A_MODEL, should_stop=self.should_stop)
            self.work += result.work
            if result.value is None:
                break
            columns = exact.columns(result.solver)
            exact.require(level.id, result.value)
            exact.hint(result.solver)
        if not columns:
            return
        kept = self.held | dict(columns)
        placed = [level.id for level in self.instance.levels if level.id.startswith("placed:")]
        after = [sum(column.levels.get(name, 0) for column in kept.values()) for name in placed]
        if after > [before[name] for name in placed]:
            self.held = kept

    def _value(self, level: str) -> int:
        return sum(column.levels.get(level, 0) for column in self.held.values())

    def _has_place(self, cls: DemandClass) -> bool:
        return any(column.plan.seats().get(cls.index) for column in self.held.values())

    def _targets(self, home: int, group: Sequence[DemandClass]) -> list[int]:
        """Order the hosts a group may go to: those open to most of them and with most memory left first."""
        wanted = {cls.index for cls in group}
        found = []
        for position, task in enumerate(self.instance.tasks):
            here = wanted.intersection(task.options)
            if here and position != home:
                taken = sum(
                    count * self.instance.classes[index].demand.memory_mib
                    for index, _, count in self.held[position].plan.chosen
                )
                found.append((-len(here), taken - task.state.total_room.memory_mib, position))
        return [position for _, _, position in sorted(found)]


def place_leaving(
    instance: Instance, held: Mapping[int, Column], *, seed: int, should_stop: Callable[[], bool]
) -> tuple[dict[int, Column], float]:
    """Place existing VMs that have no place in an answer, as far as that is easy.

    Args:
        instance: the instance.
        held: a valid answer, a column for each host.
        seed: random seed.
        should_stop: asked between models.

    Returns:
        An answer at least as good at the levels "placed", and the work done.
    """
    placer = _Placer(instance, dict(held), seed, should_stop)
    position_of = {task.state.host.moid: position for position, task in enumerate(instance.tasks)}
    by_home: dict[int, list[DemandClass]] = defaultdict(list)
    for cls in instance.classes:
        if cls.vm is not None and cls.stay is None and cls.home in position_of:
            by_home[position_of[cls.home]].append(cls)
    for home, classes in sorted(by_home.items()):
        classes.sort(key=lambda cls: (-cls.demand.weight_milli, -cls.demand.memory_mib, cls.index))
        for start in range(0, len(classes), GROUP):
            placer.place(home, classes[start : start + GROUP])
    return placer.held, placer.work
