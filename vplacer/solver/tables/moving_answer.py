"""From the columns of hosts some of whose VMs move to placements."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace

from vplacer.constraints.state import Placement
from vplacer.errors import InternalError
from vplacer.solver.decode import decode
from vplacer.solver.host_model import HostTask
from vplacer.solver.host_plan import HostPlan
from vplacer.solver.tables.host_seats import HostSeats, deal, host_plan, vgpus_needed
from vplacer.solver.tables.lp import LightColumn, Whole
from vplacer.solver.tables.mend import staying
from vplacer.solver.tables.moving_search import MovingSearch
from vplacer.solver.tables.moving_source import Taken


def sound(search: MovingSearch, whole: Whole) -> Whole:
    """Return the columns that the host model takes; hosts of the others are as they are today."""
    each = [column for column, count in whole for _ in range(count)]
    kept = [column for column in each if not _open(column) or search.holds(column)]
    if len(kept) == len(each):
        return whole
    return [(column, 1) for column in staying(kept, search.items, search.worth)]


def _open(column: LightColumn) -> bool:
    return isinstance(column.source, Taken) and bool(column.source.beginning.gone)


def placements_of(
    search: MovingSearch, whole: Whole, today: Mapping[str, Placement]
) -> tuple[Placement, ...]:
    """Return the placements of all that is placed anew, and of the movers that stay.

    Args:
        search: the search that found the columns.
        whole: sound columns, and how many hosts take each.
        today: placements of today.
    """
    site = search.site
    waiting = [list(group.positions) for group in search.groups]
    taken: list[tuple[HostSeats, HostTask, tuple[int, ...] | None]] = []
    gone: dict[int, list[str]] = defaultdict(list)
    for column, count in whole:
        host = search.groups[column.kind].host
        source = column.source
        leaving = source.gone if isinstance(source, Taken) else ()
        for mover in leaving:
            gone[mover.kind].append(mover.demand)
        for _ in range(count):
            position = waiting[column.kind].pop(0)
            task = site.hosts[position].still
            stays: tuple[int, ...] | None = None
            if isinstance(source, Taken) and source.beginning.gone:
                assert host.bare is not None
                task = host.bare
                left = {mover.active.class_index for mover in leaving}
                stays = tuple(sorted({m.active.class_index for m in host.movers} - left))
                seats = search.parts.own.of_seatings(task, source.seats, source.beginning.member)
            elif isinstance(source, Taken):
                seats = search.parts.own.of_seatings(task, source.seats, source.beginning.member)
            else:
                seats = search.parts.own.seats(task, column)
            taken.append((HostSeats(position, seats), task, stays))
    classes = list(site.instance.classes)
    for kind in site.kinds:
        classes[kind] = replace(classes[kind], members=tuple(sorted(gone[kind])))
    dealt = deal([seats for seats, _, _ in taken], search.items, classes)
    answers = []
    for host_seats, task, stays in taken:
        chosen = dealt[host_seats.position]
        answers.append((task, _host_plan(search, host_seats, task, stays, chosen)))
    placed = decode((*classes, *site.each), answers)
    known = {placement.demand for placement in placed}
    movers = {mover.demand for host in site.hosts for mover in host.movers}
    missing = sorted(movers - known)
    lost = [demand for demands in gone.values() for demand in demands if demand not in known]
    if lost:
        raise InternalError("a VM leaves its place and has no other", obj=lost[0])
    return (*placed, *(today[demand] for demand in missing))


def _host_plan(
    search: MovingSearch,
    seats: HostSeats,
    task: HostTask,
    stays: tuple[int, ...] | None,
    chosen: Sequence[tuple[int, int, int]],
) -> HostPlan:
    if stays is None:
        return host_plan(chosen, task)
    if not vgpus_needed(chosen, task):
        return HostPlan(tuple(sorted(chosen)), stays, (), ())
    item_of = {index: item.index for item in search.items for index in (*item.classes, item.lead)}
    host = search.site.hosts[seats.position]
    numbers: Counter[tuple[int, int]] = Counter()
    for index, number, count in chosen:
        numbers[item_of[index], number] += count
    gone = [mover for mover in host.movers if mover.active.class_index not in stays]
    seated = search.check.plan(host, gone, tuple((i, n, c) for (i, n), c in sorted(numbers.items())))
    if seated is None:
        raise InternalError("seats were counted that a host has not", obj=task.state.host.name)
    return replace(seated, chosen=tuple(sorted(chosen)))
