"""How time and memory grow with the hosts and with the shapes of what is asked for."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from benchmarks.fleet.goals import TWO, tables
from benchmarks.fleet.process import command_line, solved
from benchmarks.measure import Report, main

HOSTS: Final = (312, 625, 1250, 2_500, 5_000, 10_000, 20_000)
"""1/8 to 8 times the full vCenter."""

SHAPES: Final = (13, 40, 150, 400)
FEWEST: Final = 3
"""Points that an exponent is fitted to, at least."""


def measure(quick: bool, only: tuple[str, ...] = ()) -> Report:
    report = Report("Cost growth", elsewhere=True)
    hosts = (24, 48, 96) if quick else HOSTS
    few = {"shapes": 13} if quick else {}
    if _wanted("hosts", only):
        _series(report, "Hosts: ", [{"hosts": count, **few} for count in hosts], "hosts")
    if _wanted("shapes", only):
        size = {"hosts": 48} if quick else {}
        shapes = SHAPES[:2] if quick else SHAPES
        _series(report, "Shapes: ", [{"shapes": count, **size} for count in shapes], "shapes")
    return report


def _wanted(name: str, only: tuple[str, ...]) -> bool:
    return not only or name in only


def _series(report: Report, title: str, variants: Sequence[Mapping[str, Any]], what: str) -> None:
    """Measure one size after the other; after one that gave no answer the larger ones are not tried."""
    answers: list[tuple[str, Mapping[str, Any], str]] = []
    points: list[tuple[float, Mapping[str, Any]]] = []
    failed = False
    for options in variants:
        name = f"{options[what]} {what}"
        print(f"  {name} ...", file=sys.stderr, flush=True)
        answer: Mapping[str, Any] = {"error": "not tried, since the size before gave no answer"}
        if not failed:
            answer = solved(options, TWO)
        failed = "error" in answer
        answers.append((name, answer, command_line(options, TWO)))
        # One that was stopped by the clock did not take what it needs.
        if not failed and answer["stopped_by"] in (None, "work"):
            points.append((options[what], answer))
    tables(report, title, answers)
    fitted = [
        {"of": name, "exponent": _told(points, figure), "sizes fitted": len(points)}
        for name, figure in FIGURES.items()
    ]
    report.table(f"{title}exponents", fitted, f"cost ~ {what} ^ exponent, over the sizes that finished.")


FIGURES: Final[dict[str, Callable[[Mapping[str, Any]], float]]] = {
    "time of the answer": lambda answer: answer["answer_own_s"],
    "time of the reasons": lambda answer: answer["reasons_own_s"],
    "peak memory": lambda answer: answer["peak_mib"],
    "memory beyond the fleet's": lambda answer: answer["peak_mib"] - answer["build_peak_mib"],
}


def _told(
    points: Sequence[tuple[float, Mapping[str, Any]]], figure: Callable[[Mapping[str, Any]], float]
) -> str:
    pairs = [(size, figure(answer)) for size, answer in points if figure(answer) > 0]
    return f"{exponent(pairs):.2f}" if len(pairs) >= FEWEST else "not fitted"


def exponent(points: Sequence[tuple[float, float]]) -> float:
    """Return the slope of the line that fits the logarithms best (least squares)."""
    found = [(math.log(size), math.log(cost)) for size, cost in points]
    x0 = sum(x for x, _ in found) / len(found)
    y0 = sum(y for _, y in found) / len(found)
    return sum((x - x0) * (y - y0) for x, y in found) / sum((x - x0) ** 2 for x, _ in found)


if __name__ == "__main__":
    sys.exit(main(measure))
