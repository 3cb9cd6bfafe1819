"""The room that a plan leaves for VMs expected later, in words."""

from __future__ import annotations

from vplacer.plan.model import Plan
from vplacer.report.plan_words import aligned


def future_lines(plan: Plan, verbosity: int) -> list[str]:
    """Return how many more VMs of each shape of the mix fit; of a mix that nobody stated only in detail."""
    if not plan.future or not (plan.future[0].stated or verbosity > 1):
        return []
    stated = plan.future[0].stated
    of = "" if stated else "like "
    rows = [
        (f"{of}{room.name}", f"{room.after} more", f"(today {room.before})", f"share {room.share}")
        for room in plan.future
    ]
    head = "Room left for later" if stated else "Room left for more of the same"
    told = "each kind by itself, on its NUMA node where it fits one"
    return ["", f"{head} ({told})", *(f"  {line}" for line in aligned(rows))]
