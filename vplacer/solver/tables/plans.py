"""From the columns of a search to the plans of all hosts."""

from __future__ import annotations

from vplacer.solver.host_plan import HostPlan
from vplacer.solver.tables.host_seats import HostSeats, deal, host_plan
from vplacer.solver.tables.lp import Whole
from vplacer.solver.tables.search_parts import SearchParts


def plans_of(parts: SearchParts, held: Whole) -> dict[int, HostPlan]:
    """Return the plan of every host, by position.

    Args:
        parts: of the search that found the columns.
        held: the columns, and how many hosts take each.
    """
    tasks = parts.instance.tasks
    waiting = {number: list(kind.positions) for number, kind in enumerate(parts.kinds)}
    hosts = []
    for column, count in held:
        for _ in range(count):
            position = waiting[column.kind].pop(0)
            hosts.append(HostSeats(position, parts.own.seats(tasks[position], column)))
    dealt = deal(hosts, parts.items, parts.classes)
    return {position: host_plan(dealt.get(position, []), task) for position, task in enumerate(tasks)}
