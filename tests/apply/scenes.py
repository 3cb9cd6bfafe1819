"""Sites, their plans, and simulated vCenters to carry them out on."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path

import yaml

from tests.conftest import REPO
from vplacer.apply.options import ApplyOptions, Timing
from vplacer.constraints.ownership import reason_left_alone
from vplacer.constraints.state import Problem
from vplacer.inventory.load import load_inventory_file
from vplacer.inventory.overlay import Overlay
from vplacer.inventory.site import Site
from vplacer.inventory.site_load import load_site_text
from vplacer.inventory.vcenter import Inventory
from vplacer.lab.model.machine import Machine, MachineOptions
from vplacer.lab.model.port import LabPort
from vplacer.lab.model.state import seed_state
from vplacer.plan.build import build_plan
from vplacer.plan.model import Plan
from vplacer.request.load import parse_request
from vplacer.request.resolve import resolve
from vplacer.solver.solve import solve
from vplacer.solver.verdict import SolveOptions
from vplacer.topology.build import build_topologies

CREATED = "2026-11-30T09:00:00Z"
ALL_CONSENTS = ApplyOptions(
    allow_power_cycle=True,
    allow_migration=True,
    allow_hw_upgrade=True,
    allow_hard_power_off=True,
    timing=Timing(power_on_spacing_s=5.0),
)


@dataclass(frozen=True)
class Scene:
    """A site and the plan that was made for it."""

    site: Site
    request: str
    plan: Plan

    def port(self, options: MachineOptions | None = None) -> LabPort:
        """Return a fresh simulated vCenter of the site."""
        return LabPort(
            Machine(seed_state(self.site), self.site.overlays, options=options or MachineOptions())
        )

    def replanned(self, inventory: Inventory) -> Plan:
        """Return the plan for the same request on the site as it is by then."""
        return plan_for(inventory, self.site.overlays, self.request)


def problem_for(inventory: Inventory, overlays: tuple[Overlay, ...], request: str) -> Problem:
    """Return what a request's text asks of an inventory."""
    topologies = build_topologies(inventory, overlays)
    resolved = resolve(
        parse_request(request, "request.yaml"),
        inventory,
        topologies,
        owner_reason=partial(reason_left_alone, inventory=inventory),
    )
    return Problem(inventory, topologies, resolved)


def plan_for(inventory: Inventory, overlays: tuple[Overlay, ...], request: str) -> Plan:
    """Make a plan for a request's text."""
    problem = problem_for(inventory, overlays, request)
    return build_plan(
        problem,
        solve(problem, SolveOptions()),
        created=CREATED,
        tool_version="0.1.0",
        request_document=yaml.safe_load(request),
    )


@cache
def fixture_scene(
    name: str, *, affinity: str | None = None, may_move: bool = False, share: float = 1.0
) -> Scene:
    """Return an example site with its request, or with another affinity mode, or VMs that may move.

    ``share``: of the VMs that each entry asks for, so many are.
    """
    site = load_inventory_file(REPO / "fixtures" / "sites" / f"{name}.yaml")
    document = yaml.safe_load((REPO / "fixtures" / "requests" / f"{name}.yaml").read_text())
    for entry in document["vms"]:
        if affinity is not None and entry.get("gpus"):
            entry["affinity"] = affinity
            for ask in ("gpus", "nics"):
                if affinity == "hint" and isinstance(entry.get(ask), dict):
                    entry[ask].pop("policy", None)
        if may_move:
            entry["may_move"] = True
        if share < 1.0:
            entry["count"] = max(1, round(entry["count"] * share))
    return _scene(site, yaml.safe_dump(document))


def _scene(site: Site, request: str) -> Scene:
    return Scene(site, request, plan_for(site.inventory, tuple(site.overlays), request))


@cache
def site_scene(name: str) -> Scene:
    """Return a scene of ``tests/apply/cases/scenes.yaml``: a site and the text of a request."""
    document = yaml.safe_load((Path(__file__).parent / "cases" / "scenes.yaml").read_text())
    entry = document["scenes"][name]
    site = load_site_text(json.dumps(document["sites"][entry["site"]]), f"{name}.yaml")
    return _scene(site, yaml.safe_dump(entry["request"]))
