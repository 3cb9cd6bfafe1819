"""The solver's door: a problem in, a solution out."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from importlib.metadata import version

from vplacer.constraints.state import Placement, Problem, State
from vplacer.errors import InternalError
from vplacer.solver.decode import decode
from vplacer.solver.exact import Answer
from vplacer.solver.heap import settled_heap
from vplacer.solver.holding import held_vms
from vplacer.solver.instance import Instance, build_instance
from vplacer.solver.moving import MovesSearch
from vplacer.solver.own_cards import keeping_own_cards
from vplacer.solver.relaxing.model import WayOut
from vplacer.solver.verdict import DemandReasons, LevelResult, Solution, SolveOptions, Status, StoppedBy

EXACT_SIZE = 250
"""Option variables up to which all hosts go into one exact model."""

TRIED = 4
"""So many times as many are tried that way first, with a part of the work: where hosts are all different, one
model of a hundred of them is solved sooner than their prices converge."""

TRIED_SHARE = 0.25

MOST_WORK_OF_EXISTING = 20.0

WORK_A_BLOCK = 2.0
"""Work of what a block of hosts can take once VMs have moved: it may still be chosen beside other blocks."""


def default_work(instance: Instance) -> float:
    """Return the work allowed when none is given: a few units, more with more hosts and VMs that may change.

    Each of these is a class of its own: prices take longer to converge.
    """
    existing = sum(cls.vm is not None for cls in instance.classes)
    return 3.0 + 0.01 * len(instance.tasks) + min(MOST_WORK_OF_EXISTING, 0.1 * existing)


@settled_heap()
def solve(
    problem: Problem,
    options: SolveOptions,
    stop: Callable[[], StoppedBy | None] = lambda: None,
) -> Solution:
    """Find the best placement level by level, with a bound for each.

    Args:
        problem: inventory, topologies, resolved request.
        options: limits, seed, order of levels.
        stop: asked now and then; a reason ends the search with the best found so far.

    Raises:
        InternalError: the placement found breaks a constraint: a defect, never shown as a plan.
    """
    from vplacer.solver.explain import explain
    from vplacer.solver.score import measure

    found = searched(problem, options, stop)
    why = stop() or StoppedBy.WORK
    instance, answer, placements = found.instance, found.answer, found.placements
    state = State(problem, placements)
    placed = {placement.demand for placement in placements}
    unplaced = tuple(sorted(d.id for d in problem.request.demands if d.id not in placed))
    values = measure(state, instance.levels)
    levels = _level_results(instance, values, answer)
    status = _status(problem, levels, unplaced)
    reasons: tuple[DemandReasons, ...] = ()
    ways_out: tuple[WayOut, ...] = ()
    if options.explained:
        reasons, ways_out = explain(
            instance, placements, unplaced, options.seed, should_stop=lambda: stop() is not None
        )
    ended = answer.stopped and not all(level.proved for level in levels)
    if reasons and stop() is not None:
        # Of why these have no place not all may be told.
        ended, why = True, stop() or why
    return Solution(
        status=status,
        placements=placements,
        unplaced=unplaced,
        levels=levels,
        reasons=reasons,
        stopped_by=why if ended else None,
        seed=options.seed,
        solver_version=f"ortools {version('ortools')}",
        assumptions=_assumptions(instance),
        ways_out=ways_out,
    )


@dataclass(frozen=True)
class Searched:
    """An answer of the search that the judge accepts."""

    instance: Instance
    answer: Answer
    placements: tuple[Placement, ...]


def searched(
    problem: Problem, options: SolveOptions, stop: Callable[[], StoppedBy | None] = lambda: None
) -> Searched:
    """Search, and judge what was found; reasons for what has no place are not looked for.

    Raises:
        InternalError: as `solve`.
    """
    from vplacer.constraints.judge import check, placements_today

    today = placements_today(problem)
    held = held_vms(problem, today)
    instance = build_instance(problem, today, options.levels, held=held)
    work = options.work if options.work is not None else default_work(instance)
    answer, placements = _found(
        problem, instance, today, held, options.seed, work, lambda: stop() is not None
    )
    placed = {placement.demand for placement in placements}
    unplaced = {demand.id for demand in problem.request.demands} - placed
    state = State(problem, placements)
    faults = [v for v in check(state) if not (v.constraint == "placed" and v.object in unplaced)]
    if faults:
        raise InternalError(
            "the solver's placement does not pass the judge",
            obj=faults[0].object,
            why=f"{faults[0].constraint}: {faults[0].evidence}",
        )
    return Searched(instance, answer, placements)


def _found(
    problem: Problem,
    instance: Instance,
    today: Mapping[str, Placement],
    held: Collection[str],
    seed: int,
    work: float,
    should_stop: Callable[[], bool],
) -> tuple[Answer, tuple[Placement, ...]]:
    """Search, VMs held by the instance included if they may move."""
    answer = _search(instance, seed, work, should_stop)
    answer = replace(answer, plans=keeping_own_cards(instance, answer.plans, seed, should_stop))
    placed = decode(instance.classes, zip(instance.tasks, answer.plans, strict=True))
    if not held:
        return answer, _merge(instance, placed)

    def among(part: Instance) -> tuple[Placement, ...]:
        found = _search(part, seed, min(work, WORK_A_BLOCK), should_stop)
        plans = keeping_own_cards(part, found.plans, seed, should_stop)
        return decode(part.classes, zip(part.tasks, plans, strict=True))

    moved = MovesSearch(problem, instance, today, held, among, seed, should_stop).run(answer, placed)
    return moved.answer, moved.placements


def _search(instance: Instance, seed: int, work: float, should_stop: Callable[[], bool]) -> Answer:
    """Search by one exact model where it is small, by columns where it is not, or where it was not proved."""
    from vplacer.solver.columns import solve_columns
    from vplacer.solver.exact import size_of, solve_exact

    size = size_of(instance)
    if size <= EXACT_SIZE:
        return solve_exact(instance, seed=seed, work=work, should_stop=should_stop)
    tried = None
    if size <= TRIED * EXACT_SIZE:
        tried = solve_exact(instance, seed=seed, work=TRIED_SHARE * work, should_stop=should_stop)
        if not tried.stopped or should_stop():
            return tried
        work -= TRIED_SHARE * work
    found = solve_columns(instance, seed=seed, work=work, should_stop=should_stop)
    if tried is None:
        return found
    ahead = _ahead(instance, tried, found)
    return _with_bounds(instance, tried, found) if ahead else _with_bounds(instance, found, tried)


def _with_bounds(instance: Instance, best: Answer, other: Answer) -> Answer:
    """Return an answer with the better bound of two, as far as both speak of the same levels before."""
    bounds = dict(best.bounds)
    for level in instance.levels:
        told = [b for b in (best.bounds.get(level.id), other.bounds.get(level.id)) if b is not None]
        bounds[level.id] = min(told, default=None)
        if best.values[level.id] != other.values[level.id]:
            break
    return replace(best, bounds=bounds)


def _ahead(instance: Instance, one: Answer, other: Answer) -> bool:
    """Whether an answer is better: the first level that differs decides."""
    values = [(one.values[level.id], other.values[level.id]) for level in instance.levels]
    return next((mine > theirs for mine, theirs in values if mine != theirs), False)


def _merge(instance: Instance, placements: tuple[Placement, ...]) -> tuple[Placement, ...]:
    return tuple(sorted((*instance.settled, *placements), key=lambda placement: placement.demand))


def _level_results(instance: Instance, values: dict[str, int], answer: Answer) -> tuple[LevelResult, ...]:
    """Put measured values beside bounds.

    The solvers see what can change; values count everything. The part that no choice can change
    (settled VMs, untouched hosts) is the difference at the answer, and belongs to the bound too.
    Of what counts against an answer there is never less than none.
    """
    results = []
    for level in instance.levels:
        value = values[level.id]
        bound = answer.bounds.get(level.id)
        reached = answer.values.get(level.id)
        if bound is None or reached is None or not instance.complete:
            bound = None
        else:
            sign = 1 if level.maximise else -1
            bound = value + sign * (bound - reached)
        if bound is None and value == 0 and not level.maximise:
            bound = 0
        results.append(LevelResult(level.id, level.title, level.maximise, value, bound, level.unit))
    return tuple(results)


def _status(problem: Problem, levels: tuple[LevelResult, ...], unplaced: tuple[str, ...]) -> Status:
    placed = [level for level in levels if level.id.startswith("placed:")]
    if unplaced and not problem.request.options.partial:
        return Status.INFEASIBLE if all(level.proved for level in placed) else Status.UNDECIDED
    return Status.OPTIMAL if all(level.proved for level in levels) else Status.FEASIBLE


def _assumptions(instance: Instance) -> tuple[str, ...]:
    found: set[str] = set()
    for task in instance.tasks:
        found.update(task.state.topology.assumptions)
    if not instance.complete:
        found.add("too many ways to seat a VM on a host: some were not looked at, so no bound is given")
    return tuple(sorted(found))
