"""The shapes that level "room" counts with, and what one more VM of each is worth."""

from __future__ import annotations

from dataclasses import dataclass

from vplacer.constraints.state import Problem
from vplacer.request.demand import Demand, FutureShape
from vplacer.request.future import future_mix

MOST_SHAPES = 12
"""Shapes counted: those that make up most of the mix, by share times weight."""


@dataclass(frozen=True, slots=True)
class MixShape:
    """A shape of the mix. ``points``: its weight in thousandths of a GPU times its part of the mix."""

    index: int
    name: str
    demand: Demand
    points: int


def mix_shapes(problem: Problem) -> tuple[MixShape, ...]:
    """Return the shapes to count with, in the order of the mix."""
    return problem.derive(_shapes)


def left_out(problem: Problem) -> tuple[str, ...]:
    """Return the names of the shapes of the mix that are too small a part of it to be counted."""
    kept = {shape.name for shape in mix_shapes(problem)}
    return tuple(shape.name for shape in _counted(problem) if shape.name not in kept)


def _shapes(problem: Problem) -> tuple[MixShape, ...]:
    mix = _counted(problem)
    order = sorted(range(len(mix)), key=lambda at: (-mix[at].share * mix[at].demand.weight_milli, at))
    kept = [mix[at] for at in sorted(order[:MOST_SHAPES])]
    whole = sum(shape.share for shape in kept)
    return tuple(
        MixShape(number, shape.name, shape.demand, _points(shape, whole)) for number, shape in enumerate(kept)
    )


def _points(shape: FutureShape, whole: int) -> int:
    """Round share times weight to whole points, at least one."""
    return max(1, (2 * shape.share * shape.demand.weight_milli + whole) // (2 * whole))


def _counted(problem: Problem) -> tuple[FutureShape, ...]:
    """Return the mix; of one that nobody stated only what takes devices, which are what is scarce."""
    mix = future_mix(problem.request)
    if problem.request.future:
        return mix
    return tuple(shape for shape in mix if shape.demand.has_devices)
