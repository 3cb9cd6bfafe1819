"""A full vCenter, all variants, held against their goals; each in a process of its own.

python -m benchmarks.fleet.goals [--quick] [--only TEXT]...
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from benchmarks.fleet.families import FULL
from benchmarks.fleet.process import (
    NOTES,
    command_line,
    cost_row,
    level_row,
    reasons_text,
    size_row,
    solved,
    worst_gap,
)
from benchmarks.measure import Report, beside, main

TWO: Final = "placed,locality"
ALL: Final = "placed,locality,moves,room,hosts"
LONGER: Final = 3
"""Times as long all levels may take."""

LEAST_S: Final = 60.0
FAR: Final = 4
"""The search is stopped after so many times its goal, and not before `LEAST_S`."""

STATES: Final = 2_000
"""Hosts of a filled fleet that differ in what is left of them, at least."""

QUICK: Final = {"hosts": 48, "shapes": 13}


@dataclass(frozen=True, slots=True)
class Goal:
    """A variant with its goal; None = nothing is promised. ``options``: of `python -m benchmarks.fleet`."""

    name: str
    options: Mapping[str, Any] = field(default_factory=dict)
    gap_percent: float | None = None
    seconds: float | None = None
    mib: float | None = None


GOALS: Final = (
    Goal("fresh", {"fill": 0.0}, 0.1, 5),
    Goal("85 % filled", {}, 0.3, 5, 500),
    Goal("85 % filled, another seed", {"seed": 2}, 0.3, 5, 500),
    Goal("85 % filled, 30 % may move", {"movable": 0.3}, 0.5, 60, 1024),
    Goal("85 % filled, half float", {"floating": 0.5}, 0.1, 8, 400),
    Goal("85 % filled, all float", {"floating": 1.0}, 0.1, 8, 400),
    Goal("eight nodes, half float", {"eight_nodes": True, "shapes": 13, "floating": 0.5}, 0.1, 15),
    Goal("eight nodes, all float", {"eight_nodes": True, "shapes": 13, "floating": 1.0}, 0.1, 15),
    Goal("85 % filled, half of the shapes float", {"hint": 0.5}, 0.1, 15),
    Goal("85 % filled, half float, 30 % may move", {"floating": 0.5, "movable": 0.3}),
    Goal("85 % filled, 20 gangs", {"gangs": 20}),
    Goal("eight nodes, fixed", {"eight_nodes": True, "shapes": 13}),
)


def measure(quick: bool, only: tuple[str, ...] = ()) -> Report:
    report = Report("A full vCenter: 2,500 hosts, 20,000 GPUs", elsewhere=True)
    answers = []
    for levels, factor, what in ((TWO, 1, "levels 1 and 2"), (ALL, LONGER, "all levels")):
        for goal in GOALS[:2] if quick else GOALS:
            name = f"{goal.name}, {what}"
            if only and not any(text in name for text in only):
                continue
            print(f"  {name} ...", file=sys.stderr, flush=True)
            options = {**goal.options, **(QUICK if quick else {})}
            limit_s = factor * max(LEAST_S, FAR * (goal.seconds or 0))
            answer = solved(options, levels, limit_s)
            answers.append((name, answer, command_line(options, levels, limit_s)))
            passed = answer.get("judge") == "passed"
            evidence = str(answer.get("error", ""))
            report.check(f"{name}: solved, decoded and passed by the judge", passed, evidence)
            if options.get("hosts", FULL) == FULL and options.get("fill") != 0.0 and "error" not in answer:
                states = answer["distinct_host_states"]
                report.check(f"{name}: at least {STATES} host states", states >= STATES, str(states))
            _goals(report, goal, name, factor, answer)
    tables(report, "", answers)
    return report


def tables(report: Report, title: str, answers: Sequence[tuple[str, Mapping[str, Any], str]]) -> None:
    """Add what variants cost, their levels and their sizes; each a name, an answer and a command."""
    report.table(f"{title}Cost", [cost_row(name, answer) for name, answer, _ in answers], NOTES["cost"])
    report.table(f"{title}Levels", [level_row(name, answer) for name, answer, _ in answers], NOTES["levels"])
    report.table(f"{title}Instances", [size_row(*item) for item in answers], NOTES["size"])


def _goals(report: Report, goal: Goal, name: str, factor: float, answer: Mapping[str, Any]) -> None:
    cost = answer.get("solve")
    if goal.gap_percent is not None:
        report.limit(f"{name}: gap", goal.gap_percent, worst_gap(answer), "%")
    if goal.seconds is not None:
        told = f"reasons, s: {reasons_text(answer)}; solve(): " if cost else ""
        told += beside(cost["wall_s"], cost["cpu_s"]) if cost else ""
        report.limit(f"{name}: time", factor * goal.seconds, answer.get("answer_own_s"), "s", told)
    if goal.mib is not None:
        report.limit(f"{name}: memory", goal.mib, answer.get("peak_mib"), "MiB")


if __name__ == "__main__":
    sys.exit(main(measure))
