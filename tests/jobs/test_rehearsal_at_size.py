"""A plan of thousands of hosts, rehearsed whole: every step is carried out and read back."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
import yaml

from benchmarks import sites
from vplacer.inventory.site_load import load_site_text
from vplacer.jobs.plan import make_plan
from vplacer.jobs.rehearsal import rehearsed
from vplacer.jobs.source import Reading
from vplacer.request.load import parse_request
from vplacer.solver.solve import solve
from vplacer.solver.verdict import SolveOptions

HOSTS = 2500
TEMPLATE = {"name": "gpu-template", "template": True, "on": "a30-pairs-0001", "cpus": 8, "memory_gib": 64}


@pytest.mark.long
def test_a_plan_for_2500_hosts_is_rehearsed_to_its_end() -> None:
    document: dict[str, Any] = yaml.safe_load(sites.large_site_text(HOSTS))
    document["vms"].append(TEMPLATE)
    site = load_site_text(sites.site_text(document), "large.yaml")
    text = sites.request_text(2.5)
    problem = sites.problem(site.inventory, site.overlays, text)
    solution = solve(problem, SolveOptions(levels=("placed", "locality")))
    assert not solution.unplaced
    reading = Reading(site.inventory, site.overlays, ())
    created = datetime(2026, 12, 1, tzinfo=UTC)
    plan = make_plan(problem, solution, parse_request(text, "request.yaml"), reading, created, None)
    found = rehearsed(plan, site.inventory, site.overlays, most_steps=len(plan.steps))
    assert (found.steps, found.faults, found.complete) == (len(plan.steps), (), True)
    assert len(plan.steps) >= 3000
    part = rehearsed(plan, site.inventory, site.overlays)
    assert (part.steps, part.faults, part.complete) == (300, (), False)
