"""How many VMs can be placed at most: a proved bound, and what was reached, without further levels.

The bound is that of the column generation (see `columns`); what is reached is the best choice of its
columns. A bound below what is asked for ends the search: how much would fit is then not looked for.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from vplacer.solver.column import column_of
from vplacer.solver.columns import droppable, solve_columns
from vplacer.solver.conflicts.minimal import Budget
from vplacer.solver.exact import size_of, solve_exact
from vplacer.solver.instance import Instance
from vplacer.solver.kinds import HostKind, build_kinds
from vplacer.solver.master import SCALE, KindColumn, Relaxation, solve_integral
from vplacer.solver.pricing import Pricer
from vplacer.solver.rows import Key, Row

EXACT_SIZE = 250
"""Option variables up to which one exact model of all hosts looks for what columns do not show."""

MAX_ROUNDS = 40

MOST_KINDS = 300
"""Host kinds up to which an answer is looked for."""

WORK_A_KIND = 3
"""What pricing a host kind costs beside a host that is looked at."""
MAX_WORK = 0.6
"""Work of one answer (see `cpsat`)."""


@dataclass(frozen=True, slots=True)
class Group:
    """Classes of which at most so many count together."""

    classes: tuple[int, ...]
    most: int


@dataclass(frozen=True, slots=True)
class Count:
    """Weight of the VMs placed, and the most that any answer has; ``bound`` None = not proved.

    ``seats``: how many of each class, those beyond what is asked for not counted; None = not told.
    """

    reached: int
    bound: int | None
    seats: Mapping[int, int] | None = None


def priced(instance: Instance, budget: Budget) -> tuple[HostKind, ...] | None:
    """Return the host kinds of an instance, their pricing paid for; None where that is too much."""
    kinds = build_kinds(instance)
    if len(kinds) > MOST_KINDS or not budget.spend(WORK_A_KIND * len(kinds)):
        return None
    return kinds


def count_placed(
    instance: Instance,
    kinds: tuple[HostKind, ...],
    level: str,
    wanted: int,
    seed: int,
    groups: Sequence[Group] = (),
    *,
    early: bool = True,
) -> Count:
    """Count what can be placed.

    Args:
        instance: the instance; its only level is ``level``.
        kinds: its host kinds.
        level: the level "placed" of the one priority.
        wanted: the weight asked for: a bound below it, or as much reached, ends the search.
        seed: random seed.
        groups: classes of which only so many count together, which the instance's rows say as well.
        early: whether a bound below what is asked for is all that is wanted; else the best is looked for.
    """
    keys = {key for row in instance.rows.rows for key in row.quantities}
    options = instance.problem.request.options
    pricers = [Pricer(kind, instance.classes, options, keys) for kind in kinds]
    relaxation = Relaxation(kinds, instance.rows, level, {})
    columns = list(_of_today(instance, kinds, pricers))
    known = {item.identity for item in columns}
    for item in columns:
        relaxation.add(item)
    bound: int | None = None
    work = 0.0
    for _ in range(MAX_ROUNDS):
        duals = relaxation.solve()
        value: int | None = relaxation.constant(duals)
        added = False
        for kind, pricer in zip(kinds, pricers, strict=True):
            price = pricer.price(_weights(instance.rows.rows, kind, duals.rows), {level: SCALE}, seed)
            work += price.work
            value = None if value is None or price.bound is None else value + kind.count * price.bound
            if price.column is None:
                continue
            item = KindColumn(kind.index, price.column)
            if item.identity not in known:
                known.add(item.identity)
                columns.append(item)
                relaxation.add(item)
                added = True
        if value is not None:
            bound = value // SCALE if bound is None else min(bound, value // SCALE)
        if not added or work > MAX_WORK or (early and bound is not None and bound < wanted):
            break
    if early and bound is not None and bound < wanted:
        return Count(0, bound)
    best = _chosen(instance, kinds, columns, level, seed, groups)
    if best.reached < (wanted if bound is None else min(wanted, bound)):
        filling = _filling(instance, kinds, pricers, columns, level, seed)
        if more := [item for item in filling if item.identity not in known]:
            again = _chosen(instance, kinds, [*columns, *more], level, seed, groups)
            best = max(best, again, key=lambda count: count.reached)
    return replace(best, bound=bound)


def _of_today(
    instance: Instance, kinds: tuple[HostKind, ...], pricers: Sequence[Pricer]
) -> Iterator[KindColumn]:
    """Yield the columns of hosts that take nothing new."""
    for kind, pricer in zip(kinds, pricers, strict=True):
        column = column_of(kind.task, instance.classes, instance.problem.request.options, pricer.today())
        yield KindColumn(kind.index, column)


def _filling(
    instance: Instance,
    kinds: tuple[HostKind, ...],
    pricers: list[Pricer],
    columns: list[KindColumn],
    level: str,
    seed: int,
) -> list[KindColumn]:
    """Fill host by host, the best columns first, with no more than is asked for; return the new ones."""
    left = {cls.index: cls.count for cls in instance.classes}
    free = {kind.index: kind.count for kind in kinds}

    def take(item: KindColumn) -> bool:
        """Take a column as often as it is of use; False if it is of none."""
        seats = {index: count for index, count in item.column.plan.seats().items() if count}
        times = min([free[item.kind], *(left[index] // count for index, count in seats.items())])
        if not seats or not times:
            return False
        free[item.kind] -= times
        for index, count in seats.items():
            left[index] -= count * times
        return True

    for item in sorted(columns, key=lambda item: -item.column.levels.get(level, 0)):
        take(item)
    found = []
    for kind, pricer in zip(kinds, pricers, strict=True):
        while free[kind.index] and any(left.values()):
            price = pricer.within(left, level, seed)
            if price.column is None or not take(KindColumn(kind.index, price.column)):
                break
            found.append(KindColumn(kind.index, price.column))
    return found


def search_more(instance: Instance, level: str, seed: int, before: Count, *, exact: bool = False) -> Count:
    """Look for what columns do not show: a better answer than they have, or a proof that there is none.

    ``exact``: only where one model of all hosts is small enough.
    """
    small = size_of(instance) <= EXACT_SIZE
    if exact and not small:
        return before
    search = solve_exact if small else solve_columns
    answer = search(instance, seed=seed, work=MAX_WORK / 2, should_stop=lambda: False)
    if answer is None:
        return before
    bounds = [found for found in (before.bound, answer.bounds.get(level, 0)) if found is not None]
    bound, reached = min(bounds, default=None), answer.values.get(level, 0)
    if reached <= before.reached:
        return replace(before, bound=bound)
    seats: dict[int, int] = {}
    for plan in answer.plans:
        for index, here in plan.seats().items():
            seats[index] = seats.get(index, 0) + here
    return Count(reached, bound, seats)


def _chosen(
    instance: Instance,
    kinds: tuple[HostKind, ...],
    columns: list[KindColumn],
    level: str,
    seed: int,
    groups: Sequence[Group],
) -> Count:
    """Return the best choice of whole columns; VMs beyond those asked for are dropped, the lightest first."""
    surplus = {} if _steered(instance) else droppable(instance)
    counts = solve_integral(kinds, instance.rows, columns, level, {}, surplus, seed)
    if counts is None:
        return Count(0, None)
    seats = {cls.index: 0 for cls in instance.classes}
    for count, item in zip(counts, columns, strict=True):
        for index, here in item.column.plan.seats().items():
            seats[index] += count * here
    seats = {cls.index: min(cls.count, seats[cls.index]) for cls in instance.classes}
    weight = {cls.index: cls.demand.weight_milli for cls in instance.classes}
    for group in groups:
        left = group.most
        for index in sorted(group.classes, key=lambda index: (-weight[index], index)):
            seats[index] = min(left, seats[index])
            left -= seats[index]
    return Count(sum(weight[index] * count for index, count in seats.items()), None, seats)


def _steered(instance: Instance) -> bool:
    """Whether some VM may count on what others take: then none of those can be dropped from a column."""
    return any(
        option.settles or option.alone
        for task in instance.tasks
        for options in task.options.values()
        for option in options
    )


def _weights(rows: tuple[Row, ...], kind: HostKind, duals: Mapping[str, int]) -> dict[Key, int]:
    """What a quantity on a host of the kind costs at the rows' duals."""
    host = kind.task.state.host.moid
    weights: dict[Key, int] = {}
    for row in rows:
        dual = duals[row.name]
        if dual:
            for key in row.quantities:
                weights[key] = weights.get(key, 0) - dual * row.coefficient(host, key)
    return weights
