"""Which sets of vGPUs a card takes beside those it holds, as the table the host model uses."""

from __future__ import annotations

from functools import lru_cache

from vplacer.constraints.holdings import AssignableDevice
from vplacer.constraints.matching import takes_profile
from vplacer.constraints.vgpu import ProfileShape, all_fit, profile_shape
from vplacer.inventory.host import Host
from vplacer.solver.cells import Cell
from vplacer.solver.host_state import HostState


def card_patterns(
    host: Host, card: AssignableDevice, held: tuple[str, ...], names: tuple[str, ...]
) -> list[tuple[int, ...]]:
    """Return every count vector over ``names`` that certainly fits the card, zeros included.

    A card that holds a profile the host does not describe takes nothing more.
    """
    shapes = tuple(profile_shape(host, n) if takes_profile(host, card, n) else None for n in names)
    held_shapes = tuple(profile_shape(host, name) for name in held)
    if any(shape is None for shape in held_shapes):
        return [(0,) * len(names)]
    return list(_patterns(card, tuple(s for s in held_shapes if s is not None), shapes))


def vgpu_room(state: HostState, cell: Cell, profile: str) -> int:
    """Return how many vGPUs of a profile a card still takes beside those of untouchable VMs."""
    held = dict(state.vgpu_held).get(cell.addresses[0], ())
    return max(pattern[0] for pattern in card_patterns(state.host, cell.card, held, (profile,)))


@lru_cache(maxsize=2048)
def _patterns(
    card: AssignableDevice, held: tuple[ProfileShape, ...], shapes: tuple[ProfileShape | None, ...]
) -> tuple[tuple[int, ...], ...]:
    found: list[tuple[int, ...]] = []

    def grow(position: int, counts: tuple[int, ...], chosen: tuple[ProfileShape, ...]) -> None:
        if position == len(shapes):
            found.append(counts)
            return
        shape = shapes[position]
        number = 0
        more: tuple[ProfileShape, ...] = chosen
        while True:
            grow(position + 1, (*counts, number), more)
            if shape is None:
                return
            number += 1
            more = (*more, shape)
            if not all_fit(card, held, more):
                return

    grow(0, (), ())
    return tuple(sorted(set(found)))
