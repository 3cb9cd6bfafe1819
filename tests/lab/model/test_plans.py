"""The examples' plans, carried out by the state machine: each step leaves what the plan says it does."""

from __future__ import annotations

from datetime import timedelta
from functools import partial

import pytest
import yaml

from tests.conftest import REPO
from vplacer.constraints.ownership import reason_left_alone
from vplacer.constraints.state import Problem
from vplacer.inventory.load import load_inventory_file
from vplacer.inventory.site import Site
from vplacer.inventory.vcenter import Inventory
from vplacer.inventory.vm import VmPower
from vplacer.lab.model.card_choice import CardOrder, Luck
from vplacer.lab.model.machine import Machine, MachineOptions
from vplacer.lab.model.port import LabPort
from vplacer.lab.model.state import seed_state
from vplacer.plan.build import build_plan
from vplacer.plan.changes import (
    Change,
    Clone,
    Delete,
    OverrideDrs,
    Power,
    Reconfigure,
    Relocate,
    UpgradeHardware,
)
from vplacer.plan.model import Plan
from vplacer.plan.observed import vm_facts
from vplacer.port import Port, Task, TaskState
from vplacer.request.load import parse_request
from vplacer.request.resolve import resolve
from vplacer.solver.solve import solve
from vplacer.solver.verdict import SolveOptions
from vplacer.topology.build import build_topologies

NOW = "2026-11-30T09:00:00Z"
FIXTURES = REPO / "fixtures"


def _planner(site: Site, name: str, affinity: str | None, may_move: bool):
    topologies = build_topologies(site.inventory, site.overlays)
    document = yaml.safe_load((FIXTURES / "requests" / f"{name}.yaml").read_text())
    for entry in document["vms"]:
        if affinity is not None and entry.get("gpus"):
            entry["affinity"] = affinity
            for ask in ("gpus", "nics"):
                if affinity == "hint" and isinstance(entry.get(ask), dict):
                    entry[ask].pop("policy", None)
        if may_move:
            entry["may_move"] = True
    request = parse_request(yaml.safe_dump(document), "request.yaml")

    def planned(inventory: Inventory) -> Plan:
        resolved = resolve(
            request,
            inventory,
            topologies,
            owner_reason=partial(reason_left_alone, inventory=inventory),
        )
        problem = Problem(inventory, topologies, resolved)
        return build_plan(problem, solve(problem, SolveOptions()), created=NOW, tool_version="0.1.0")

    return planned


class Hand:
    """Carries out plans one step after the other."""

    def __init__(self, port: Port) -> None:
        self.port = port
        self.moids: dict[str, str] = {}

    def carry_out(self, plan: Plan) -> None:
        done: set[str] = set()
        for step in plan.steps:
            assert done.issuperset(step.depends_on)
            for fact in step.preconditions:
                assert self.fact(fact.object, fact.field) == fact.value, f"{step.id}: {fact}"
            self.make(step.vm, step.change)
            for fact in step.checks:
                assert self.fact(fact.object, fact.field) == fact.value, f"{step.id}: {fact}"
            done.add(step.id)

    def take_back(self, plan: Plan) -> None:
        for step in reversed(plan.steps):
            if step.undo is not None:
                self.make(step.vm, step.undo)

    def fact(self, vm: str, field: str) -> object:
        moid = self.moids.get(vm, vm)
        if field == "drs_override":
            clusters = self.port.read().clusters
            return next((own[moid] for c in clusters if moid in (own := dict(c.drs_overrides))), None)
        found = self.port.read_part(vms=[moid]).vms
        return bool(found) if field == "exists" else vm_facts(found[0])[field]

    def make(self, vm: str, change: Change) -> None:
        moid = self.moids.get(vm, vm)
        task = self._start(moid, change)
        results = self.port.wait([task], 3600)
        assert results, f"{task} does not end"
        assert results[0].state is TaskState.SUCCESS, f"{vm} {change}: {results[0]}"
        if isinstance(change, Clone):
            self.moids[vm] = results[0].result or ""

    def _start(self, moid: str, change: Change) -> Task:
        port = self.port
        match change:
            case Clone():
                return port.clone(change, "op")
            case Delete():
                return port.delete(moid, change, "op")
            case Power():
                return port.power(moid, change, "op")
            case Relocate():
                return port.relocate(moid, change, "op")
            case UpgradeHardware():
                return port.upgrade(moid, change, "op")
            case OverrideDrs():
                return port.override_drs(moid, change, "op")
            case Reconfigure():
                version = port.read_part(vms=[moid]).vms[0].change_version or ""
                return port.reconfigure(moid, change, version, "op")


CASES = [
    ("a100pcie", None, False),
    ("a30pairs", None, False),
    ("a30pairs", "pin", False),
    ("a30pairs", "hint", False),
    ("a30pairs", None, True),
    ("dgx2", None, False),
    ("floating", None, False),
    ("nvswitch", None, False),
    ("nvswitch", None, True),
    ("subnuma", None, False),
    ("untold", None, False),
    ("vgpu", None, False),
]


@pytest.mark.parametrize("luck", [Luck.FIRST, Luck.WORST], ids=str)
@pytest.mark.parametrize(("name", "affinity", "may_move"), CASES)
def test_a_plan_leaves_what_it_says_and_the_next_has_nothing_to_do(
    name: str, affinity: str | None, may_move: bool, luck: Luck
) -> None:
    site = load_inventory_file(FIXTURES / "sites" / f"{name}.yaml")
    planned = _planner(site, name, affinity, may_move)
    plan = planned(site.inventory)
    assert plan.steps
    machine = Machine(seed_state(site), site.overlays, options=MachineOptions(order=CardOrder(luck)))
    port = LabPort(machine)
    hand = Hand(port)
    hand.carry_out(plan)
    assert [step.effect for step in planned(port.read()).steps] == []
    machine.advance(timedelta(minutes=1).total_seconds())
    hand.take_back(plan)
    after = port.read()
    before = {vm.moid: vm for vm in site.inventory.vms}
    assert before.keys() == {vm.moid for vm in after.vms}
    for vm in after.vms:
        assert vm.power is before[vm.moid].power or before[vm.moid].power is VmPower.SUSPENDED
