"""A relaxation done as it says makes room: what the benchmark of explanations relies on."""

from __future__ import annotations

import yaml

from benchmarks import sites
from benchmarks.relaxed import first_relaxations, relaxed
from vplacer.constraints.state import Problem
from vplacer.solver.solve import solve
from vplacer.solver.verdict import SolveOptions

SITE = """
format_version: 1
host_kinds:
  pair:
    cpu: {packages: 2, cores: 16}
    memory_gib: 256
    devices: [{gpu: A30, count: 2, node: 0}, {gpu: A30, count: 2, node: 1}]
    nvlinks: [[gpu0, gpu1], [gpu2, gpu3]]
clusters: [{name: c, drs: manual, hosts: [{kind: pair, count: 2}]}]
vms: [{name: t, template: true, on: esx01, cpus: 4, memory_gib: 16}]
"""


def _problem(entry: dict[str, object], **more: object) -> Problem:
    site = sites.load_site_text(SITE)
    base = {"template": "t", "name": "new-{n}", "affinity": "pin"}
    return sites.problem(
        site.inventory, site.overlays, yaml.safe_dump({"version": 1, "vms": [base | entry]} | more)
    )


def _unplaced(problem: Problem) -> int:
    return len(solve(problem, SolveOptions()).unplaced)


def test_a_wish_is_given_up() -> None:
    asked = _problem(
        {"count": 1, "gpus": {"count": 2, "model": "A30", "interconnect": "switch", "policy": "required"}}
    )
    solution = solve(asked, SolveOptions())
    assert len(solution.unplaced) == 1
    changed = relaxed(asked, solution)
    assert changed is not None
    assert _unplaced(changed) == 0


def test_a_rule_becomes_a_preference() -> None:
    asked = _problem({"count": 3}, rules=[{"name": "spread", "apart": "new-*"}])
    solution = solve(asked, SolveOptions())
    ways = first_relaxations(solution)
    assert ["spread" in way.text for way in ways.values()] == [True]
    changed = relaxed(asked, solution)
    assert changed is not None
    assert _unplaced(changed) == 0


def test_where_not_every_vm_has_a_relaxation_the_way_out_of_all_is_followed() -> None:
    asked = _problem({"count": 40, "cpus": 16, "gpus": {"count": 1, "model": "A30"}})
    solution = solve(asked, SolveOptions())
    assert set(solution.unplaced) - first_relaxations(solution).keys()
    assert solution.ways_out
    changed = relaxed(asked, solution)
    assert changed is not None
    assert _unplaced(changed) == 0
