"""Solves a variant in a process of its own, with a limit on its time; a failure is an answer too."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from typing import Any, Final

from benchmarks.fleet.families import FULL
from benchmarks.fleet.phases import UNFINISHED
from benchmarks.measure import ROOT, environment, number

SOLVE_LIMIT_S: Final = 240.0
"""Seconds after which the solver is asked to stop with the best it has; waiting for a core not counted."""

GRACE_S: Final = 60.0
GRACE_A_HOST_S: Final = 0.03
"""Seconds of processor time more until the process is ended: building the fleet, finishing, judging."""

CORES: Final = 2
BUSIEST: Final = 10
"""Times the limits: by the clock, a process is ended then at last."""


def solved(
    options: Mapping[str, Any], levels: str, limit_s: float = SOLVE_LIMIT_S, grace_s: float | None = None
) -> dict[str, Any]:
    """Return what `python -m benchmarks.fleet` prints for a variant, or ``{"error": why}``.

    Where only the reasons of what has no place took too long, it is solved anew without, which the answer
    tells under ``without_reasons``.
    """
    if grace_s is None:
        grace_s = GRACE_S + GRACE_A_HOST_S * options.get("hosts", FULL)
    answer = _run(options, levels, limit_s, grace_s)
    if UNFINISHED not in answer.get("error", ""):
        return answer
    return {**_run({**options, "no_reasons": True}, levels, limit_s, grace_s), "without_reasons": True}


def _run(options: Mapping[str, Any], levels: str, limit_s: float, grace_s: float) -> dict[str, Any]:
    command = [sys.executable, "-m", "benchmarks.fleet", *arguments(options), "--levels", levels]
    # Processor time: on a busy machine the clock says little.
    cpu_s = round(CORES * limit_s + grace_s) or 1
    command += ["--time-limit", f"{limit_s:g}", "--cpu-limit", str(cpu_s)]
    process = subprocess.Popen(
        command,
        cwd=ROOT,
        env=environment(PYTHONPATH=str(ROOT)),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        output, errors = process.communicate(timeout=BUSIEST * (limit_s + grace_s))
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        output, errors = process.communicate()
    try:
        answer: dict[str, Any] = json.loads(output)
    except ValueError:
        told = errors.strip().splitlines()[-1:] or ["nothing told"]
        if process.returncode < 0:
            return {"error": f"ended after {cpu_s} s of processor time without an answer: {told[0]}"}
        return {"error": f"ended with {process.returncode}: {told[0]}"}
    return answer


def arguments(options: Mapping[str, Any]) -> list[str]:
    """Return a variant's options as `python -m benchmarks.fleet` takes them."""
    found: list[str] = []
    for name, value in options.items():
        found.append(f"--{name.replace('_', '-')}")
        if value is not True:
            found.append(str(value))
    return found


def command_line(options: Mapping[str, Any], levels: str, limit_s: float = SOLVE_LIMIT_S) -> str:
    """Return the command that shows a variant's figures again."""
    given = [*arguments(options), "--levels", levels, "--time-limit", f"{limit_s:g}"]
    return " ".join(["python -m benchmarks.fleet", *given])


def cost_row(name: str, answer: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a variant took and gave; of a failure what there is to say."""
    if "error" in answer:
        return {"variant": name, "verdict": f"FAILED: {answer['error']}"}
    stopped = f", stopped by {answer['stopped_by']}" if answer["stopped_by"] else ""
    return {
        "variant": name,
        "verdict": f"{answer['status']}{stopped}",
        "judge": answer["judge"],
        "worst gap": percent(worst_gap(answer)),
        "answer s": answer["answer_own_s"],
        "reasons s": reasons_text(answer),
        "judge s": answer["phases_own_s"].get("judge", 0.0),
        "solve() wall s": answer["solve"]["wall_s"],
        "solve() cpu s": answer["solve"]["cpu_s"],
        "peak MiB": answer["peak_mib"],
        "VMs placed": answer["placed_vms"],
        "GPUs placed": answer["placed_gpus"],
        "VMs moved": answer["moved_vms"],
    }


def level_row(name: str, answer: Mapping[str, Any]) -> dict[str, Any]:
    """Return value, bound and gap of every level."""
    levels = answer.get("levels", ())
    found = {level["id"]: {key: level[key] for key in ("value", "bound", "gap")} for level in levels}
    return {"variant": name, **found}


def size_row(name: str, answer: Mapping[str, Any], command: str) -> dict[str, Any]:
    """Return how large an instance is, and the command that solves it again."""
    if "error" in answer:
        return {"variant": name, "command": f"`{command}`"}
    return {
        "variant": name,
        "hosts": answer["hosts"],
        "host states": answer["distinct_host_states"],
        "GPUs": answer["gpus"],
        "GPUs free": answer["gpus_free"],
        "GPUs asked": answer["gpus_asked"],
        "VMs asked": answer["vms_asked"],
        "VMs there": answer["vms_running"],
        "may move": answer["vms_that_may_move"],
        "built, s": answer["build"]["own_s"],
        "then MiB": answer["build_peak_mib"],
        "sha256": answer["instance_sha256"][:12],
        "command": f"`{command}`",
    }


NOTES: Final = {
    "cost": "answer: solve() with the judge, without the reasons of what has no place, which stand beside; "
    "both less what they waited for a core. peak: of the process, the fleet included. "
    "worst gap: the greatest of levels 1 and 2, in percent of the bound, running VMs not counted.",
    "levels": "value / bound / gap",
    "size": "host states: hosts that differ in what is left of them. then MiB: peak before solving. "
    "sha256: of hosts, VMs and demands.",
}


def reasons_text(answer: Mapping[str, Any]) -> str:
    """Return the seconds for the reasons of what has no place, or that they did not come to an end."""
    return "not finished" if answer.get("without_reasons") else number(answer["reasons_own_s"])


def worst_gap(answer: Mapping[str, Any]) -> float | None:
    """Return the greatest gap of the levels 1 and 2 in percent; None = a level has no bound."""
    gaps = [
        level["gap_percent"]
        for level in answer.get("levels", ())
        if level["id"].startswith("placed:") or level["id"] == "locality"
    ]
    return None if not gaps or None in gaps else max(gaps)


def percent(gap: float | None) -> str:
    """Return a gap as a cell."""
    return "no bound" if gap is None else f"{gap:.3f} %"
