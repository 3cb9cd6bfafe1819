"""Slots kept for the mix expected later, as text: how many of each shape, and on which hosts."""

from __future__ import annotations

from collections import Counter

from vplacer.plan.slots_file import SlotSet
from vplacer.report.demand_words import demand_text
from vplacer.report.infeasible_text import shorten
from vplacer.report.plan_words import aligned


def slots_lines(found: SlotSet) -> list[str]:
    """Return a line a shape: share, slots, what it asks for, and the hosts with the number on each."""
    names = dict(found.names)
    rows = []
    for shape in found.mix:
        count = Counter(slot.host for slot in found.slots if slot.shape == shape.name)
        where = [f"{names.get(host, host)} {number}" for host, number in count.items()]
        rows.append(
            (
                shape.name,
                f"share {shape.share}",
                f"{count.total()} {'slot' if count.total() == 1 else 'slots'}",
                demand_text(shape.demand),
                shorten(where) if where else "no room beside the others",
            )
        )
    return [
        "Slots kept for the mix expected later, beside what runs",
        "",
        *(f" {row}" for row in aligned(rows)),
    ]
