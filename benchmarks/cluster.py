"""A cluster of 96 hosts and 400 VMs: empty, with running VMs, with some of those bound anew, and too small.

Goal: proved optimal, or within 0.1 % or one VM of the bound, within a second; why a request cannot be met
within three.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import replace
from typing import Any, Final

from benchmarks import sites
from benchmarks.fleet.outcome import gap_percent, outcome
from benchmarks.fleet.phases import REASONS, Phases
from benchmarks.measure import Report, main, repeated_if_short, spread, times
from benchmarks.relaxed import first_relaxation, relaxed
from vplacer.constraints.state import Problem
from vplacer.inventory.vm import Vm
from vplacer.solver.conflicts.conflict import Conflict
from vplacer.solver.solve import solve
from vplacer.solver.verdict import LevelResult, Solution, SolveOptions, Status

GOAL_S: Final = 1.0
GOAL_PERCENT: Final = 0.1
EXPLAIN_S: Final = 3.0
REBOUND: Final = 150
"""Running VMs that get a home they have not, in the variant with existing VMs."""


def cluster_problem(variant: str) -> Problem:
    """Return the problem of a variant, a key of `VARIANTS` or `INFEASIBLE`."""
    return {**VARIANTS, **INFEASIBLE}[variant]()


def _new(share: float, seed: int) -> Problem:
    """400 new VMs on the cluster, of which running VMs take a share; what does not fit is left out."""
    site = sites.big_site()
    inventory = sites.filled(site, share=share, seed=seed) if share else site.inventory
    text = sites.site_text({**sites.document("requests"), "partial": True})
    return sites.problem(inventory, site.overlays, text)


def _scale(data: dict[str, Any], factor: float) -> None:
    for entry in data["vms"]:
        entry["count"] = round(entry["count"] * factor)


def _existing(share: float, seed: int) -> Problem:
    """250 new VMs, and 150 that run with GPUs and float today: they are to be bound, and may move for it."""
    site = sites.big_site()
    inventory = sites.filled(site, share=share, seed=seed)
    chosen = [vm for vm in inventory.vms if _floats_with_gpu(vm)][:REBOUND]
    tagged = {vm.moid for vm in chosen}
    vms = tuple(replace(vm, tags=("bench:rebind",)) if vm.moid in tagged else vm for vm in inventory.vms)
    data = sites.document("requests")
    _scale(data, (400 - len(chosen)) / 400)
    rebind = {
        "select": {"tag": "bench:rebind"},
        "affinity": "pin",
        "policy": "required",
        "may_move": True,
        "priority": 1,
    }
    data["vms"].append(rebind)
    text = sites.site_text({**data, "partial": True})
    return sites.problem(replace(inventory, vms=vms), site.overlays, text)


def _floats_with_gpu(vm: Vm) -> bool:
    return bool(vm.devices) and not vm.extra_config and vm.folder == "vm/fill"


def _with_rule(rule: dict[str, Any]) -> Problem:
    """400 VMs that would fit, and a rule that some of them cannot keep."""
    site = sites.big_site()
    data = sites.document("requests")
    return sites.problem(site.inventory, site.overlays, sites.site_text({**data, "rules": [rule]}))


def _too_much() -> Problem:
    site = sites.big_site()
    return sites.problem(site.inventory, site.overlays, sites.request_text(1.5))


def _two_wishes() -> Problem:
    """Two GPUs joined by NVLink, of a model that has none; and more NICs than a card has near."""
    site = sites.big_site()
    data = sites.document("requests")
    gpus = {"count": 2, "model": "L40S", "interconnect": "nvlink", "policy": "required"}
    data["vms"].append(
        {"template": "gpu-template", "name": "linked-{n}", "count": 4, "cpus": 16, "memory": "96 GiB"}
        | {"gpus": gpus, "nics": {"count": 2, "near": "gpu", "at": "switch"}}
    )
    return sites.problem(site.inventory, site.overlays, sites.site_text(data))


VARIANTS: Final[dict[str, Callable[[], Problem]]] = {
    "empty": lambda: _new(0, 0),
    "20 % filled": lambda: _new(0.2, 1),
    "50 % filled": lambda: _new(0.5, 1),
    "50 % filled, seed 2": lambda: _new(0.5, 2),
    "20 % filled, 150 of them bound anew": lambda: _existing(0.2, 1),
    "50 % filled, 150 of them bound anew": lambda: _existing(0.5, 1),
}

INFEASIBLE: Final[dict[str, Callable[[], Problem]]] = {
    "one and a half times the request": _too_much,
    "four VMs of a whole host on three": lambda: _with_rule({"on": "a100-0[1-3]", "vms": "a100-whole-*"}),
    "36 VMs of A100 GPUs apart from each other": lambda: _with_rule(
        {"apart": ["a100-node-*", "a100-single-*"], "at_most": 1}
    ),
    "NVLink of cards that have none": _two_wishes,
}


def measure(quick: bool) -> Report:
    report = Report("A cluster of 96 hosts, 400 VMs")
    runs = 1 if quick else 3
    levels = SolveOptions().levels
    rows = [
        _solved(name, order, report, runs)
        for name in (list(VARIANTS)[:2] if quick else VARIANTS)
        for order in (levels[:2], levels)
    ]
    report.table(
        "Solving",
        rows,
        "solve() with the judge, without the reasons of what has no place. Levels: value / bound / gap.",
    )
    rows = [_explained(name, report, runs) for name in (list(INFEASIBLE)[:1] if quick else INFEASIBLE)]
    report.table("Why it cannot be done", rows, "solve() as a whole: the search, the proof, the reasons.")
    return report


def _solved(name: str, levels: tuple[str, ...], report: Report, runs: int) -> dict[str, Any]:
    asked = cluster_problem(name)
    what = f"{name}, {'all levels' if len(levels) > 2 else 'levels 1 and 2'}"
    limits = SolveOptions(levels=levels)
    phases: list[Phases] = []

    def work() -> Solution:
        phases.append(Phases())
        with phases[-1].watched():
            return solve(_anew(asked), limits)

    solution, whole = repeated_if_short(work, runs)
    costs = [cost.less(one.costs.get(REASONS)) for cost, one in zip(whole, phases, strict=True)]
    told = outcome(asked, solution)
    report.check(f"{what}: the judge accepts the answer", told["judge"] == "passed", told["judge"])
    if len(levels) == 2:
        report.goal(f"96 hosts, {what}", GOAL_S, costs)
        report.limit(f"96 hosts, {what}: gap", GOAL_PERCENT, _worst(asked, solution), "%")
    return {
        "cluster": what,
        "VMs there": sum(not vm.template for vm in asked.inventory.vms),
        "asked": len(asked.request.demands),
        "unplaced": len(solution.unplaced),
        "verdict": solution.status.value,
        **times(costs),
        "reasons s": spread([one.own_s(REASONS) for one in phases]),
        **{
            level.id: {"value": level.value, "bound": level.bound, "gap": level.gap}
            for level in solution.levels
        },
    }


def _worst(asked: Problem, solution: Solution) -> float | None:
    gaps = [_off(asked, level) for level in solution.levels]
    known = [gap for gap in gaps if gap is not None]
    return max(known, default=0.0) if len(known) == len(gaps) else None


def _off(asked: Problem, level: LevelResult) -> float | None:
    """Return the gap of a level in percent; a gap of no more than one VM counts as none."""
    found = gap_percent(level.value, level.bound)
    one = min((demand.weight_milli for demand in asked.request.demands), default=0)
    return 0.0 if level.gap is not None and level.id.startswith("placed:") and level.gap <= one else found


def _explained(name: str, report: Report, runs: int) -> dict[str, Any]:
    asked = cluster_problem(name)
    phases: list[Phases] = []

    def work() -> Solution:
        phases.append(Phases())
        with phases[-1].watched():
            return solve(_anew(asked), SolveOptions())

    solution, costs = repeated_if_short(work, runs)
    report.check(f"{name}: proved infeasible", solution.status is Status.INFEASIBLE, solution.status.value)
    reasons = [one.costs[REASONS] for one in phases]
    report.goal(f"96 hosts, infeasible, {name}: the explanation", EXPLAIN_S, reasons)
    followed = relaxed(asked, solution)
    left = None if followed is None else len(solve(followed, SolveOptions()).unplaced)
    report.limit(
        f"96 hosts, infeasible, {name}: without a place, the first relaxation applied", 0, left, "VMs"
    )
    conflicts = [conflict for reason in solution.reasons for conflict in reason.conflicts]
    return {
        "request": name,
        "asked": len(asked.request.demands),
        "unplaced": len(solution.unplaced),
        "verdict": solution.status.value,
        **times(costs),
        "reasons s": spread([one.own_s(REASONS) for one in phases]),
        "first relaxation": first_relaxation(solution) or "none",
        "then unplaced": "not tried" if left is None else left,
        "what cannot all hold": _told(conflicts[0]) if conflicts else "not shown",
    }


def _told(conflict: Conflict) -> str:
    shown = "" if conflict.minimal else " (not shown to be minimal)"
    return f"{conflict.wanted} VMs and {'; '.join(part.text for part in conflict.parts)}{shown}"


def _anew(asked: Problem) -> Problem:
    """Return the problem without what an earlier run derived."""
    return Problem(asked.inventory, asked.topologies, asked.request)


if __name__ == "__main__":
    sys.exit(main(measure))
