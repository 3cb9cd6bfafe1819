"""What must hold of every random instance: solver and oracle agree; columns are valid, their bounds hold."""

from __future__ import annotations

from tests.solver.oracle import best
from vplacer.constraints.judge import check, placements_today
from vplacer.constraints.state import Problem, State
from vplacer.solver.columns import solve_columns
from vplacer.solver.decode import decode
from vplacer.solver.exact import solve_exact
from vplacer.solver.instance import build_instance
from vplacer.solver.solve import solve
from vplacer.solver.verdict import SolveOptions, Status

ORDER = SolveOptions().levels


def same_as_oracle(problem: Problem, order: tuple[str, ...] = ORDER) -> None:
    """The best values level by level, proved; the judge passed them, or solve() would have raised."""
    instance = build_instance(problem, placements_today(problem), order)
    expected, _ = best(problem, instance.levels)
    # Reasons for what has no place are for other tests: they take longer than all the rest.
    solution = solve(problem, SolveOptions(work=50, levels=order, explained=False))
    values = {level.id: level.value for level in solution.levels}
    assert values == expected
    assert all(level.proved for level in solution.levels)
    assert solution.status is Status.OPTIMAL


def columns_hold(problem: Problem) -> None:
    """Columns give a valid answer, never a better one than there is, and a bound that is none too low."""
    instance = build_instance(problem, placements_today(problem), ORDER)
    answer = solve_columns(instance, seed=1, work=20, should_stop=lambda: False)
    exact = solve_exact(instance, seed=1, work=50, should_stop=lambda: False)
    assert exact is not None
    placements = decode(instance.classes, zip(instance.tasks, answer.plans, strict=True))
    state = State(problem, (*instance.settled, *placements))
    assert not [v for v in check(state) if v.constraint != "placed"]
    first = instance.levels[0].id
    assert answer.values[first] <= exact.values[first]
    bound = answer.bounds[first]
    assert bound is None or bound >= exact.values[first]
