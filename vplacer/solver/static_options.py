"""Options of demands whose cards are all bound by static backings, taken from those of the bare host.

What such an option promises depends on its own cards alone. So the options on a host that is left with
some of its cards are those on the bare host for which enough cards of each kind are left.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from vplacer.constraints.cards import devices_of_host
from vplacer.constraints.state import Problem
from vplacer.request.demand import AffinityMode
from vplacer.solver.cells import Cell, build_cells, kind_of_card
from vplacer.solver.host_state import HostState
from vplacer.solver.option import NOBODY, Asked, AskUse, Option
from vplacer.solver.options import NodeSets, options_of_cards


@dataclass(frozen=True, slots=True)
class _Bare:
    """The options on the bare host, and the cells that each takes cards of.

    ``taken``: how many cards, by option and cell.
    """

    options: tuple[Option, ...]
    cells: tuple[tuple[int, ...], ...]
    taken: npt.NDArray[np.int32]


class StaticOptions:
    """Options on bare hosts, and what of them is left."""

    def __init__(self) -> None:
        self._bare: dict[Hashable, _Bare | None] = {}
        self._moved: dict[tuple[int, tuple[int, ...]], Option] = {}
        self._places: dict[tuple[int, int], tuple[tuple[Cell, ...], tuple[int, ...] | None]] = {}

    def of(
        self, problem: Problem, asked: Asked, nodes: NodeSets, state: HostState, family: int
    ) -> tuple[Option, ...] | None:
        """Return all options, None where they cannot be told from those of the bare host."""
        if not _is_static(asked) or state.scarce:
            return None
        places = self._places_of(problem, state, family)
        if places is None:
            return None
        key = (family, asked, nodes)
        if key not in self._bare:
            self._bare[key] = _bare(problem, asked, nodes, state)
        bare = self._bare[key]
        if bare is None:
            return None
        sizes = np.zeros(bare.taken.shape[1], np.int32)
        sizes[list(places)] = [cell.size for cell in state.cells]
        index = {place: number for number, place in enumerate(places)}
        left = np.nonzero((bare.taken <= sizes).all(axis=1))[0].tolist()
        return tuple(
            self._at(bare.options[number], tuple(index[cell] for cell in bare.cells[number]))
            for number in left
        )

    def _places_of(self, problem: Problem, state: HostState, family: int) -> tuple[int, ...] | None:
        """Return which cell of the bare host each cell is part of; None unless they are in order."""
        key = (family, id(state.cells))
        if key not in self._places:
            full = _full_cells(problem, state)
            place = {kind_of_card(cell.card, state.topology): cell.index for cell in full}
            found = [place.get(kind_of_card(cell.card, state.topology), -1) for cell in state.cells]
            ordered = -1 not in found and found == sorted(set(found))
            self._places[key] = (state.cells, tuple(found) if ordered else None)
        return self._places[key][1]

    def _at(self, option: Option, cells: tuple[int, ...]) -> Option:
        """Return an option with other numbers of its cells, in the order in which they are named."""
        key = (id(option), cells)
        if key not in self._moved:
            self._moved[key] = _renumbered(option, cells)
        return self._moved[key]


def _is_static(asked: Asked) -> bool:
    functions = any(ask.kind == "sriov" for ask in asked.nics)
    return asked.mode is AffinityMode.PIN and not asked.shares and not functions


def _full_cells(problem: Problem, state: HostState) -> tuple[Cell, ...]:
    cards = devices_of_host(problem, state.host.moid)
    return build_cells(tuple(card for card in cards if card.unusable is None), state.topology)


def _bare(problem: Problem, asked: Asked, nodes: NodeSets, state: HostState) -> _Bare | None:
    """List the options on the bare host; None if they are too many to list all."""
    cells = _full_cells(problem, state)
    bare = replace(state, cells=cells, scarce=(), vgpu_held=())
    listed = options_of_cards(asked, bare, nodes, {}, NOBODY)
    if not listed.complete:
        return None
    takes = [_taken(option) for option in listed.options]
    taken = np.zeros((len(takes), len(cells)), np.int32)
    for number, counts in enumerate(takes):
        for cell, count in counts:
            taken[number, cell] = count
    return _Bare(listed.options, tuple(tuple(cell for cell, _ in counts) for counts in takes), taken)


def _taken(option: Option) -> tuple[tuple[int, int], ...]:
    """Cards an option takes of each cell, cells in the order in which they are first named."""
    found: dict[int, int] = {}
    for use in option.uses:
        for cell, count in use.cells:
            found[cell] = found.get(cell, 0) + count
    return tuple(found.items())


def _renumbered(option: Option, cells: tuple[int, ...]) -> Option:
    number = dict(zip((cell for cell, _ in _taken(option)), cells, strict=True))
    if all(old == new for old, new in number.items()):
        return option
    uses = tuple(_use(use, number) for use in option.uses)
    return replace(option, uses=uses)


def _use(use: AskUse, number: dict[int, int]) -> AskUse:
    return replace(use, cells=tuple((number[cell], count) for cell, count in use.cells))
