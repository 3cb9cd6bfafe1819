"""The cells of the kinds of card that are asked for: whoever wants GPUs alone never looks at NICs.

So hosts that are left with the same GPUs share the lists of such demands, whatever NICs they are left with.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from vplacer.solver.host_state import HostState
from vplacer.solver.option import Asked, AskUse, Option


@dataclass(frozen=True, slots=True)
class CellsAsked:
    """A host with some of its cells, numbered from 0, and the numbers that they have on the host."""

    state: HostState
    numbers: tuple[int, ...]


def kinds_asked(asked: Asked) -> frozenset[str]:
    """Return the kinds of card that can serve what is asked for. A device group may have cards of any."""
    if asked.groups:
        return frozenset({"gpu", "nic"})
    return frozenset(kind for kind, asks in (("gpu", asked.gpus), ("nic", asked.nics)) if asks)


def cells_asked(state: HostState, kinds: frozenset[str]) -> CellsAsked | None:
    """Return a host with its cells of some kinds of card, None if it has no others."""
    numbers = tuple(cell.index for cell in state.cells if cell.card.kind in kinds)
    if len(numbers) == len(state.cells):
        return None
    new = {old: number for number, old in enumerate(numbers)}
    cells = tuple(replace(state.cells[old], index=number) for old, number in new.items())
    scarce = []
    for group, count in state.scarce:
        left = tuple(new[cell] for cell in group if cell in new)
        if left:
            scarce.append((left, count))
    return CellsAsked(replace(state, cells=cells, scarce=tuple(scarce)), numbers)


def on_host(options: tuple[Option, ...], numbers: tuple[int, ...]) -> tuple[Option, ...]:
    """Return options on some cells of a host with the numbers that the cells have on the host."""
    if numbers == tuple(range(len(numbers))):
        return options
    return tuple(_option(option, numbers) for option in options)


def _option(option: Option, numbers: tuple[int, ...]) -> Option:
    uses = tuple(_use(use, numbers) for use in option.uses)
    settles = tuple(numbers[cell] for cell in option.settles)
    return Option(option.nodes, uses, option.points, settles, option.alone)


def _use(use: AskUse, numbers: tuple[int, ...]) -> AskUse:
    if not use.cells and not use.pools:
        return use
    cells = tuple((numbers[cell], count) for cell, count in use.cells)
    pools = tuple(tuple(numbers[cell] for cell in pool) for pool in use.pools)
    return replace(use, cells=cells, pools=pools)
