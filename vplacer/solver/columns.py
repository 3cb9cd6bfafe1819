"""Column generation over host kinds, for instances too large for one exact model.

A column is a set of VMs that provably fits a host of a kind. The linear master gives duals; each
kind's best column for them is found exactly; the sum of best prices is a proved bound (Lagrangian);
an integer master over the columns found, and exact models of a few hosts at a time, give the answer.
Level by level, each level's value a constraint for the next.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace

from vplacer.errors import InternalError
from vplacer.solver.bounds import plain_bounds
from vplacer.solver.column import Column, column_of
from vplacer.solver.exact import Answer, ExactModel
from vplacer.solver.host_model import ROOM
from vplacer.solver.host_plan import HostPlan
from vplacer.solver.instance import Instance
from vplacer.solver.kinds import HostKind, build_kinds
from vplacer.solver.leaving import place_leaving
from vplacer.solver.master import SCALE, KindColumn, Relaxation, solve_integral
from vplacer.solver.neighbourhoods import Neighbourhoods
from vplacer.solver.pricing import Pricers
from vplacer.solver.rows import Key
from vplacer.solver.tables.search import TableSearch, takes
from vplacer.solver.wishes import POINTS

MAX_ROUNDS = 60
"""Pricing rounds a level."""

LEAST_ROUNDS = 3
"""Rounds of the levels "placed", whatever the limit: cheap, and without them there is no answer at all."""

NO_GAIN_LIMIT = 1
"""Neighbourhoods without a gain after which a level is left as it is, and one more for each unit of work."""

ROOM_WEIGHT = 3
"""Prices of level "room" are harder than those of the levels after it: it gets so many times their work."""

IMPROVED_HOSTS = 200
"""Hosts up to which exact models of a few hosts at a time improve an answer found by patterns."""

WORK_A_CALL = 0.001
WORK_A_MODEL = 0.04
WORK_A_COLUMN = 0.0005
"""Work that is not CP-SAT's: around a price, building a model of several hosts, the integer master."""


@dataclass
class _Search:
    """What one search carries along. ``held[position]``: the answer so far, always a valid one."""

    instance: Instance
    kinds: tuple[HostKind, ...]
    pricers: Pricers
    seed: int
    work: float
    left: float
    should_stop: Callable[[], bool]
    columns: list[KindColumn] = field(default_factory=list)
    known: set[tuple[int, HostPlan]] = field(default_factory=set)
    held: dict[int, Column] = field(default_factory=dict)
    targets: dict[str, int] = field(default_factory=dict)
    stopped: bool = False

    def add(self, kind: int, column: Column | None) -> bool:
        """Keep a column; False if it is known already."""
        if column is None:
            return False
        item = KindColumn(kind, column)
        if item.identity in self.known:
            return False
        self.known.add(item.identity)
        self.columns.append(item)
        return True

    def value(self, level: str) -> int:
        """Value of a level at the answer held."""
        return sum(column.levels.get(level, 0) for column in self.held.values())


def solve_columns(instance: Instance, *, seed: int, work: float, should_stop: Callable[[], bool]) -> Answer:
    """Solve level by level within an amount of work (see `cpsat`).

    There is always an answer: every host as it is today.
    """
    kinds = build_kinds(instance)
    tabled = TableSearch(instance, kinds, seed, work, should_stop).run() if takes(instance) else None
    many = len(instance.tasks) > IMPROVED_HOSTS
    if tabled is not None and many and all(level.id in tabled.values for level in instance.levels):
        plans = tuple(tabled.plans[position] for position in range(len(instance.tasks)))
        return Answer(plans, dict(tabled.values), dict(tabled.bounds), tabled.stopped)
    keys: set[Key] = {key for row in instance.rows.rows for key in row.quantities}
    options = instance.problem.request.options
    pricers = Pricers(kinds, instance.classes, options, keys)
    search = _Search(instance, kinds, pricers, seed, work, work, should_stop)
    bounds: dict[str, int | None] = {}
    if tabled is None:
        _start(search)
        _place_leaving(search)
    else:
        _hold(search, tabled.plans)
        bounds |= tabled.bounds
        search.stopped = tabled.stopped
    plain = plain_bounds(instance)
    all_placed = True
    for number, level in enumerate(instance.levels):
        if level.id not in bounds:
            most = plain.get(level.id)
            if level.id in ("power_cycles", "moves") and not all_placed:
                most = None
            weight = ROOM_WEIGHT if level.id == ROOM else 1
            share = search.left * weight / (weight + len(instance.levels) - number - 1)
            bounds[level.id] = _level(search, level.id, most, share)
        elif len(instance.tasks) <= IMPROVED_HOSTS:
            share = search.left / (len(instance.levels) - number)
            _improve(search, level.id, bounds[level.id], search.left - share)
        search.targets[level.id] = search.value(level.id)
        if level.id.startswith("placed:"):
            all_placed = all_placed and search.value(level.id) == plain.get(level.id, 0)
    return Answer(
        plans=tuple(search.held[position].plan for position in range(len(instance.tasks))),
        values={level.id: search.value(level.id) for level in instance.levels},
        bounds=bounds,
        stopped=search.stopped,
    )


def _start(search: _Search) -> None:
    """Begin with every host as it is today: VMs that may be changed keep their place."""
    options = search.instance.problem.request.options
    for kind in search.kinds:
        pricer = search.pricers[kind.index]
        column = column_of(kind.task, search.instance.classes, options, pricer.today())
        search.add(kind.index, column)
        for position in kind.positions:
            search.held[position] = column


def _place_leaving(search: _Search) -> None:
    """Find places for existing VMs that have none, before anything else."""
    held, work = place_leaving(search.instance, search.held, seed=search.seed, should_stop=search.should_stop)
    search.left -= work
    search.held = held
    for kind in search.kinds:
        for position in kind.positions:
            search.add(kind.index, held[position])


def _hold(search: _Search, plans: Mapping[int, HostPlan]) -> None:
    """Take plans over as the answer held."""
    options = search.instance.problem.request.options
    made: dict[tuple[int, HostPlan], Column] = {}
    for kind in search.kinds:
        for position in kind.positions:
            key = (kind.index, plans[position])
            if key not in made:
                made[key] = column_of(kind.task, search.instance.classes, options, plans[position])
                search.add(kind.index, made[key])
            search.held[position] = made[key]


def _level(search: _Search, level: str, most: int | None, share: float) -> int | None:
    """Improve one level; return the best proved bound (maximised sense), None without one."""
    if most is not None and search.value(level) >= most:
        return most
    end = search.left - share
    bound = _price(search, level, most, search.left - share / 2)
    if bound is None or search.value(level) < bound:
        _round(search, level)
    if bound is None or search.value(level) < bound:
        _improve(search, level, bound, end)
    if bound is not None and search.value(level) < bound:
        search.stopped = True
    return bound


def _price(search: _Search, level: str, bound: int | None, end: float) -> int | None:
    """Generate columns until none is worth it or the work is used up; return the bound."""
    least = LEAST_ROUNDS if level.startswith("placed") else 0
    if not least and search.pricers.work_to_make > search.left - end:
        # Making the models would take all that is left.
        search.stopped = True
        return bound
    relaxation = Relaxation(search.kinds, search.instance.rows, level, dict(search.targets))
    for item in search.columns:
        relaxation.add(item)
    for number in range(MAX_ROUNDS):
        if number >= least and (search.should_stop() or search.left <= end):
            search.stopped = True
            break
        duals = relaxation.solve()
        value = relaxation.constant(duals)
        added, told = False, True
        for kind in search.kinds:
            pricer = search.pricers[kind.index]
            levels = {name: -dual for name, dual in duals.levels.items()}
            levels[level] = levels.get(level, 0) + SCALE
            price = pricer.price(_weights(search, kind, duals.rows), levels, search.seed)
            search.left -= price.work + WORK_A_CALL
            if price.bound is None:
                told = False
            else:
                value += kind.count * price.bound
            if search.add(kind.index, price.column):
                relaxation.add(search.columns[-1])
                added = True
        if told:
            reached = value // SCALE
            if reached < search.value(level):
                raise InternalError("a bound is below what is reached", obj=level, why=f"{reached}")
            bound = reached if bound is None else min(bound, reached)
        if not added:
            break
    return bound


def _weights(search: _Search, kind: HostKind, duals: Mapping[str, int]) -> dict[Key, int]:
    """What a quantity on a host of the kind costs at the rows' duals."""
    host = kind.task.state.host.moid
    weights: dict[Key, int] = {}
    for row in search.instance.rows.rows:
        dual = duals[row.name]
        if dual:
            for key in row.quantities:
                weights[key] = weights.get(key, 0) - dual * row.coefficient(host, key)
    return weights


def _round(search: _Search, level: str) -> None:
    """Take whole columns; keep the new answer if it is better."""
    surplus = droppable(search.instance)
    found = solve_integral(
        search.kinds,
        search.instance.rows,
        search.columns,
        level,
        search.targets,
        surplus,
        search.seed,
    )
    search.left -= WORK_A_COLUMN * len(search.columns)
    if found is None:
        return
    held = _deal(search, found)
    held = _drop_surplus(search, held)
    value = sum(column.levels.get(level, 0) for column in held.values())
    kept = all(
        sum(column.levels.get(name, 0) for column in held.values()) >= target
        for name, target in search.targets.items()
    )
    if kept and value > search.value(level):
        search.held = held


def droppable(instance: Instance) -> dict[int, dict[str, int]]:
    """Classes of new VMs that no rule ties to others, and what one dropped VM may cost each level."""
    tied = {index for task in instance.tasks for _, members in task.together for index in members}
    wishes = {wish.name: wish.classes for task in instance.tasks for wish in task.wishes}
    found: dict[int, dict[str, int]] = {}
    for cls in instance.classes:
        if cls.vm is not None or cls.gang is not None or cls.index in tied:
            continue
        points = [o.points for task in instance.tasks for o in task.options.get(cls.index, ())]
        found[cls.index] = {
            f"placed:{cls.demand.priority}": cls.demand.weight_milli,
            "locality": max(points, default=0) + POINTS * sum(cls.index in m for m in wishes.values()),
        }
    return found


def _deal(search: _Search, counts: tuple[int, ...]) -> dict[int, Column]:
    """Deal the columns taken to the hosts of their kind, in order."""
    held: dict[int, Column] = {}
    for kind in search.kinds:
        positions = iter(kind.positions)
        for count, item in zip(counts, search.columns, strict=True):
            if item.kind == kind.index:
                for _ in range(count):
                    held[next(positions)] = item.column
    return held


def _drop_surplus(search: _Search, held: dict[int, Column]) -> dict[int, Column]:
    """Drop VMs of which columns seat more than are asked for, from the last hosts first."""
    kind_of = {position: kind for kind in search.kinds for position in kind.positions}
    result = dict(held)
    for cls in search.instance.classes:
        extra = sum(c.quantities.get(("seats", cls.index), 0) for c in result.values()) - cls.count
        for position in sorted(result, reverse=True):
            if extra <= 0:
                break
            plan = result[position].plan
            here = plan.seats().get(cls.index, 0)
            if not here or cls.vm is not None:
                continue
            dropped = min(here, extra)
            pricer = search.pricers[kind_of[position].index]
            price = pricer.trimmed(_without(plan, cls.index, dropped), search.seed)
            search.left -= price.work + WORK_A_CALL
            if price.column is not None:
                extra -= dropped
                result[position] = price.column
                search.add(pricer.kind.index, price.column)
        if extra > 0 and cls.vm is None:
            return dict(search.held)
    return result


def _without(plan: HostPlan, index: int, number: int) -> HostPlan:
    chosen = []
    for cls, option, count in plan.chosen:
        drop = min(count, number) if cls == index else 0
        number -= drop
        if count > drop:
            chosen.append((cls, option, count - drop))
    return replace(plan, chosen=tuple(chosen), vgpus=())


def _improve(search: _Search, level: str, bound: int | None, end: float) -> None:
    """Free a few hosts at a time and solve them exactly, the others held."""
    if bound is not None and search.value(level) >= bound:
        return
    neighbourhoods = Neighbourhoods(search.instance, level, search.seed)
    failures = 0
    most = NO_GAIN_LIMIT + search.work
    while search.left > end:
        if search.should_stop():
            search.stopped = True
            return
        free = neighbourhoods.next(search.held)
        if neighbourhoods.by_chance:
            if failures >= most:
                return
            failures += 1
        if _freed(search, level, free, end):
            failures = 0
            neighbourhoods.begin_again()
            if bound is not None and search.value(level) >= bound:
                return


def _freed(search: _Search, level: str, free: Collection[int], end: float) -> bool:
    """Solve some hosts exactly, the others held; whether that was of use."""
    held = {position: column for position, column in search.held.items() if position not in free}
    exact = ExactModel(search.instance, held)
    for name, target in search.targets.items():
        exact.require(name, target)
    work = min(2.0, max(0.1, search.left - end))
    result = exact.solve(level, seed=search.seed, work=work, should_stop=search.should_stop)
    search.left -= result.work + WORK_A_MODEL
    if result.value is None or result.value <= search.value(level):
        return False
    kind_of = {position: kind.index for kind in search.kinds for position in kind.positions}
    for position, column in exact.columns(result.solver).items():
        search.held[position] = column
        search.add(kind_of[position], column)
    return True
