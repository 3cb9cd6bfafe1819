"""Turns what the benchmarks measured into a Markdown page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from benchmarks.measure import number

Result = Mapping[str, Any]
Item = Mapping[str, Any]
"""How a benchmark was made (``made``) and what it printed (``result``)."""


def page(
    items: Mapping[str, Item], tests: Sequence[tuple[str, str]] = (), causes: Mapping[str, str] | None = None
) -> str:
    """Return the page: facts about the runs, goals, checks, then every benchmark's tables.

    Args:
        items: by name of the benchmark.
        tests: name and outcome of tests that are told of beside.
        causes: why a goal is missed, by its name or the start of it.
    """
    results = [item["result"] for item in items.values()]
    lines = [
        "# Benchmarks",
        "",
        "Written by `benchmarks/run.py`; do not edit. Seconds are given as median (least - greatest). "
        "wall: by the clock; cpu: processor time, which other programs on the machine disturb less. "
        "A goal in seconds is held against the time by the clock, less what the process waited for a core. "
        "A part is renewed with `python benchmarks/run.py NAME --write`.",
        "",
        *_runs(items),
        *(table(["tests", ""], [list(row) for row in tests]) if tests else []),
        "## Goals",
        "",
        *_goals(results, causes or {}),
        "## Checks",
        "",
        *_checks(results),
    ]
    for result in results:
        lines += [f"## {result['title']}", ""]
        waited = result["waited_share"]
        if waited is not None:
            lines += [
                f"The measuring process waited for a free core {waited:.0%} of the time it could have run.",
                "",
            ]
        for item in result["tables"]:
            lines += _table(item)
    return "\n".join(lines).rstrip() + "\n"


def _runs(items: Mapping[str, Item]) -> list[str]:
    names = list(dict.fromkeys(name for item in items.values() for name in item["made"]))
    rows = [[name, *(item["made"].get(key, "") for key in names)] for name, item in items.items()]
    return table(["benchmark", *names], rows)


def _goals(results: Sequence[Result], causes: Mapping[str, str]) -> list[str]:
    rows = [
        [
            goal["what"],
            goal["goal"],
            goal["figure"],
            goal["beside"],
            "kept" if goal["met"] else "MISSED",
            "" if goal["met"] else _cause(goal["what"], causes),
        ]
        for result in results
        for goal in result["goals"]
    ]
    if not rows:
        return ["None.", ""]
    kept = sum(row[4] == "kept" for row in rows)
    head = ["what", "goal", "figure", "beside", "", "cause"]
    return [f"{kept} of {len(rows)} are kept.", "", *table(head, rows)]


def _cause(goal: str, causes: Mapping[str, str]) -> str:
    """Return the cause stated for a goal, else for the longest start of its name."""
    fitting = [name for name in causes if goal.startswith(name)]
    return causes[max(fitting, key=len)] if fitting else "not stated"


def _checks(results: Sequence[Result]) -> list[str]:
    checks = [check for result in results for check in result["checks"]]
    failed = [check for check in checks if not check["passed"]]
    lines = [f"{len(checks) - len(failed)} of {len(checks)} hold.", ""]
    lines += [f"- FAILED: {check['what']}: {check['evidence']}" for check in failed]
    return [*lines, ""] if failed else lines


def _table(item: Result) -> list[str]:
    rows = item["rows"]
    names = list(dict.fromkeys(name for row in rows for name in row))
    lines = [f"### {item['title']}", "", *([item["note"], ""] if item["note"] else [])]
    return lines + table(names, [[cell(row.get(name, "")) for name in names] for row in rows])


def table(names: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """Return a Markdown table and an empty line."""
    lines = [names, ["---"] * len(names), *rows]
    return [*(f"| {' | '.join(text.replace('|', chr(92) + '|') for text in line)} |" for line in lines), ""]


def cell(value: Any) -> str:
    """Return the text of a cell: a number, a spread, a level or a text."""
    if isinstance(value, Mapping):
        if "median" in value:
            if value["runs"] == 1:
                return number(value["median"])
            return f"{number(value['median'])} ({number(value['min'])} - {number(value['max'])})"
        return " / ".join("?" if value[key] is None else str(value[key]) for key in ("value", "bound", "gap"))
    return number(value) if isinstance(value, float) else str(value)
