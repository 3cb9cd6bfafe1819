"""Options whose promise holds because others leave vSphere no worse card to choose.

Static backings and VMs that stay take cards out of vSphere's choice; label-bound devices that take all
of a label do so for devices without one. What is left may all be near, or be exactly what is needed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import product

from vplacer.request.demand import BoundBy
from vplacer.solver.choice import ChoiceJudge, chosen_pool
from vplacer.solver.host_state import HostState
from vplacer.solver.nearness import CellPool
from vplacer.solver.option import Option, Takers, Way
from vplacer.topology.levels import Level


class Narrowing:
    """Lists the options of choices that promise more than these do by themselves, each for what it needs."""

    def __init__(self, judge: ChoiceJudge, takers: Takers) -> None:
        """Take the judge of what is asked for on a host, and who may take cards out of a choice."""
        self.judge, self.takers = judge, takers
        self._pools: dict[int, tuple[Way, list[CellPool]]] = {}

    def options(self, nodes: tuple[int, ...], choice: Sequence[Way], points: int | None) -> list[Option]:
        """List them for one choice.

        Args:
            nodes: nodes of its CPU and memory.
            choice: a way to serve each ask.
            points: locality points of the choice by itself; None = it breaks a wish.
        """
        best = {at: chosen_pool(way.use) for at, way in enumerate(choice) if self._narrows(way)}
        if not best:
            return []
        # Nothing promises more than the cards chosen, each for sure.
        broken, most = self.judge.choice(nodes, choice, best)
        if broken is not None or most == points:
            return []
        narrower = [self._narrower(way) if at in best else [] for at, way in enumerate(choice)]
        wide = [self.judge.pool(way) for way in choice]
        uses = tuple(way.use for way in choice)
        reached: list[Option] = [] if points is None else [Option(nodes, uses, points)]
        found: list[Option] = []
        candidates = []
        for picked in product(*([None, *pools] for pools in narrower)):
            narrowed = {at: pool for at, pool in enumerate(picked) if pool is not None}
            if narrowed:
                gone = {
                    cell
                    for at, pool in narrowed.items()
                    for cell in wide[at].cells
                    if pool.sure or cell not in pool.cells
                }
                candidates.append(
                    (len(gone), tuple(sorted(gone)), any(p.sure for p in narrowed.values()), narrowed)
                )
        for _, gone_cells, alone, narrowed in sorted(candidates, key=lambda item: item[:3]):
            broken, gained = self.judge.choice(nodes, choice, narrowed)
            option = Option(nodes, uses, gained, gone_cells, alone)
            if broken is None and not any(_as_good(other, option) for other in reached):
                found.append(option)
                reached.append(option)
        return found

    def _narrows(self, way: Way) -> bool:
        """Whether others may take cards out of the choice of a way."""
        if way.use.resource not in ("card", "group"):
            return False
        pool, takers = self.judge.pool(way), self.takers
        may = takers.static or (takers.label and way.use.bound_by is BoundBy.PLATFORM)
        unnamed = any(set(group).intersection(pool.cells) for group, _ in self.judge.state.scarce)
        return may and not pool.sure and not unnamed

    def _narrower(self, way: Way) -> list[CellPool]:
        if id(way) not in self._pools:
            self._pools[id(way)] = (way, _pools(way, self.judge.pool(way), self.judge.state))
        return self._pools[id(way)][1]


def _as_good(one: Option, other: Option) -> bool:
    """Whether an option promises no less than another and needs no more."""
    return (
        one.points >= other.points
        and set(one.settles) <= set(other.settles)
        and (other.alone or not one.alone)
    )


def _pools(way: Way, pool: CellPool, state: HostState) -> list[CellPool]:
    """To which cells the choice of a way among a pool may be narrowed: those counted in the way first."""
    chosen = chosen_pool(way.use)
    found = [chosen]
    if way.use.resource == "card":
        seen = {frozenset(pool.cells)}
        for near in _nearnesses(chosen, state):
            cells = tuple(cell for cell in pool.cells if near(cell))
            if frozenset(cells) not in seen and set(chosen.cells) <= set(cells):
                seen.add(frozenset(cells))
                found.append(CellPool(cells, sure=False))
    return found


def _nearnesses(chosen: CellPool, state: HostState) -> list[Callable[[int], bool]]:
    """Ways in which other cells are as good as those chosen: one switch, NVLink group, node or socket."""

    def place(cell: int, of: str) -> object:
        device = state.topology.device(state.cells[cell].addresses[0])
        return getattr(device, of) if device is not None else None

    def shares(of: str) -> Callable[[int], bool]:
        places = {place(cell, of) for cell in chosen.cells} - {None}
        return lambda cell: place(cell, of) in places

    def joined(cell: int) -> bool:
        mine = state.cells[cell].addresses[0]
        return cell in chosen.cells or all(
            state.topology.relation(mine, state.cells[other].addresses[0]).satisfies(Level.NVLINK)
            for other in chosen.cells
        )

    return [shares("switch"), joined, shares("node"), shares("package")]
