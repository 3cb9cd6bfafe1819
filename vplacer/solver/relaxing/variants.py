"""The ways in which VMs without a place could be asked for more modestly: those that may matter."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from vplacer.constraints import costs
from vplacer.constraints.registry import Relaxation
from vplacer.constraints.state import Problem
from vplacer.request.demand import Demand
from vplacer.solver.conflicts.conflict import Conflict
from vplacer.solver.conflicts.oracle import Asked, Oracle
from vplacer.solver.relax import with_field
from vplacer.solver.relaxing.catalogue import demand_at, demands_below, ladders_of
from vplacer.solver.relaxing.lattice import Point, Step, cheapest_points

MOST_VARIANTS = 6
"""So many a kind of VM."""

MOST_TRIES = 150
"""So many times at most one VM by itself is tried."""


@dataclass(frozen=True, slots=True)
class Variant:
    """A demand that asks for less, and the steps it takes: fields and what becomes of them."""

    demand: Demand
    steps: tuple[tuple[str, Step], ...]

    @property
    def cost(self) -> int:
        """What a VM costs that is asked for so."""
        return sum(step.cost for _, step in self.steps)


@dataclass(frozen=True, slots=True)
class Variants:
    """``complete``: whatever else of the catalogue helps costs more, or gives up more."""

    found: tuple[Variant, ...]
    complete: bool


def as_variant(problem: Problem, demand: Demand, way: Relaxation) -> Variant | None:
    """Return a way out that changes one wish as a variant, None for another."""
    if way.field is None or way.value is None:
        return None
    changed = with_field(problem, demand, way.field, way.value)
    if changed is None:
        return None
    # What a way out says of the number of VMs that it helps is no part of the change.
    text = way.text.partition(": makes room for ")[0]
    cost = way.cost - costs.PARTIAL if text != way.text else way.cost
    return Variant(changed, ((way.field, Step(way.value, cost, text)),))


def variants_of(
    alone: Oracle, demand: Demand, conflicts: Sequence[Conflict], tried: Sequence[Variant] = ()
) -> Variants:
    """Return the cheapest ways to ask for less that hit the conflicts of a demand.

    Args:
        alone: answers for one VM by itself.
        demand: the demand.
        conflicts: what keeps it without a place.
        tried: variants known to help beside the other VMs.
    """
    problem = alone.problem
    ladders = ladders_of(problem, demand)
    fields = {part.field for conflict in conflicts for part in conflict.parts if part.kind == "wish"}

    def fits(one: Demand) -> bool:
        return alone.fits(Asked((one,), (), problem.request.rules, problem.request.options))

    def helps(point: Point) -> bool:
        return any(fits(one) for one in demands_below(problem, demand, ladders, point))

    if fits(demand):
        # Only together with others there is no place: any step on a field in conflict may matter.
        points = [
            tuple(height if at == index else 0 for at in range(len(ladders)))
            for index, ladder in enumerate(ladders)
            if ladder.field in fields
            for height in range(1, len(ladder.steps) + 1)
        ]
        complete = True
    else:
        points, complete = cheapest_points(ladders, helps, MOST_VARIANTS, MOST_TRIES)
    found = []
    for point in points:
        steps = tuple(
            (ladder.field, ladder.steps[height - 1])
            for ladder, height in zip(ladders, point, strict=True)
            if height
        )
        found.append(Variant(demand_at(problem, demand, ladders, point), steps))
    known = {variant.demand for variant in tried}
    found = [*tried, *(item for item in found if item.demand not in known and fits(item.demand))]
    # What costs no less than to leave the VM out is nothing to ask for.
    cheap = [item for item in found if item.cost < costs.LEFT_OUT]
    ranked = sorted(cheap, key=lambda item: (item.cost, [step.text for _, step in item.steps]))
    return Variants(tuple(ranked[:MOST_VARIANTS]), complete and len(ranked) <= MOST_VARIANTS)
