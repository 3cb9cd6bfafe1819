"""Which slots a site is to keep for a mix: the mix as often as it fits beside what runs."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from vplacer.constraints.state import Placement, Problem
from vplacer.request.demand import Demand, FutureShape, Rules
from vplacer.solver.arrivals.kept import KeptSlot, slot_demand
from vplacer.solver.capacity.room import capacity
from vplacer.solver.solve import solve
from vplacer.solver.verdict import SolveOptions, StoppedBy

Stop = Callable[[], StoppedBy | None]

MOST_TRIES = 6
"""Solves in search of how often the mix fits; what is not found by then stays room that no slot keeps."""

FINE = 1_000_000
"""Scales are fractions of at most this denominator."""

LEVELS = ("placed", "locality", "room", "hosts")
"""What counts when it is known how often the mix fits: slots are near their cards, and CPU-only ones are kept
off hosts with GPUs."""

CLOSE = Fraction(103, 100)
"""The search ends when the mix is known to fit once, and not to fit this much more often."""

NEARLY = Fraction(97, 100)
"""The mix counts as fitting if so much of its value finds a place: without the rest, room stays that only
some of its shapes can use."""


@dataclass(frozen=True, slots=True)
class Kept:
    """Slots for a mix. ``without``: shapes of which not even one fits. ``stopped_by``: which limit ended
    the search; None = it came to its end."""

    slots: tuple[KeptSlot, ...]
    mix: tuple[FutureShape, ...]
    without: tuple[str, ...]
    stopped_by: StoppedBy | None


def keep_slots(
    problem: Problem, mix: Sequence[FutureShape], options: SolveOptions, stop: Stop = lambda: None
) -> Kept:
    """Return slots for a mix, in its proportions, on what the running VMs leave.

    How often the mix fits is found by trying: asked for less, room is left that no slot keeps; asked for
    more, the solver would choose the shapes that fit best and keep none for the others. Of no shape more
    are asked for than fit by themselves, so that a scarce one does not hold back the others; of each that
    fits at all, one at least.

    Args:
        problem: inventory and topologies; what its request asks for is not looked at.
        mix: the shapes and their shares.
        options: limits and seed of each solve.
        stop: asked now and then; a reason ends the search with what was found.
    """
    empty = problem.with_request(replace(problem.request, demands=(), rules=Rules(), future=tuple(mix)))
    rooms = {room.kind.names[0]: room.value for room in capacity(empty, seed=options.seed, stop=stop).kinds}
    fitting = [shape for shape in mix if rooms[shape.name]]
    search = _Search(empty, fitting, rooms, options, stop)
    if fitting:
        search.run()
    return Kept(
        slots=_numbered(search.best, fitting),
        mix=tuple(mix),
        without=tuple(shape.name for shape in mix if not rooms[shape.name]),
        stopped_by=stop(),
    )


class _Search:
    """Looks for the largest scale at which nearly all of the mix finds a place.

    ``rooms``: how many of each shape fit by themselves.
    """

    def __init__(
        self,
        problem: Problem,
        mix: Sequence[FutureShape],
        rooms: Mapping[str, int],
        options: SolveOptions,
        stop: Stop,
    ) -> None:
        self.problem, self.mix, self.rooms, self.stop = problem, mix, rooms, stop
        self.options = options
        self.best: tuple[tuple[str, Placement], ...] = ()
        self._whole: Fraction | None = None
        self._tries = 0

    def run(self) -> None:
        """Find the scale, then the best places for as many slots."""
        self._narrow()
        if self._whole is not None and self.stop() is None:
            slots, whole = self._solved(self._whole, LEVELS)
            if whole:
                self.best = slots

    def _narrow(self) -> None:
        """Narrow the scale from both sides.

        Where every shape takes its part of the room by itself, the mix fits as often as the parts make one;
        and asked for more often than what fits most often, nothing more is asked for.
        """
        parts = [Fraction(shape.share, self.rooms[shape.name]) for shape in self.mix]
        low, high = 1 / sum(parts, Fraction(0)), 1 / min(parts)
        if self._fits(high):
            return
        while not self._fits(low):
            high = low
            low /= 2
            if not self._more() or max(self._counts(low)) <= 1:
                return
        while self._more() and high > low * CLOSE and self._counts(low) != self._counts(high):
            middle = Fraction(math.sqrt(low * high)).limit_denominator(FINE)
            if self._fits(middle):
                low = middle
            else:
                high = middle

    def _more(self) -> bool:
        return self._tries < MOST_TRIES and self.stop() is None

    def _counts(self, scale: Fraction) -> list[int]:
        return [max(1, min(self.rooms[shape.name], int(shape.share * scale))) for shape in self.mix]

    def _fits(self, scale: Fraction) -> bool:
        """Try a scale, and keep its slots if nearly all have a place, or if none were kept yet."""
        self._tries += 1
        slots, whole = self._solved(scale, ("placed",))
        if whole:
            self._whole = scale
        if whole or not self.best:
            self.best = slots
        return whole

    def _solved(
        self, scale: Fraction, levels: tuple[str, ...]
    ) -> tuple[tuple[tuple[str, Placement], ...], bool]:
        """Place the mix so often: shapes, places, and whether nearly all have one."""
        demands: list[Demand] = []
        shape_of: dict[str, str] = {}
        for shape, count in zip(self.mix, self._counts(scale), strict=True):
            for _ in range(count):
                demand = slot_demand(shape.demand, len(demands))
                demands.append(demand)
                shape_of[demand.id] = shape.name
        request = self.problem.request
        asked = replace(
            request, demands=tuple(demands), options=replace(request.options, partial=True), future=()
        )
        solution = solve(
            self.problem.with_request(asked),
            replace(self.options, levels=levels, explained=False),
            self.stop,
        )
        found = tuple((shape_of[placement.demand], placement) for placement in solution.placements)
        placed = {placement.demand for placement in solution.placements}
        value = sum(demand.weight_milli for demand in demands if demand.id in placed)
        return found, value >= NEARLY * sum(demand.weight_milli for demand in demands)


def _numbered(found: Sequence[tuple[str, Placement]], mix: Sequence[FutureShape]) -> tuple[KeptSlot, ...]:
    """Number slots by shape in the order of the mix, then by host."""
    order = {shape.name: number for number, shape in enumerate(mix)}
    values = {shape.name: shape.demand.weight_milli for shape in mix}
    ordered = sorted(found, key=lambda item: (order[item[0]], item[1].host, item[1].demand))
    return tuple(
        KeptSlot(number, shape, placement.host, placement.nodes, placement.devices, values[shape])
        for number, (shape, placement) in enumerate(ordered, 1)
    )
