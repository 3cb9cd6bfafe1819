"""How long an apply of 200 VMs takes, against what it must take at least, on the simulated vCenter's clock.

Every task and every shutdown of a guest takes half a second. At least means the largest of: the critical
path of the dependency graph, all task time over the parallelism, and the longest chain of one host or one
anti-affinity group, where only one VM at a time may be disturbed.

Goal: within 1.3 times that.
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Final

import yaml

from benchmarks.measure import Report, main, timed
from vplacer.apply.options import ApplyOptions, Timing
from vplacer.apply.outcome import Status
from vplacer.apply.run import apply_plan
from vplacer.apply.steps import disrupted_vms, steps_by_vm
from vplacer.apply.units import apart_groups, make_units
from vplacer.constraints.ownership import reason_left_alone
from vplacer.constraints.state import Problem
from vplacer.inventory.site import Site
from vplacer.inventory.site_load import load_site_text
from vplacer.lab.model.machine import Machine, MachineOptions
from vplacer.lab.model.port import LabPort
from vplacer.lab.model.state import seed_state
from vplacer.lab.model.tasks import Durations
from vplacer.plan.build import build_plan
from vplacer.plan.model import Plan, Step, StepKind
from vplacer.request.load import parse_request
from vplacer.request.resolve import resolve
from vplacer.solver.solve import solve
from vplacer.solver.verdict import SolveOptions
from vplacer.topology.build import build_topologies

TASK_S: Final = 0.5
GOAL: Final = 1.3
VMS: Final = 200


@dataclass(frozen=True)
class Variant:
    """So many hosts for `VMS` VMs.

    ``group``: rules apart of so many VMs each. ``made``: of the VMs, how many are to be made. ``exchange``:
    they are bound to cards, which some of them exchange; else they are resized.
    """

    name: str
    hosts: int
    group: int = 0
    made: int = 0
    exchange: bool = False


VARIANTS: Final = (
    Variant("4 VMs a host", 50),
    Variant("8 VMs a host", 25),
    Variant("8 VMs a host, rules apart of 20", 25, group=20),
    Variant("8 VMs a host, half of them new", 25, made=100),
    Variant("8 VMs a host, bound to cards", 25, exchange=True),
)


def measure(quick: bool) -> Report:
    report = Report("Apply of 200 VMs")
    rows = []
    for variant in VARIANTS[:1] if quick else VARIANTS:
        site, plan = _planned(variant)
        for parallelism in (4, 16) if quick else (4, 8, 16, 64):
            row, ratio = _applied(variant, site, plan, parallelism)
            rows.append(row)
            what = f"{variant.name}, {parallelism} at a time"
            report.limit(what, GOAL, ratio, "times the least")
    note = "Virtual seconds; `own` is the time that vplacer and the simulation took for all of it."
    report.table("Makespan", rows, note)
    return report


def _planned(variant: Variant) -> tuple[Site, Plan]:
    text = json.dumps(_site(variant))
    site = load_site_text(text, "site.yaml")
    topologies = build_topologies(site.inventory, site.overlays)
    request = parse_request(yaml.safe_dump(_request(variant)), "request.yaml")
    owner = partial(reason_left_alone, inventory=site.inventory)
    problem = Problem(
        site.inventory, topologies, resolve(request, site.inventory, topologies, owner_reason=owner)
    )
    solution = solve(problem, SolveOptions())
    plan = build_plan(
        problem,
        solution,
        created="2026-01-01T00:00:00Z",
        tool_version="benchmark",
        request_document=_request(variant),
    )
    return site, plan


def _site(variant: Variant) -> dict[str, Any]:
    running = VMS - variant.made
    each = VMS // variant.hosts
    vms: list[dict[str, Any]] = [
        {
            "name": f"vm-{number:03}",
            "on": f"esx{number % variant.hosts + 1}",
            "cpus": 4,
            "memory_gib": 16,
            "devices": [{"dynamic": "A30", "holds": f"gpu{number // variant.hosts}"}, {"network": "lan"}],
        }
        for number in range(running)
    ]
    vms.append(
        {
            "name": "tpl",
            "template": True,
            "on": "esx1",
            "cpus": 4,
            "memory_gib": 16,
            "devices": [{"network": "lan"}],
        }
    )
    return {
        "format_version": 1,
        "host_kinds": {
            "gpu": {
                "cpu": {"packages": 2, "cores": 64, "mhz": 2000},
                "memory_gib": 2048,
                "devices": [{"gpu": "A30", "node": number % 2, "count": 1} for number in range(each)],
            }
        },
        "clusters": [
            {
                "name": "ml",
                "drs": "partiallyAutomated",
                "hosts": [{"kind": "gpu", "count": variant.hosts, "name": "esx{n}"}],
            }
        ],
        "vms": vms,
        "networks": ["lan"],
    }


def _request(variant: Variant) -> dict[str, Any]:
    gpus: dict[str, Any] = {"count": 1, "model": "A30"}
    wanted: dict[str, Any] = {"cpus": 6, "affinity": "hint", "gpus": gpus}
    if variant.exchange:
        wanted = {"affinity": "pin", "gpus": {**gpus, "policy": "required"}}
    asked: list[dict[str, Any]] = [{"select": {"name": "vm-*"}, **wanted}]
    if variant.made:
        made = {"template": "tpl", "name": "new-{n:03}", "count": variant.made}
        asked.append({**made, **wanted, "memory": "16 GiB"})
    request: dict[str, Any] = {"version": 1, "vms": asked}
    if variant.group:
        names = [f"vm-{number:03}" for number in range(VMS)]
        starts = range(0, VMS, variant.group)
        request["rules"] = [{"apart": names[start : start + variant.group]} for start in starts]
    return request


def _applied(variant: Variant, site: Site, plan: Plan, parallelism: int) -> tuple[dict[str, Any], float]:
    durations = Durations.flat(TASK_S)
    machine = Machine(seed_state(site), site.overlays, options=MachineOptions(durations=durations))
    port = LabPort(machine)
    options = ApplyOptions(
        allow_power_cycle=True,
        allow_migration=True,
        parallelism=parallelism,
        timing=Timing(poll_s=TASK_S / 5, power_on_spacing_s=0.0, typical_s=dict.fromkeys(StepKind, TASK_S)),
    )
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder)
        outcome, cost = timed(
            lambda: apply_plan(plan, port, options, path / "plan.journal", port.clock, lock_folder=path)
        )
    assert outcome.status is Status.DONE, outcome.troubles
    bounds = lower_bounds(plan, site, parallelism)
    least = max(bounds.values())
    ratio = outcome.elapsed_s / least
    row = {
        "site": variant.name,
        "at a time": parallelism,
        "steps": len(plan.steps),
        **bounds,
        "took": outcome.elapsed_s,
        "ratio": round(ratio, 3),
        "own": cost.own_s,
    }
    return row, ratio


def lower_bounds(plan: Plan, site: Site, parallelism: int) -> dict[str, float]:
    """Return what an apply takes at least, in seconds, by each of the three reasons."""
    hosts = {vm.moid: vm.host for vm in site.inventory.vms if vm.host is not None}
    units = make_units(plan.steps, apart_groups(plan, site.inventory), hosts)
    disrupted = set(disrupted_vms(plan.steps))
    own = {vm: TASK_S * len(steps) for vm, steps in steps_by_vm(plan.steps).items()}
    chains: dict[str, float] = {}
    for unit in units.units:
        for resource in unit.resources:
            # VMs that wait for each other are disturbed together: then only the longest counts.
            longest = max(own[vm] for vm in unit.vms if vm in disrupted)
            chains[resource] = chains.get(resource, 0.0) + longest
    return {
        "critical path": TASK_S * _longest(plan.steps),
        "work": TASK_S * len(plan.steps) / parallelism,
        "chain": max(chains.values(), default=0.0),
    }


def _longest(steps: Iterable[Step]) -> int:
    length: dict[str, int] = {}
    for step in steps:
        length[step.id] = 1 + max((length[name] for name in step.depends_on if name in length), default=0)
    return max(length.values(), default=0)


if __name__ == "__main__":
    sys.exit(main(measure))
