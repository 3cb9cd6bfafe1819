"""Run the benchmarks, each in a process of its own, and write RESULTS.md beside this file.

    python benchmarks/run.py                    all; writes RESULTS.md
    python benchmarks/run.py --quick            few runs and small sizes; prints the page
    python benchmarks/run.py startup judge      only these; prints the page
    python benchmarks/run.py --tests            only tell in RESULTS.md what the long tests said since

A goal that is missed is written down. A check that fails (different plans from the same input, a wrong
verdict) fails the run.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import shlex
import subprocess
import sys
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from benchmarks.results import page  # noqa: E402

LONG_TESTS = ROOT / "build" / "long-tests.xml"
FUZZ_TESTS = ROOT / "build" / "fuzz.xml"
FUZZ_SETTINGS = ROOT / "build" / "fuzz-settings.txt"
RESULTS = Path(__file__).resolve().parent / "RESULTS.md"
BENCHMARKS = ("startup", "plan", "cluster", "collect", "judge", "scale", "determinism")
PACKAGES = ("ortools", "pyvmomi", "networkx")
BUSY = 0.25
"""Load a core before the first benchmark above which the machine counts as loaded by others."""


def main() -> int:
    parser = argparse.ArgumentParser(
        description=(__doc__ or "").split("\n\n")[0], formatter_class=argparse.ArgumentDefaultsHelpFormatter
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(BENCHMARKS)}; none = all")
    parser.add_argument("--quick", action="store_true", help="few runs and small sizes")
    parser.add_argument("--tests", action="store_true", help="only renew what the long tests said")
    options = parser.parse_args()
    if options.tests:
        return _renew_tests()
    unknown = sorted(set(options.names) - set(BENCHMARKS))
    if unknown:
        parser.error(f"no such benchmark: {', '.join(unknown)}; there are {', '.join(BENCHMARKS)}")
    chosen = [name for name in BENCHMARKS if name in options.names or not options.names]
    head = _head()
    results = []
    for name in chosen:
        print(f"{name} ...", file=sys.stderr, flush=True)
        results.append(_run(name, options.quick))
    text = page([*head, ("load of the machine, afterwards", _load()), *_long_tests()], results)
    if options.quick or options.names:
        print(text, end="")
    else:
        RESULTS.write_text(text, encoding="utf-8")
        print(f"written: {RESULTS.relative_to(ROOT)}", file=sys.stderr)
    failed = [check for result in results for check in result["checks"] if not check["passed"]]
    for check in failed:
        print(f"FAILED: {check['what']}: {check['evidence']}", file=sys.stderr)
    return 1 if failed else 0


def _renew_tests() -> int:
    """Put the outcomes of the long tests into the page that is there, in place of older ones."""
    rows = {name.partition(" (")[0]: f"| {name} | {told} |" for name, told in _long_tests()}
    kept = [
        line
        for line in RESULTS.read_text(encoding="utf-8").splitlines()
        if not any(line.startswith(f"| {name} (") for name in rows)
    ]
    last = max(index for index, line in enumerate(kept) if line.startswith("| load of the machine"))
    RESULTS.write_text(
        "\n".join([*kept[: last + 1], *rows.values(), *kept[last + 1 :]]) + "\n", encoding="utf-8"
    )
    return 0


def _run(name: str, quick: bool) -> dict[str, Any]:
    """Run one benchmark; exit code 1 means that a check failed, and the checks are in its answer."""
    command = [sys.executable, "-m", f"benchmarks.{name}", *(["--quick"] if quick else [])]
    done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, check=False)
    try:
        answer: dict[str, Any] = json.loads(done.stdout)
    except ValueError:
        raise SystemExit(f"benchmarks.{name} ended with {done.returncode} and no answer") from None
    return answer


def _head() -> list[tuple[str, str]]:
    """Tell what the figures depend on. No names of the machine or of its folders."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 0
    before = os.getloadavg()[0]
    verdict = "others were using the machine" if before > BUSY * cores else "idle"
    return [
        ("made by", f"`{shlex.join(['python', 'benchmarks/run.py', *sys.argv[1:]])}`"),
        ("date", datetime.now(UTC).strftime("%Y-%m-%d %H:%MZ")),
        ("vplacer", f"{metadata.version('vplacer')}, {_commit()}"),
        ("Python", f"{platform.python_implementation()} {platform.python_version()}"),
        ("packages", ", ".join(f"{name} {metadata.version(name)}" for name in PACKAGES)),
        ("machine", f"{cores} cores, {platform.machine()}, {platform.system()}"),
        ("load of the machine, before", f"{_load()}: {verdict}"),
    ]


def _long_tests() -> list[tuple[str, str]]:
    """What the long tests said when `.ci/long` last ran them here; nothing if it never did."""
    found = [("long tests (`.ci/long`)", _outcome(LONG_TESTS, "tests"))]
    settings = FUZZ_SETTINGS.read_text(encoding="utf-8").strip() if FUZZ_SETTINGS.is_file() else ""
    found.append((f"readers on damaged files ({settings})", _outcome(FUZZ_TESTS, "properties")))
    return [(name, told) for name, told in found if told]


def _outcome(file: Path, what: str) -> str:
    """Tell what pytest wrote of a run; empty if there was none."""
    suite = ElementTree.parse(file).getroot().find("testsuite") if file.is_file() else None
    if suite is None:
        return ""
    bad = int(suite.get("failures", 0)) + int(suite.get("errors", 0))
    good = int(suite.get("tests", 0)) - bad
    started = suite.get("timestamp", "")[:16]
    return f"{good} {what} passed, {bad} failed, {float(suite.get('time', 0)):.0f} s, started {started}"


def _load() -> str:
    return " ".join(f"{value:.2f}" for value in os.getloadavg()) + " (1, 5, 15 minutes)"


def _commit() -> str:
    done = subprocess.run(
        ["git", "describe", "--always", "--dirty", "--exclude=*"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    return f"commit {done.stdout.strip()}" if done.returncode == 0 else "no git checkout"


if __name__ == "__main__":
    sys.exit(main())
