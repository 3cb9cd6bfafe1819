"""What a solution says, as plain data: its levels with gaps, what was placed, the judge's word, a sum."""

from __future__ import annotations

import hashlib
from typing import Any

from vplacer.constraints.judge import check
from vplacer.constraints.state import Problem, State
from vplacer.solver.verdict import LevelResult, Solution


def outcome(problem: Problem, answer: Solution) -> dict[str, Any]:
    """Return a solution's figures. The judge is asked anew, beside what the solver asked it."""
    demands = problem.demand_by_id
    placed = [demands[p.demand] for p in answer.placements if demands[p.demand].vm is None]
    moved = [p for p in answer.placements if demands[p.demand].vm is not None and not p.stays]
    unplaced = set(answer.unplaced)
    asked = Problem(problem.inventory, problem.topologies, problem.request)
    faults = [v for v in check(State(asked, answer.placements)) if v.object not in unplaced]
    return {
        "status": answer.status.value,
        "stopped_by": None if answer.stopped_by is None else answer.stopped_by.value,
        "levels": [_level(problem, level) for level in answer.levels],
        "placed_vms": len(placed),
        "placed_gpus": sum(demand.weight_milli for demand in placed if demand.gpus) / 1000,
        "moved_vms": len(moved),
        "sha256": hashlib.sha256(repr((answer.placements, answer.levels)).encode()).hexdigest(),
        "judge": "passed" if not faults else f"{faults[0].constraint}: {faults[0].evidence}",
    }


def _level(problem: Problem, level: LevelResult) -> dict[str, Any]:
    """Return a level; its gap in percent of the bound, without what VMs that exist count for anyway."""
    there = 0
    if level.id.startswith("placed:"):
        priority = int(level.id.partition(":")[2])
        there = sum(
            demand.weight_milli
            for demand in problem.request.demands
            if demand.vm is not None and demand.priority == priority
        )
    return {
        "id": level.id,
        "value": level.value,
        "bound": level.bound,
        "unit": level.unit,
        "gap": level.gap,
        "gap_percent": gap_percent(level.value - there, None if level.bound is None else level.bound - there),
    }


def gap_percent(value: int, bound: int | None) -> float | None:
    """Return the distance to the bound in percent of the greater of both; None = no bound."""
    if bound is None:
        return None
    return 0.0 if bound == value else 100 * abs(bound - value) / max(abs(bound), abs(value))
