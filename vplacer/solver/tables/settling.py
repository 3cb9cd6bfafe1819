"""Whether an option that counts on all other cards of a choice being taken can ever hold on a host.

They must go to VMs that surely take them: with static backings or by labels, in whole cards. Such VMs need
cores and memory too, of which a filled host has little left.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from vplacer.constraints.supply import Amount, consumer_of_demand
from vplacer.request.demand import BoundBy, RequestOptions
from vplacer.solver.classes import DemandClass
from vplacer.solver.host_model import HostTask
from vplacer.solver.option import Option

_NOTHING = Amount(0, 0)


@dataclass(frozen=True, slots=True)
class _Taker:
    """What a class of VMs surely takes at once: cards of a kind at most, cells they may be of, its size."""

    kind: str
    cards: int
    cells: frozenset[int]
    size: Amount


class Settling:
    """Tells of options on the hosts of one family whether they may hold."""

    def __init__(self, classes: tuple[DemandClass, ...], options: RequestOptions) -> None:
        """Take the classes, and options of the request that sizes depend on."""
        self._classes, self._options = classes, options
        self._takers: dict[object, tuple[_Taker, ...]] = {}
        self._of_task: dict[int, tuple[_Taker, ...]] = {}
        self._sizes: dict[tuple[int, tuple[int, ...]], Amount] = {}

    def may_hold(self, option: Option, index: int, task: HostTask) -> bool:
        """Whether an option of a class may hold on a host; never wrongly no."""
        state = task.state
        if not option.settles or state.actives:
            return True
        own = {
            cell: sum(n for use in option.uses for at, n in use.cells if at == cell)
            for cell in option.settles
        }
        left = {cell: count for cell, mine in own.items() if (count := state.cells[cell].size - mine) > 0}
        if not left:
            return True
        takers = self._of(task)
        room = self._room(task) - self._size(index, option.nodes, task)
        if room.millicores < 0 or room.memory_mib < 0:
            return False
        for kind in {state.cells[cell].card.kind for cell in left}:
            cells = {cell for cell in left if state.cells[cell].card.kind == kind}
            mine = [taker for taker in takers if taker.kind == kind and not cells.isdisjoint(taker.cells)]
            if not all(any(cell in taker.cells for taker in mine) for cell in cells):
                return False
            count = sum(left[cell] for cell in cells)
            # Each takes so many at most: the least that all of them need of the host.
            cores = min(-(-count * taker.size.millicores // taker.cards) for taker in mine)
            memory = min(-(-count * taker.size.memory_mib // taker.cards) for taker in mine)
            if cores > room.millicores or memory > room.memory_mib:
                return False
        return True

    def _room(self, task: HostTask) -> Amount:
        """No less than what is left of a host for all that is new."""
        state = task.state
        cores = sum(max(0, room.millicores) for room in state.room)
        memory = sum(max(0, room.memory_mib) for room in state.room)
        return Amount(
            min(cores, max(0, state.total_room.millicores)),
            min(memory, max(0, state.total_room.memory_mib)),
        )

    def _size(self, index: int, nodes: tuple[int, ...], task: HostTask) -> Amount:
        if (index, nodes) not in self._sizes:
            # VMs are of one size on all hosts of a family.
            demand = self._classes[index].demand
            consumer = consumer_of_demand(demand, nodes, task.state.host, self._options)
            self._sizes[index, nodes] = consumer.whole if consumer is not None else _NOTHING
        return self._sizes[index, nodes]

    def _of(self, task: HostTask) -> tuple[_Taker, ...]:
        """Who may surely take cards of a host, whether or not there is room for them."""
        if id(task) not in self._of_task:
            self._of_task[id(task)] = self._listed(task)
        return self._of_task[id(task)]

    def _listed(self, task: HostTask) -> tuple[_Taker, ...]:
        key = tuple((index, id(listed)) for index, listed in sorted(task.options.items()))
        if key not in self._takers:
            found = []
            for index, listed in sorted(task.options.items()):
                found += self._takers_of(index, listed, task)
            self._takers[key] = tuple(found)
        return self._takers[key]

    def _takers_of(self, index: int, listed: tuple[Option, ...], task: HostTask) -> list[_Taker]:
        most: dict[str, int] = {}
        cells: dict[str, set[int]] = {}
        for option in listed:
            taken: Mapping[str, int] = _surely_taken(option, task, cells)
            for kind, count in taken.items():
                most[kind] = max(most.get(kind, 0), count)
        if not most:
            return []
        sizes = {self._size(index, nodes, task) for nodes in {option.nodes for option in listed}}
        size = Amount(min(s.millicores for s in sizes), min(s.memory_mib for s in sizes))
        return [_Taker(kind, count, frozenset(cells[kind]), size) for kind, count in most.items()]


def _surely_taken(option: Option, task: HostTask, cells: dict[str, set[int]]) -> dict[str, int]:
    """Cards by kind that an option surely takes; its cells are added to those known."""
    found: dict[str, int] = {}
    for use in option.uses:
        if use.bound_by is BoundBy.PLATFORM:
            continue
        for cell, count in use.cells:
            kind = task.state.cells[cell].card.kind
            found[kind] = found.get(kind, 0) + count
            cells.setdefault(kind, set()).add(cell)
    return found
