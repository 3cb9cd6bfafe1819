"""Judging 400 placements on 96 hosts, beside the time it took to find them."""

from __future__ import annotations

import statistics
import sys
from typing import Any

from benchmarks import sites
from benchmarks.measure import Report, main, repeated, times
from benchmarks.plan import SHARES, default_options
from vplacer.constraints.judge import check
from vplacer.constraints.state import Placement, Problem, State, Violation
from vplacer.solver.solve import solve


def measure(quick: bool) -> Report:
    report = Report("The judge")
    site = sites.big_site()
    rows = [
        _row("as it is", sites.problem(site.inventory, site.overlays, sites.request_text()), quick, report)
    ]
    for share in SHARES:
        asked = sites.problem(sites.filled(site, share=share, seed=1), site.overlays, sites.request_text())
        rows.append(_row(f"{share:.0%} filled, seed 1", asked, quick, report))
    report.table(
        "check(state) on 96 hosts",
        rows,
        "'new problem': nothing derived from inventory and request is known yet; 'new state': only the "
        "placements are new. Solving takes in one judgement of its own.",
    )
    return report


def _row(name: str, asked: Problem, quick: bool, report: Report) -> dict[str, Any]:
    def fresh() -> Problem:
        return Problem(asked.inventory, asked.topologies, asked.request)

    solution, solving = repeated(lambda: solve(fresh(), default_options()), 1 if quick else 3)
    placements: tuple[Placement, ...] = solution.placements
    runs = 3 if quick else 20

    def judge(problem: Problem) -> tuple[Violation, ...]:
        return check(State(problem, placements))

    found, cold = repeated(lambda: judge(fresh()), runs)
    _, warm = repeated(lambda: judge(asked), runs)
    wrong = [violation for violation in found if violation.object not in solution.unplaced]
    report.check(f"{name}: the judge accepts the answer", not wrong, f"{len(wrong)} violations")
    solve_s = statistics.median(cost.wall_s for cost in solving)
    return {
        "site": name,
        "VMs there": len(asked.inventory.vms),
        "placements": len(placements),
        "solve, wall s": solve_s,
        **{f"new problem, {key}": value for key, value in times(cold).items()},
        **{f"new state, {key}": value for key, value in times(warm).items()},
        "new problem / solve": statistics.median(cost.wall_s for cost in cold) / solve_s,
    }


if __name__ == "__main__":
    sys.exit(main(measure))
