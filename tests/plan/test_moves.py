"""Plans about running VMs, carried out: hosts are empty afterwards, and nothing is left to do."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings

from tests.plan.carry_out import World
from tests.solver.outcome import decide
from tests.solver.test_cases import solver_cases
from tests.solver.tiny_moves import moving_problems, with_vmotion
from vplacer.constraints.disturbance import disturbance_of
from vplacer.constraints.state import Problem
from vplacer.inventory.site_load import load_site_text
from vplacer.plan.build import build_plan
from vplacer.plan.model import Migration, Plan
from vplacer.plan.upkeep_notes import over_limit_notes
from vplacer.request.demand import RequestOptions
from vplacer.request.evacuation import must_leave
from vplacer.solver.solve import solve
from vplacer.solver.verdict import SolveOptions


def _moves() -> Iterator[Any]:
    for param in solver_cases():
        if str(param.id).startswith("moves: ") and param.values[0]["expect"]["status"] == "optimal":
            yield param


@pytest.mark.parametrize("case", list(_moves()))
def test_carried_out(case: dict[str, Any]) -> None:
    site = load_site_text(json.dumps({"format_version": 1, **case["site"]}), "site.yaml")
    found = decide(site.inventory, site.overlays, case)
    # The plan costs what the solver counted, or less.
    levels = {level.id: level.value for level in found.solution.levels}
    assert found.plan.summary.power_cycles <= levels.get("power_cycles", len(site.inventory.vms))
    world = World(site.inventory)
    world.carry_out(found.plan)
    after = world.result()
    options = found.problem.request.options
    staying = {item.vm for item in found.problem.request.left_alone} | set(found.solution.unplaced)
    assert {item.empty for item in found.plan.evacuated} <= {not staying, True}
    there = {vm.name for vm in after.vms if must_leave(options, vm, False) and vm.moid not in staying}
    # A VM that is suspended is named among the notes of the host.
    assert there <= {"asleep"}
    assert not decide(after, site.overlays, case).plan.steps
    world.take_back(found.plan)
    assert {vm.moid: vm.host for vm in world.result().vms} == {vm.moid: vm.host for vm in site.inventory.vms}


@settings(max_examples=40, suppress_health_check=[HealthCheck.too_slow])
@given(moving_problems(new=False))
def test_costs_no_more_than_was_counted(problem: Problem) -> None:
    solution = solve(problem, SolveOptions(work=50))
    plan = build_plan(problem, solution, created="2026-11-30T09:00:00Z", tool_version="0")
    counted = {item.demand: disturbance_of(problem, item) for item in solution.placements}
    for vm in plan.vms:
        change = counted[vm.demand]
        assert (vm.impact.migration is not Migration.NONE) == change.moves
        # Two migrations that wait for each other's room cost one power cycle more.
        waits = any("wait for each other" in note for note in vm.notes)
        assert change.power_cycle or waits or not vm.impact.power_cycle


SITE = {
    "host_kinds": {
        "shared": {
            "cpu": {"packages": 2, "cores": 16},
            "memory_gib": 256,
            "devices": [{"gpu": "L40S", "node": 0}, {"gpu": "L40S", "node": 1}],
            "vgpu": {"profiles": ["nvidia_l40s-24q"]},
        }
    },
    "clusters": [{"name": "c", "hosts": [{"kind": "shared", "count": 2}]}],
    "vms": [
        {
            "name": "desk",
            "on": "esx01",
            "cpus": 4,
            "memory_gib": 16,
            "devices": [{"vgpu": "nvidia_l40s-24q"}],
        }
    ],
}


def _emptied(migratable: bool | None) -> Plan:
    site = load_site_text(json.dumps({"format_version": 1, **SITE}), "site.yaml")
    inventory = with_vmotion(site.inventory, migratable)
    return decide(inventory, site.overlays, {"options": {"upkeep": {"evacuate": ["esx01"]}}}).plan


# Where the VM's device does not tell, its profile on the host does.
@pytest.mark.parametrize("migratable", [True, False, None])
def test_vgpus_move_live_only_where_that_is_known(migratable: bool | None) -> None:
    plan = _emptied(migratable)
    kinds = [step.kind.value for step in plan.steps]
    levels = {level.id: level.value for level in plan.verdict.levels}
    if migratable in (True, None):
        assert kinds == ["migrate", "override_drs"]
        assert (levels["power_cycles"], levels["moves"]) == (0, 3)
    else:
        assert kinds[:2] == ["power_off", "relocate"]
        assert kinds[-1] == "power_on"
        assert (levels["power_cycles"], levels["moves"]) == (1, 12)


def test_power_cycles_that_only_the_order_costs_count_against_the_limit() -> None:
    limited = RequestOptions(max_power_cycles=1)
    assert over_limit_notes(limited, 1) == ()
    assert "2 power cycles, at most 1 allowed" in over_limit_notes(limited, 2)[0]
    assert over_limit_notes(RequestOptions(), 9) == ()
