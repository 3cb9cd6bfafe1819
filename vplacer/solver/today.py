"""Which existing VMs already meet their demand where they are."""

from __future__ import annotations

from vplacer.constraints.judge import check
from vplacer.constraints.state import Placement, Problem, State
from vplacer.constraints.today import placement_today


def meets_today(problem: Problem) -> dict[str, Placement]:
    """Return today's placement of every demand that has what it asks for and breaks no constraint."""
    found: dict[str, Placement] = {}
    for demand in problem.request.demands:
        if demand.vm is not None:
            placement = placement_today(problem, demand)
            if placement is not None:
                found[demand.id] = placement
    if not found:
        return {}
    broken = {
        violation.object for violation in check(State(problem, tuple(found[key] for key in sorted(found))))
    }
    return {key: placement for key, placement in found.items() if key not in broken}
