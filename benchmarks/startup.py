"""How long the program takes before it does anything, beside a Python that does nothing.

Goal for --help: 0.15 s, so that completion and scripts do not feel it.
"""

from __future__ import annotations

import statistics
import sys

from benchmarks.measure import Cost, Report, main, run_command, times, vplacer

GOAL_S = 0.15
RUNS = 20
NOTHING = "python -c pass"


def measure(quick: bool) -> Report:
    report = Report("Start of the program")
    commands = {
        NOTHING: [sys.executable, "-c", "pass"],
        "vplacer --help": vplacer("--help"),
        "vplacer --version": vplacer("--version"),
        "vplacer plan --help": vplacer("plan", "--help"),
    }
    costs: dict[str, list[Cost]] = {name: [] for name in commands}
    for number in range(1 + (3 if quick else RUNS)):
        # One of each in turn: whatever disturbs the machine disturbs all of them.
        for name, command in commands.items():
            _, cost = run_command(command)
            if number:
                costs[name].append(cost)
    base = costs[NOTHING]
    rows = []
    for name, found in costs.items():
        rows.append(
            {
                "command": name,
                **times(found),
                "wall ratio": _median_ratio([c.wall_s for c in found], [c.wall_s for c in base]),
                "cpu ratio": _median_ratio([c.cpu_s for c in found], [c.cpu_s for c in base]),
            }
        )
    report.table("Whole processes", rows, f"Ratios are to {NOTHING}, run in turn with the others.")
    report.goal("vplacer --help", GOAL_S, costs["vplacer --help"])
    return report


def _median_ratio(values: list[float], base: list[float]) -> float:
    return statistics.median(values) / statistics.median(base)


if __name__ == "__main__":
    sys.exit(main(measure))
