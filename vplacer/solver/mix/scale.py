"""How often a mix of shapes can be asked for before some resource runs out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

from vplacer.solver.mix.shape import FULL, Bin, Demand


def filling(bins: Sequence[Bin], demands: Sequence[Demand]) -> list[Demand]:
    """Return the demands scaled so that what is scarcest is asked for once: cores, memory or shares.

    Asked for less, room is left that no slot keeps; asked for more, the packing would choose the shapes
    that fit best and keep none for the others. Every shape is wanted at least once.
    """
    pairs = (
        (sum(d.wanted * d.shape.cores for d in demands), sum(item.cores for item in bins)),
        (sum(d.wanted * d.shape.memory for d in demands), sum(item.memory for item in bins)),
        (sum(d.wanted * d.shape.shares for d in demands), FULL * sum(item.devices for item in bins)),
    )
    scales = [Fraction(free, asked) for asked, free in pairs if asked]
    scale = min(scales, default=Fraction(0))
    return [replace(demand, wanted=max(1, round(demand.wanted * scale))) for demand in demands]
