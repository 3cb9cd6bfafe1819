"""Let one peer place the VMs of one instance, once, and print what came of it as JSON.

    python -m benchmarks.peers.one INSTANCE PEER SECONDS

Seconds are of the processor (`clock`).

Not measured: loading the libraries, building the instance, turning it into the neutral form. Measured:
building a peer's model, solving it, naming the cards. vplacer's time is that of ``solve``: its own model, the
search, the cards, the judge's word. Why VMs have no place no peer tells; what that takes is told beside.
"""

from __future__ import annotations

import contextlib
import json
import pkgutil
import sys
import time
from collections.abc import Callable
from dataclasses import asdict
from importlib import import_module
from typing import Any, Final
from unittest import mock

import vplacer.solver
from benchmarks.peers import btrplace, counts, nova, solvers
from benchmarks.peers.checker import Fault, faults
from benchmarks.peers.clock import Clock
from benchmarks.peers.form import Instance
from benchmarks.peers.instance import neutral, placements
from benchmarks.peers.instances import INSTANCES
from benchmarks.peers.monolith import LEVELS, solve_whole
from benchmarks.peers.solvers import Found, Level, Solve
from vplacer.constraints.judge import check
from vplacer.constraints.state import Placement, Problem, State
from vplacer.solver import explain
from vplacer.solver.solve import solve
from vplacer.solver.verdict import SolveOptions, StoppedBy


def _counts(make: Callable[[], Solve], threads: int = 1) -> Callable[[Instance, float], Found]:
    def run(instance: Instance, limit_s: float) -> Found:
        clock = Clock(threads)
        return solvers.by_levels(counts.build(instance), make(), limit_s, clock)

    return run


def _nova(stack: bool) -> Callable[[Instance, float], Found]:
    return lambda instance, _: nova.place(instance, stack=stack, clock=Clock())


NEUTRAL: Final[dict[str, Callable[[Instance, float], Found]]] = {
    "counts, CP-SAT, 1 worker": _counts(lambda: solvers.cpsat(1)),
    "counts, CP-SAT, 8 workers": _counts(lambda: solvers.cpsat(8), 8),
    "counts, HiGHS": _counts(solvers.highs),
    "Nova, spread": _nova(False),
    "Nova, stacked": _nova(True),
    "BtrPlace": lambda instance, limit_s: btrplace.place(instance, limit_s=limit_s),
}
VPLACER: Final = "vplacer"
MONOLITH: Final = "vplacer's exact model, whole"
PEERS: Final = (MONOLITH, *NEUTRAL)
WITHOUT_LIMIT: Final = ("Nova, spread", "Nova, stacked")
"""Peers that end by themselves."""


def run(problem: Problem, peer: str, limit_s: float) -> dict[str, Any]:
    """Return what a peer answers: levels, VMs placed as asked, seconds, notes, and what its checkers say."""
    start = time.perf_counter()
    if peer == VPLACER:
        return _vplacer(problem, limit_s)
    if peer == MONOLITH:
        placed, levels, seconds = solve_whole(problem, limit_s=limit_s, clock=Clock())
        return _told(problem, placed, levels, (seconds, time.perf_counter() - start), [], [])
    instance = neutral(problem)
    start = time.perf_counter()
    try:
        found = NEUTRAL[peer](instance, limit_s)
        took = (found.seconds, time.perf_counter() - start)
    except (btrplace.NoJava, ModuleNotFoundError) as error:
        return {"not_run": str(error)}
    wrong = faults(instance, found.places)
    broken = {fault.vm for fault in wrong if fault.wish}
    kept = [place for place in found.places if place.vm not in broken]
    notes = list(found.notes)
    if broken:
        notes.append(f"{len(broken)} VMs more, not as they asked")
    notes += [f"cannot say: {text}" for text in instance.missing]
    left: list[Fault] = faults(instance, kept)
    told = [fault.text for fault in left]
    return _told(problem, placements(problem, kept), found.levels, took, notes, told)


def _vplacer(problem: Problem, limit_s: float) -> dict[str, Any]:
    clock, start = Clock(), time.perf_counter()

    def stop() -> StoppedBy | None:
        return StoppedBy.TIME if clock.seconds() > limit_s else None

    reasons = _Timed(explain.explain)
    with mock.patch.object(explain, "explain", reasons):
        answer = solve(problem, SolveOptions(levels=LEVELS, time_limit_s=limit_s), stop)
    took = (clock.seconds() - reasons.seconds, time.perf_counter() - start - reasons.wall_s)
    levels = [Level(level.id, level.value, level.bound) for level in answer.levels]
    notes = [f"stopped by {answer.stopped_by.value}"] if answer.stopped_by is not None else []
    if answer.unplaced:
        notes.append(f"{reasons.seconds:.2f} s more for the reasons why {len(answer.unplaced)} have no place")
    return _told(problem, answer.placements, levels, took, notes, [])


class _Timed:
    """Calls a function and tells what it took in all, of the processor and by the clock."""

    def __init__(self, work: Callable[..., Any]) -> None:
        self.work = work
        self.seconds = self.wall_s = 0.0

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        clock, start = Clock(), time.perf_counter()
        try:
            return self.work(*args, **kwargs)
        finally:
            self.seconds += clock.seconds()
            self.wall_s += time.perf_counter() - start


def _told(
    problem: Problem,
    placed: tuple[Placement, ...],
    levels: list[Level],
    took: tuple[float, float],
    notes: list[str],
    wrong: list[str],
) -> dict[str, Any]:
    """Values are counted from the placements, the same way for all; bounds are the peer's own."""
    from vplacer.solver.score import locality_points

    fresh = Problem(problem.inventory, problem.topologies, problem.request)
    state = State(fresh, placed)
    unplaced = {demand.id for demand in problem.request.demands} - {p.demand for p in placed}
    judged = [f"{v.constraint}: {v.evidence}" for v in check(state) if v.object not in unplaced]
    counted: dict[str, int] = {}
    for level in levels:
        if level.id.startswith("placed:"):
            priority = int(level.id.partition(":")[2])
            mine = [fresh.demand_by_id[p.demand] for p in placed]
            counted[level.id] = sum(d.weight_milli for d in mine if d.priority == priority)
        else:
            counted[level.id] = sum(locality_points(state, p) for p in placed)
    return {
        "vms": len(placed),
        "asked": len(problem.request.demands),
        "seconds": took[0],
        "wall_s": took[1],
        "levels": [{**asdict(level), "value": counted[level.id]} for level in levels],
        "notes": notes,
        "faults": wrong,
        "judge": judged,
    }


def _load_libraries() -> None:
    for name in ("highspy", "numpy", "ortools.sat.python.cp_model", "ortools.linear_solver.pywraplp"):
        with contextlib.suppress(ImportError):
            import_module(name)
    for module in pkgutil.iter_modules(vplacer.solver.__path__, "vplacer.solver."):
        import_module(module.name)


def main() -> int:
    instance, peer, limit = sys.argv[1:]
    _load_libraries()
    with contextlib.suppress(btrplace.NoJava):
        if peer == "BtrPlace":
            btrplace.build_driver()
    json.dump(run(INSTANCES[instance](), peer, float(limit)), sys.stdout)
    print()
    return 0


if __name__ == "__main__":
    sys.exit(main())
