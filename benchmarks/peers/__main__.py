"""Other ways to place the same VMs, side by side: is any of them better than vplacer, or as good in its time?

Each answer is made in a process of its own, with the same limit, and looked at by two checkers.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from benchmarks.measure import ROOT, Report, environment, main
from benchmarks.peers import btrplace
from benchmarks.peers.instances import CLUSTER, INSTANCES, SMALL
from benchmarks.peers.one import PEERS, VPLACER, WITHOUT_LIMIT

LIMITS_S: Final = (1.0, 10.0, 60.0)
QUICK_LIMITS_S: Final = (1.0,)
BTRPLACE_LIMITS_S: Final = (1.0, 10.0)
"""Of each attempt; there are up to ten times as many seconds for all of them, and no more than a minute."""
MOST_WALL_S: Final = 1_800.0
"""By the clock, after which a process is ended."""
GOAL_S: Final = 1.0
GOAL_PERCENT: Final = 0.1

NOTE: Final = (
    "Levels: value / the peer's own bound / gap; the first that differs decides. Limits and comparisons are "
    "of processor time (of two threads: half of it): others on the machine change nothing. For vplacer: "
    "solve() with the judge's word, without the reasons for what is unplaced. Values are counted from the "
    "placements that are as the VMs asked; both checkers accept all of them. A limit that a peer did not use "
    "up is not raised."
)
WHO: Final = (
    (
        "vplacer's exact model, whole",
        "all hosts down to single cards in one CP-SAT model, levels one after the other: what vplacer proves "
        "small instances with",
        "nothing",
    ),
    (
        "counts",
        "one linear model of all hosts as an engineer would write it: how many VMs of a shape sit on which "
        "nodes and cards of each host. The same rows for CP-SAT (symmetry detection off: it takes longer "
        "than the limit) and HiGHS",
        "rules, gangs, HA, headroom, VMs that may move (none of them is asked here)",
    ),
    (
        "Nova",
        "the published rule of OpenStack Nova, written anew: one VM after the other, by priority, on the "
        "best-weighed host whose NUMA cells and PCI devices fit",
        "NVLink, switch, NIC near GPU: where its rule leaves a choice of devices, it is given one that keeps "
        "them",
    ),
    (
        "BtrPlace",
        "scheduler-choco 1.9.3: each NUMA node is a node, cores, memory and cards are resources. It finds a "
        "plan for all or none, so the most is found shape by shape, in attempts of the limit each; seconds "
        "are those of all attempts and of the start of Java, on both cores",
        "; ".join(btrplace.UNSAID),
    ),
)


@dataclass(frozen=True)
class Answer:
    """One answer. ``told``: what `one` printed; ``limit_s`` what it was given."""

    peer: str
    limit_s: float
    told: dict[str, Any]

    @property
    def values(self) -> tuple[int, ...]:
        """Values by level, comparable as a whole: the first that differs decides."""
        return tuple(level["value"] for level in self.told["levels"])

    @property
    def seconds(self) -> float:
        return float(self.told["seconds"])


def measure(quick: bool, only: tuple[str, ...] = ()) -> Report:
    report = Report("Peers on the same instances", elsewhere=True)
    titles = ("peer", "what it is", "what it cannot say")
    report.table("Who they are", [dict(zip(titles, row, strict=True)) for row in WHO])
    names = [next(iter(SMALL)), next(iter(CLUSTER))] if quick else list(INSTANCES)
    limits = QUICK_LIMITS_S if quick else LIMITS_S
    for name in names:
        if only and not any(text in name for text in only):
            continue
        own = _series(name, VPLACER, limits, report)
        answers = [answer for peer in PEERS for answer in _series(name, peer, limits, report)]
        report.table(name, [_row(answer) for answer in (*own, *answers)], NOTE)
        if "not_run" not in own[-1].told:
            _claim(name, own[-1], answers, report)
    return report


def _series(name: str, peer: str, limits: Sequence[float], report: Report) -> list[Answer]:
    """Run a peer with greater and greater limits, until it ends before one is used up."""
    found = []
    for limit in BTRPLACE_LIMITS_S[: len(limits)] if peer == "BtrPlace" else limits:
        print(f"  {name}: {peer}, {limit:g} s", file=sys.stderr, flush=True)
        answer = Answer(peer, limit, _run(name, peer, limit))
        found.append(answer)
        if "not_run" in answer.told:
            break
        wrong = [*answer.told["faults"], *answer.told["judge"]]
        report.check(
            f"{name}, {peer}, {limit:g} s: both checkers accept the answer", not wrong, "; ".join(wrong[:2])
        )
        if peer in WITHOUT_LIMIT or _finished(answer):
            break
    return found


def _finished(answer: Answer) -> bool:
    """Whether more time would change nothing."""
    if all(level["bound"] == level["value"] for level in answer.told["levels"]):
        return True
    if answer.peer == VPLACER:
        return "stopped by time" not in answer.told["notes"]
    return answer.peer == "BtrPlace" and answer.told["vms"] == answer.told["asked"]


def _run(name: str, peer: str, limit_s: float) -> dict[str, Any]:
    command = [sys.executable, "-m", "benchmarks.peers.one", name, peer, str(limit_s)]
    try:
        done = subprocess.run(
            command,
            cwd=ROOT,
            env=environment(),
            stdout=subprocess.PIPE,
            check=False,
            timeout=MOST_WALL_S,
        )
    except subprocess.TimeoutExpired:
        return {"not_run": "ended: it did not keep the limit"}
    if done.returncode:
        return {"not_run": f"exit code {done.returncode}"}
    told: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return told


def _row(answer: Answer) -> dict[str, Any]:
    limit = "no limit" if answer.peer in WITHOUT_LIMIT else f"{answer.limit_s:g} s"
    row: dict[str, Any] = {"peer": f"{answer.peer}; {limit}"}
    if "not_run" in answer.told:
        return {**row, "notes": f"not run: {answer.told['not_run']}"}
    for level in answer.told["levels"]:
        bound = level["bound"]
        gap = None if bound is None else bound - level["value"]
        row[level["id"]] = {"value": level["value"], "bound": bound, "gap": gap}
    row["VMs placed"] = answer.told["vms"]
    row["of"] = answer.told["asked"]
    row["cpu s"] = answer.seconds
    row["wall s"] = float(answer.told["wall_s"])
    row["notes"] = "; ".join(answer.told["notes"])
    return row


def _claim(name: str, own: Answer, answers: Sequence[Answer], report: Report) -> None:
    """Hold vplacer's answer against its bound, its second, and every peer's answers."""
    gaps = [_percent(level) for level in own.told["levels"]]
    known = [gap for gap in gaps if gap is not None]
    report.limit(
        f"{name}: gap of vplacer", GOAL_PERCENT, max(known) if len(known) == len(gaps) else None, "%"
    )
    report.limit(f"{name}: vplacer, without reasons", GOAL_S, own.seconds, "s")
    ran = [answer for answer in answers if "not_run" not in answer.told]
    better = sorted({answer.peer for answer in ran if answer.values > own.values})
    report.limit(f"{name}: peers that are better", 0, len(better), "", ", ".join(better))
    equal = sorted(
        {answer.peer for answer in ran if answer.values == own.values and answer.seconds <= own.seconds}
    )
    report.limit(f"{name}: peers as good in vplacer's time", 0, len(equal), "", ", ".join(equal))


def _percent(level: dict[str, Any]) -> float | None:
    """Return a level's gap in percent; a gap of one VM (of 0.1 GPU at least) counts as none."""
    if level["bound"] is None:
        return None
    gap = abs(level["bound"] - level["value"])
    if level["id"].startswith("placed:") and gap <= 100:
        return 0.0
    return 100.0 * gap / max(abs(level["bound"]), 1)


if __name__ == "__main__":
    sys.exit(main(measure))
