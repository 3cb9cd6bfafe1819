"""Many hosts and VMs that may move: one block of hosts after the other is chosen anew, VMs moved among them.

The answer begins as the best with nothing moved. What a block comes to is taken if it is better, so that the
search can be stopped at any time.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from vplacer.constraints.disturbance import disturbance_of
from vplacer.constraints.state import Placement, Problem, State
from vplacer.request.demand import Demand
from vplacer.solver.exact import CHANGE_LEVELS, Answer
from vplacer.solver.homeward import homeward
from vplacer.solver.instance import Instance
from vplacer.solver.moved_hosts import tasks_after
from vplacer.solver.moving_blocks import blocks_of
from vplacer.solver.part import part_of, tied_classes
from vplacer.solver.tables.movers import mover_kinds, moving_site
from vplacer.solver.tables.moving_source import LIMITS

if TYPE_CHECKING:
    from vplacer.solver.tables.moving_search import MovingAnswer

Placed = tuple[Placement, ...]

Search = Callable[[Instance], Placed]
"""Searches an instance in which nobody moves, and returns the placements of its new VMs."""


@dataclass(frozen=True)
class Moved:
    """Placements of all demands that have a place; values and bounds of levels, in the maximised sense."""

    placements: Placed
    answer: Answer


@dataclass
class MovesSearch:
    """One search.

    ``held``: the instance with nothing moved. ``today``: placements of existing VMs. ``movable``: demands of
    those that may move. ``search``: finds the best that is left once VMs have moved.
    """

    problem: Problem
    held: Instance
    today: Mapping[str, Placement]
    movable: Collection[str]
    search: Search
    seed: int
    should_stop: Callable[[], bool]

    def __post_init__(self) -> None:
        self._class_of = {member: cls for cls in self.held.classes for member in cls.members}
        self._priorities = sorted({cls.demand.priority for cls in self.held.classes}, reverse=True)
        self.moved: dict[str, Placement] = {}
        self.new: dict[str, Placement] = {}
        self._kinds: Sequence[Sequence[Demand]] = ()
        self._last: MovingAnswer | None = None

    def run(self, answer: Answer, placed: Placed) -> Moved:
        """Return what was found, from the best with nothing moved: its answer, and where the new VMs are."""
        self.new = {placement.demand: placement for placement in placed}
        home = self._homes()
        if all(cls.vm is None for cls in self.held.classes):
            tied = tied_classes(self.held)
            self._kinds = mover_kinds(self.problem, home)
            blocks = blocks_of(self.problem, home, {p.host for p in placed if self._is_of(p, tied)})
            for block in blocks:
                if self.should_stop() or len(self.new) == len(self._class_of):
                    break
                self._block(block, tied, home)
        return self._result(answer)

    def _is_of(self, placement: Placement, classes: Collection[int]) -> bool:
        return self._class_of[placement.demand].index in classes

    def _homes(self) -> dict[str, str]:
        """Hosts of those that may move."""
        found: dict[str, str] = {}
        for demand in self.movable:
            vm = self.problem.inventory.vm_by_moid.get(self.problem.demand_by_id[demand].vm or "")
            if vm is not None and vm.host is not None and vm.host in self.problem.topologies:
                found[demand] = vm.host
        return found

    def _block(self, block: tuple[str, ...], tied: Collection[int], home: Mapping[str, str]) -> None:
        """Choose the hosts of a block anew; ``tied``: classes whose VMs stay where they are."""
        from vplacer.solver.tables.moving_answer import placements_of, sound
        from vplacer.solver.tables.moving_search import MovingSearch

        hosts = set(block)
        here = [placement for placement in self.new.values() if placement.host in hosts]
        waiting = {m for m, cls in self._class_of.items() if m not in self.new and cls.index not in tied}
        members = waiting.union(p.demand for p in here)
        part = part_of(self.held, hosts, members)
        site = moving_site(self.problem, part, self.today, self._kinds, hosts, self._spent())
        if site is None:
            return
        search = MovingSearch(site, self.seed, self.should_stop)
        found = self._last = search.run(self._last)
        placements = placements_of(search, sound(search, found.whole), self.today)
        moved = {p.demand: p for p in placements if p.demand in home and not p.stays}
        if moved and not self.should_stop():
            self._take(block, part, here, moved)

    def _spent(self) -> dict[str, int]:
        """What the moves so far take of their limits."""
        changes = [disturbance_of(self.problem, placement) for placement in self.moved.values()]
        return {
            name: sum(change.power_cycle if cold else change.moves for change in changes)
            for name, cold in LIMITS.items()
        }

    def _take(
        self,
        block: tuple[str, ...],
        part: Instance,
        here: list[Placement],
        moved: dict[str, Placement],
    ) -> None:
        """Keep moves of a block, and what can be placed after them, if that is more than before."""
        tasks, complete = tasks_after(self.held, block, moved)
        levels = tuple(level for level in part.levels if level.id.startswith("placed:"))
        placed = self.search(replace(part, tasks=tasks, levels=levels, complete=part.complete and complete))
        if self._values(p.demand for p in placed) > self._values(p.demand for p in here):
            for placement in here:
                del self.new[placement.demand]
            self.new |= {placement.demand: placement for placement in placed}
            self.moved |= homeward(self.problem, moved, placed)

    def _values(self, demands: Iterable[str]) -> list[int]:
        """Weight of new VMs by priority, the highest first."""
        found: Counter[int] = Counter()
        for identity in demands:
            demand = self._class_of[identity].demand
            found[demand.priority] += demand.weight_milli
        return [found[priority] for priority in self._priorities]

    def _by_level(self, demands: Iterable[str]) -> dict[str, int]:
        values = zip(self._priorities, self._values(demands), strict=True)
        return {f"placed:{priority}": value for priority, value in values}

    def _result(self, answer: Answer) -> Moved:
        from vplacer.solver.score import measure

        settled = tuple(p for p in self.held.settled if p.demand not in self.moved)
        every = (*settled, *self.moved.values(), *self.new.values())
        placements = tuple(sorted(every, key=lambda placement: placement.demand))
        values = answer.values | self._by_level(self.new)
        # Of what is placed, that is all that is asked for; no move is the least.
        bounds: dict[str, int | None] = dict.fromkeys(values) | self._by_level(self._class_of)
        changes = tuple(level for level in self.held.levels if level.id in CHANGE_LEVELS)
        for name, cost in measure(State(self.problem, placements), changes).items():
            values[name], bounds[name] = -cost, 0
        stopped = any(bounds[name] != value for name, value in values.items())
        return Moved(placements, Answer((), values, bounds, stopped))
