"""Run the benchmarks, each in a process of its own, and write RESULTS.md beside this file.

    python benchmarks/run.py                        all; writes RESULTS.md
    python benchmarks/run.py fleet --write          only this; renews its part of RESULTS.md
    python benchmarks/run.py fleet --only fresh --write   only these rows of it
    python benchmarks/run.py startup judge          only these; prints the page
    python benchmarks/run.py --quick                few runs and small sizes; prints the page
    python benchmarks/run.py --tests                only tell in RESULTS.md what the long tests said since
    python benchmarks/run.py --page                 only write RESULTS.md anew, with the present causes.yaml

What is measured is kept in results/, a file a benchmark; RESULTS.md is made from these. A goal that is missed
is written down, with its cause from causes.yaml. A check that fails (different plans from the same input, a
wrong verdict) fails the run.
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

from benchmarks import store  # noqa: E402
from benchmarks.results import page  # noqa: E402

LONG_TESTS = ROOT / "build" / "long-tests.xml"
FUZZ_TESTS = ROOT / "build" / "fuzz.xml"
FUZZ_SETTINGS = ROOT / "build" / "fuzz-settings.txt"
RESULTS = Path(__file__).resolve().parent / "RESULTS.md"
MODULES = {
    "startup": "benchmarks.startup",
    "plan": "benchmarks.plan",
    "cluster": "benchmarks.cluster",
    "peers": "benchmarks.peers",
    "fleet": "benchmarks.fleet.goals",
    "growth": "benchmarks.fleet.growth",
    "openb": "benchmarks.openb",
    "apply": "benchmarks.apply",
    "collect": "benchmarks.collect",
    "audit": "benchmarks.audit",
    "page": "benchmarks.page",
    "judge": "benchmarks.judge",
    "scale": "benchmarks.scale",
    "determinism": "benchmarks.determinism",
}
"""The benchmarks in the order of the page, and the module of each, run with `python -m`."""

PACKAGES = ("ortools", "pyvmomi", "networkx")
BUSY = 0.25
"""Load a core before the first benchmark above which the machine counts as loaded by others."""


def main() -> int:
    options = _options()
    if options.tests:
        store.keep_tests(_long_tests())
    if options.tests or options.page:
        return _write()
    chosen = [name for name in MODULES if name in options.names or not options.names]
    writes = options.write or not (options.names or options.quick)
    results = {}
    for name in chosen:
        print(f"{name} ...", file=sys.stderr, flush=True)
        made = _made()
        result = _run(name, options.quick, options.only)
        results[name] = {"made": made, "result": result}
        if writes:
            # At once: what is measured is kept, whatever comes after.
            store.keep(name, results[name], part=bool(options.only))
            _write()
    if writes:
        store.keep_tests(_long_tests())
        _write()
        print(f"written: {RESULTS.relative_to(ROOT)}", file=sys.stderr)
    else:
        print(page(results, _long_tests(), store.causes()), end="")
    failed = [check for item in results.values() for check in item["result"]["checks"] if not check["passed"]]
    for check in failed:
        print(f"FAILED: {check['what']}: {check['evidence']}", file=sys.stderr)
    return 1 if failed else 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=(__doc__ or "").split("\n\n")[0], formatter_class=argparse.ArgumentDefaultsHelpFormatter
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(MODULES)}; none = all")
    parser.add_argument("--quick", action="store_true", help="few runs and small sizes")
    parser.add_argument(
        "--only",
        action="append",
        default=[],
        metavar="TEXT",
        help="rows whose name has this text (fleet, growth)",
    )
    parser.add_argument("--write", action="store_true", help="renew the parts of RESULTS.md")
    parser.add_argument("--tests", action="store_true", help="only renew what the long tests said")
    parser.add_argument("--page", action="store_true", help="only write the page anew")
    options = parser.parse_args()
    unknown = sorted(set(options.names) - set(MODULES))
    if unknown:
        parser.error(f"no such benchmark: {', '.join(unknown)}; there are {', '.join(MODULES)}")
    if options.quick and options.write:
        parser.error("--quick measures too little to be written down")
    return options


def _write() -> int:
    RESULTS.write_text(page(store.kept(MODULES), store.tests(), store.causes()), encoding="utf-8")
    return 0


def _run(name: str, quick: bool, only: list[str]) -> dict[str, Any]:
    """Run one benchmark; what ends without an answer is a check that failed, and the others still run."""
    command = [sys.executable, "-m", MODULES[name], *(["--quick"] if quick else [])]
    for text in only:
        command += ["--only", text]
    done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, check=False)
    try:
        answer: dict[str, Any] = json.loads(done.stdout)
    except ValueError:
        check = {"what": name, "passed": False, "evidence": f"ended with {done.returncode} and no answer"}
        answer = {"title": name, "tables": [], "goals": [], "checks": [check], "waited_share": None}
    return answer


def _made() -> dict[str, str]:
    """Tell what the figures depend on. No names of the machine or of its folders."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 0
    before = os.getloadavg()
    verdict = "others were using the machine" if before[0] > BUSY * cores else "idle"
    return {
        "made by": f"`{shlex.join(['python', 'benchmarks/run.py', *sys.argv[1:]])}`",
        "date": datetime.now(UTC).strftime("%Y-%m-%d %H:%MZ"),
        "vplacer": f"{metadata.version('vplacer')}, {_commit()}",
        "Python and packages": ", ".join(
            [
                f"{platform.python_implementation()} {platform.python_version()}",
                *(f"{name} {metadata.version(name)}" for name in PACKAGES),
            ]
        ),
        "machine": f"{cores} cores, {platform.machine()}, {platform.system()}",
        "load before (1, 5, 15 minutes)": f"{' '.join(f'{value:.2f}' for value in before)}: {verdict}",
    }


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
