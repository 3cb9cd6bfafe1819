"""Measuring, and the form in which a benchmark hands over what it measured.

A benchmark is a module run in a process of its own, `python -m benchmarks.NAME [--quick]`. It prints one
JSON object: ``title``, ``tables`` (rows of figures), ``goals`` (a limit and whether it was kept) and
``checks`` (what must hold; one that does not fails the run).

Times are seconds of the wall clock; ``cpu`` is processor time, which other programs on the machine
disturb less.
"""

from __future__ import annotations

import argparse
import contextlib
import inspect
import json
import os
import statistics
import subprocess
import sys
import sysconfig
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

T = TypeVar("T")

ROOT = Path(__file__).resolve().parent.parent
OUR_SETTINGS = "VPLACER_"
"""Variables of the caller that start with this would change what is measured."""


@dataclass(frozen=True)
class Cost:
    """What one piece of work took.

    ``waited_s``: of the time by the clock, what the thread waited for a free core. ``peak_mib`` None = not
    known for it alone.
    """

    wall_s: float
    cpu_s: float
    peak_mib: float | None = None
    waited_s: float = 0.0

    @property
    def own_s(self) -> float:
        """Seconds by the clock, less those in which other programs had the cores."""
        return max(0.0, self.wall_s - self.waited_s)

    def less(self, part: Cost | None) -> Cost:
        """Return this cost without that of a part of the work."""
        if part is None:
            return self
        return Cost(
            self.wall_s - part.wall_s,
            self.cpu_s - part.cpu_s,
            self.peak_mib,
            self.waited_s - part.waited_s,
        )


@dataclass
class Report:
    """What a benchmark found."""

    title: str
    tables: list[dict[str, Any]] = field(default_factory=list)
    goals: list[dict[str, Any]] = field(default_factory=list)
    checks: list[dict[str, Any]] = field(default_factory=list)
    elsewhere: bool = False
    """The work is done in other processes: how long this one waited says nothing."""

    def table(self, title: str, rows: Sequence[dict[str, Any]], note: str = "") -> None:
        """Add a table; a row is a dict of cells: text, number, `spread` or ``{value, bound, gap}``."""
        self.tables.append({"title": title, "rows": list(rows), "note": note})

    def goal(self, what: str, limit_s: float, costs: Sequence[Cost]) -> None:
        """Add a goal in seconds, held against the median of `Cost.own_s`. Missing one fails nothing."""
        own = statistics.median(cost.own_s for cost in costs)
        wall = statistics.median(cost.wall_s for cost in costs)
        cpu = statistics.median(cost.cpu_s for cost in costs)
        self.limit(what, limit_s, own, "s", beside(wall, cpu))

    def limit(self, what: str, limit: float, figure: float | None, unit: str, beside: str = "") -> None:
        """Add a goal: a figure of at most ``limit``; None = there is no figure, and the goal is missed.

        ``beside``: what else is worth knowing of it.
        """
        met = figure is not None and figure <= limit
        told = "none" if figure is None else f"{number(figure)} {unit}"
        self.goals.append(
            {"what": what, "goal": f"<= {limit:g} {unit}", "figure": told, "beside": beside, "met": met}
        )

    def least(self, what: str, limit: float, figure: float | None, unit: str, beside: str = "") -> None:
        """Add a goal: a figure of at least ``limit``; else as `limit`."""
        met = figure is not None and figure >= limit
        told = "none" if figure is None else f"{number(figure)} {unit}"
        self.goals.append(
            {"what": what, "goal": f">= {limit:g} {unit}", "figure": told, "beside": beside, "met": met}
        )

    def check(self, what: str, passed: bool, evidence: str = "") -> None:
        """Add something that must hold."""
        self.checks.append({"what": what, "passed": passed, "evidence": evidence})


def main(measure: Callable[..., Report]) -> int:
    """Run a benchmark from its command line and print its JSON; 1 if a check failed.

    A benchmark of several parts takes a second argument, the parts wanted (``--only``); none = all.
    """
    parser = argparse.ArgumentParser(description=(sys.modules["__main__"].__doc__ or "").split("\n\n")[0])
    parser.add_argument("--quick", action="store_true", help="few runs and small sizes: does it work at all?")
    parts = len(inspect.signature(measure).parameters) > 1
    if parts:
        parser.add_argument(
            "--only", action="append", default=[], metavar="TEXT", help="rows whose name has this text"
        )
    options = parser.parse_args()
    report = measure(options.quick, tuple(options.only)) if parts else measure(options.quick)
    told = {key: value for key, value in vars(report).items() if key != "elsewhere"}
    told["waited_share"] = None if report.elsewhere else waited_share()
    json.dump(told, sys.stdout, indent=1)
    print()
    return 0 if all(check["passed"] for check in report.checks) else 1


def waited_share() -> float | None:
    """Return which part of its runnable time this thread waited for a core; None = not told."""
    ran, waited = _scheduled()
    return None if not ran + waited else waited / (ran + waited)


def waited_s() -> float:
    """Return the seconds this thread has waited for a core; 0 where the system does not say."""
    return _scheduled()[1]


def _scheduled() -> tuple[float, float]:
    """Return the seconds this thread ran and waited.

    Linux: /proc/thread-self/schedstat, nanoseconds run and nanoseconds waited.
    """
    with contextlib.suppress(OSError, ValueError):
        ran, waited, _ = map(int, Path("/proc/thread-self/schedstat").read_text().split())
        return ran / 1e9, waited / 1e9
    return 0.0, 0.0


def beside(wall_s: float, cpu_s: float) -> str:
    """Return what is told beside a goal in seconds."""
    return f"{number(wall_s)} s by the clock, {number(cpu_s)} s of processor time"


def number(value: float) -> str:
    """Return a number with three significant digits, or as a whole number from a hundred on."""
    if abs(value) >= 99.95:
        return f"{value:.0f}"
    return f"{value:.3g}" if abs(value) < 1 else f"{value:.{2 if abs(value) < 9.995 else 1}f}"


def timed(work: Callable[[], T]) -> tuple[T, Cost]:
    """Do some work of this process once and tell what it took."""
    cpu, wall, waited = time.process_time(), time.perf_counter(), waited_s()
    result = work()
    waited = waited_s() - waited
    return result, Cost(time.perf_counter() - wall, time.process_time() - cpu, waited_s=waited)


def repeated(work: Callable[[], T], runs: int, *, warm_up: bool = True) -> tuple[T, list[Cost]]:
    """Do the same work several times; return the last result and every cost but the warm-up's."""
    if warm_up:
        work()
    costs = []
    for _ in range(runs):
        result, cost = timed(work)
        costs.append(cost)
    return result, costs


def repeated_if_short(work: Callable[[], T], runs: int, short_s: float = 5.0) -> tuple[T, list[Cost]]:
    """Do the same work several times, or once if that takes longer than ``short_s``; as `repeated`."""
    result, cost = timed(work)
    costs = [cost]
    while len(costs) < runs and cost.own_s < short_s:
        result, cost = timed(work)
        costs.append(cost)
    return result, costs


def spread(values: Sequence[float]) -> dict[str, Any]:
    """Median, least and greatest of several measurements."""
    return {
        "median": statistics.median(values),
        "min": min(values),
        "max": max(values),
        "runs": len(values),
    }


def times(costs: Sequence[Cost]) -> dict[str, Any]:
    """Cells of a table: wall and processor time."""
    return {
        "wall s": spread([cost.wall_s for cost in costs]),
        "cpu s": spread([cost.cpu_s for cost in costs]),
    }


def vplacer(*arguments: str) -> list[str]:
    """Return the command line of the installed program that belongs to this Python."""
    name = "vplacer.exe" if os.name == "nt" else "vplacer"
    program = Path(sysconfig.get_path("scripts")) / name
    if not program.is_file():
        raise SystemExit("vplacer is not installed beside this Python: pip install -e '.[dev]'")
    return [str(program), *arguments]


def environment(**changes: str) -> dict[str, str]:
    """Return this process's environment without vplacer's own settings."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(OUR_SETTINGS)}
    return {**kept, **changes}


def run_command(
    command: Sequence[str], *, expect: Sequence[int] = (0,), **changes: str
) -> tuple[bytes, Cost]:
    """Run a program to its end; return its standard output and what the process took, start included.

    Args:
        command: the program and its arguments.
        expect: exit codes that are right.
        changes: environment variables to set.
    """
    wall = time.perf_counter()
    process = subprocess.Popen(
        command,
        cwd=ROOT,
        env=environment(**changes),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    assert process.stdout is not None
    with process.stdout:
        output = process.stdout.read()
    _, status, used = os.wait4(process.pid, 0)
    seconds = time.perf_counter() - wall
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode not in expect:
        shown = " ".join([Path(command[0]).name, *command[1:]])
        raise SystemExit(f"{shown}: exit code {process.returncode}, not one of {list(expect)}")
    peak = used.ru_maxrss / (1024.0 * (1024 if sys.platform == "darwin" else 1))
    return output, Cost(seconds, used.ru_utime + used.ru_stime, peak)


def repeated_command(command: Sequence[str], runs: int) -> tuple[bytes, list[Cost]]:
    """Run a program several times after one run to warm up; return the last output and every cost."""
    run_command(command)
    found = [run_command(command) for _ in range(runs)]
    return found[-1][0], [cost for _, cost in found]
