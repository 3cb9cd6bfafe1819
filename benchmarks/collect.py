"""Reading a vCenter: the simulated one, through the ordinary session and collector.

Goal for the first plan that a newcomer makes (`--lab nvswitch`): 2.5 s from start to end.
"""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from benchmarks import sites
from benchmarks.measure import (
    ROOT,
    Report,
    environment,
    main,
    repeated,
    repeated_command,
    spread,
    timed,
    times,
    vplacer,
)
from benchmarks.plan import default_options
from vplacer.inventory.vcenter import Inventory
from vplacer.jobs.fixtures import fixture_path
from vplacer.jobs.lab import LabAccount, lab_server
from vplacer.jobs.source import SourceOptions, load_site, read_source
from vplacer.jobs.world import World
from vplacer.solver.solve import solve

FIRST_PLAN = ("plan", "--dry-run", "--lab", "nvswitch", "-r", "nvswitch")
FIRST_PLAN_GOAL_S = 2.5
STOP_S = 30
"""Longest wait for the end of a server that was told to stop."""


def measure(quick: bool) -> Report:
    report = Report("Reading a vCenter")
    runs = 1 if quick else 5
    _, costs = repeated_command(vplacer(*FIRST_PLAN), runs)
    report.table("First plan", [{"command": f"vplacer {' '.join(FIRST_PLAN)}", **times(costs)}])
    report.goal("first plan from the lab", FIRST_PLAN_GOAL_S, costs)
    with tempfile.TemporaryDirectory() as folder:
        full = Path(folder) / "full.yaml"
        full.write_text(sites.devices_site_text(10 if quick else 100), encoding="utf-8")
        big = fixture_path("sites", sites.BIG)
        report.table(
            "Server and client in one process, as with --lab",
            _in_one_process(big, runs),
            f"Site {sites.BIG}. The server is new each time, so it renders every answer anew.",
        )
        report.table(
            "Server in a process of its own",
            [*_served(sites.BIG, big, runs, report), *_served("full", full, runs, report)],
            "Session and collector, logout included. 'first': the server has rendered nothing yet.",
        )
    return report


def _in_one_process(path: Path, runs: int) -> list[dict[str, Any]]:
    parts: dict[str, list[float]] = {}
    for number in range(runs + 1):
        # The first run imports what is imported late.
        seconds = _one_run(path)
        if number:
            for name, value in seconds.items():
                parts.setdefault(name, []).append(value)
    return [{"part": name, "wall s": spread(values)} for name, values in parts.items()]


def _one_run(path: Path) -> dict[str, float]:
    """Do what `vplacer plan --lab` does; return the seconds of its parts."""
    seconds: dict[str, float] = {}
    started = time.perf_counter()

    def lap(name: str) -> None:
        nonlocal started
        now = time.perf_counter()
        seconds[name], started = now - started, now

    site = load_site(path)
    lap("load the site")
    server = lab_server(site, LabAccount())
    lap("make the server")
    with server:
        lap("start the server")
        inventory = _read(server.url, server.ca_file, server.username, {"VPLACER_PASSWORD": server.password})
        lap("connect, collect, log out")
    lap("stop the server")
    problem = sites.problem(inventory, site.overlays, sites.request_text())
    lap("topology and request")
    solve(problem, default_options())
    lap("solve")
    return seconds


def _served(name: str, path: Path, runs: int, report: Report) -> list[dict[str, Any]]:
    """Read a site served by another process: once when it is new, then again and again."""
    with _serving(path) as said:
        environ = {"VPLACER_PASSWORD_FILE": said["password_file"]}

        def read() -> Inventory:
            return _read(said["url"], Path(said["ca_file"]), said["username"], environ)

        inventory, first = timed(read)
        _, again = repeated(read, runs, warm_up=False)
    hosts, devices = len(inventory.hosts), sum(len(host.pci_devices) for host in inventory.hosts)
    expected = load_site(path).inventory
    report.check(
        f"{name}: as many hosts, PCI devices and VMs are read as the site has",
        (hosts, devices, len(inventory.vms))
        == (len(expected.hosts), sum(len(h.pci_devices) for h in expected.hosts), len(expected.vms)),
        f"{hosts} hosts, {devices} PCI devices, {len(inventory.vms)} VMs",
    )
    size = {"site": name, "hosts": hosts, "PCI devices": devices, "VMs": len(inventory.vms)}
    return [
        {**size, "reading": "first", **times([first])},
        {**size, "reading": "again", **times(again)},
    ]


@contextlib.contextmanager
def _serving(path: Path) -> Iterator[dict[str, Any]]:
    """Run `vplacer lab serve` until the block ends; yields what it announces."""
    process = subprocess.Popen(
        vplacer("lab", "serve", str(path), "--format", "json"),
        cwd=ROOT,
        env=environment(),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    try:
        line = process.stdout.readline()
        if not line:
            raise SystemExit(f"vplacer lab serve {path.name} ended with {process.wait()}")
        said: dict[str, Any] = json.loads(line)
        yield said
    finally:
        process.terminate()
        process.wait(STOP_S)
        process.stdout.close()


def _read(url: str, ca_file: Path, username: str, environ: dict[str, str]) -> Inventory:
    """Read a vCenter as every command does."""
    options = SourceOptions(vcenter=url, ca_file=ca_file, username=username)
    return read_source(options, _world(environ)).inventory


def _world(environ: dict[str, str]) -> World:
    return World(
        environ=environ,
        clock=lambda: datetime.now(UTC),
        seconds=time.monotonic,
        warn=lambda text: print(text, file=sys.stderr),
    )


if __name__ == "__main__":
    sys.exit(main(measure))
