"""A VM that is said to stay as it is really is what is asked for."""

from __future__ import annotations

from collections.abc import Iterable

from vplacer.constraints.registry import Check
from vplacer.constraints.state import State, Violation
from vplacer.constraints.today import differences_today, placement_today

ID = "stays"


def check(state: State) -> Iterable[Violation]:
    """Compare the placements of VMs that stay with what they are today."""
    for placement in state.placements:
        if not placement.stays:
            continue
        demand = state.problem.demand_by_id[placement.demand]
        today = placement_today(state.problem, demand)
        if today is None:
            why = "; ".join(differences_today(state.problem, demand))
            yield Violation(ID, demand.id, f"cannot stay as it is: {why}", host=placement.host)
        elif placement != today:
            yield Violation(
                ID, demand.id, "the placement is not the VM's place of today", host=placement.host
            )


CHECK = Check(ID, "VMs that stay are as asked", "across", check)
