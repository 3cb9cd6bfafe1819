"""What hosts must have in common for the mix to be worth the same on them."""

from __future__ import annotations

from collections.abc import Hashable

from vplacer.solver.future.count import touched
from vplacer.solver.future.places import HostMix
from vplacer.solver.future.shapes import mix_shapes
from vplacer.solver.future.taken import Taken
from vplacer.solver.host_state import HostState


def what_counts(mix: HostMix, state: HostState) -> Hashable:
    """Return what tells the mix on a host from that on others, equal cards of a cell aside.

    Hosts of one family have the same shapes as the same objects. Members of device groups are told apart,
    and so is where a card may lie that somebody holds and nobody names.
    """
    grouped = any(ask.group for shape in mix_shapes(mix.problem) for ask in shape.demand.gpus)
    held = [
        (tuple(touched(need, Taken(frozenset(cards), count))), count)
        for cards, count in state.unnamed
        for shape in mix.shapes
        for need in shape.needs
    ]
    return tuple(map(id, mix.shapes)), tuple(held), state.cells if grouped else None
