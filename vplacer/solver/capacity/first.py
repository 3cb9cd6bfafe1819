"""VMs that have to be placed before anything is counted: they run, and lost their host."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from vplacer.constraints.state import Placement, Problem
from vplacer.solver.classes import DemandClass
from vplacer.solver.loss.exact import decide


@dataclass(frozen=True, slots=True)
class First:
    """Where such VMs were put, and the ids of those without a place."""

    placements: tuple[Placement, ...] = ()
    homeless: tuple[str, ...] = ()

    def classes(self, problem: Problem, index: int) -> tuple[DemandClass, ...]:
        """Return each VM that was placed as a class of its own, numbered from ``index`` on."""
        return tuple(
            DemandClass(index + number, (placement.demand,), problem.demand_by_id[placement.demand])
            for number, placement in enumerate(self.placements)
        )


def place_first(
    problem: Problem, ids: tuple[str, ...], *, seed: int, should_stop: Callable[[], bool]
) -> First:
    """Place demands of a problem beside what runs, as many as possible."""
    if not ids:
        return First()
    request = problem.request
    demands = tuple(demand for demand in request.demands if demand.id in ids)
    options = replace(request.options, partial=True)
    alone = problem.with_request(replace(request, demands=demands, options=options))
    decision = decide(alone, seed=seed, should_stop=should_stop)
    return First(decision.placements, decision.homeless)
