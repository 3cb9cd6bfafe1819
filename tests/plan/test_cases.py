"""Runs the cases of tests/cases/plan and, on each of them, what must hold of every plan.

``expect`` of a case: ``steps`` (in order, by VM name), ``waits`` (for a step the steps of other VMs it
depends on), ``changes`` (a VM's rows of the detailed text), ``symbols``, ``reasons`` (codes), ``impact``,
``notes`` (parts of the sentences), ``error`` with ``says``.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tests.plan.carry_out import World
from tests.plan.cases import Case, all_cases
from vplacer.errors import VplacerError
from vplacer.plan.model import Plan, VmPlan
from vplacer.plan.observed import vm_facts
from vplacer.plan.staleness import drift, stale_fields
from vplacer.report.plan_details import change_rows

EVERY = [pytest.param(case, id=case.id) for case in all_cases()]
PLANNED = [
    param for param, case in zip(EVERY, all_cases(), strict=True) if "error" not in case.data["expect"]
]


def _short(plan: Plan, step_id: str) -> str:
    vm, _, name = step_id.partition("/")
    return f"{plan.name(vm)}/{name}"


def _rows(plan: Plan, vm: VmPlan) -> list[str]:
    rows = [row for step in vm.steps for row in change_rows(plan, plan.step_by_id[step].change)]
    return [f"{sign.value} {name} {text}" for sign, name, text in rows]


def _waits(plan: Plan) -> dict[str, list[str]]:
    found = {}
    for step in plan.steps:
        others = [_short(plan, item) for item in step.depends_on if not item.startswith(f"{step.vm}/")]
        if others:
            found[_short(plan, step.id)] = others
    return found


@pytest.mark.parametrize("case", EVERY)
def test_expected(case: Case) -> None:
    expect: dict[str, Any] = case.data["expect"]
    if "error" in expect:
        with pytest.raises(VplacerError) as caught:
            case.plan()
        assert type(caught.value).__name__ == expect["error"]
        assert expect["says"] in str(caught.value)
        return
    plan = case.plan()
    vms = {vm.name: vm for vm in plan.vms}
    got: dict[str, Any] = {
        "steps": [_short(plan, step.id) for step in plan.steps],
        "waits": _waits(plan),
        "symbols": {name: vm.symbol.value for name, vm in vms.items()},
        "changes": {name: _rows(plan, vms[name]) for name in expect.get("changes", ())},
        "reasons": {
            name: [reason.code for reason in vms[name].reasons] for name in expect.get("reasons", ())
        },
        "impact": {
            name: {key: _plain(getattr(vms[name].impact, key)) for key in fields}
            for name, fields in expect.get("impact", {}).items()
        },
        "applyable": plan.applyable,
    }
    assert {key: got[key] for key in expect if key != "notes"} == {
        key: value for key, value in expect.items() if key != "notes"
    }
    for name, parts in expect.get("notes", {}).items():
        for part in parts:
            assert any(part in note for note in vms[name].notes), vms[name].notes


def _plain(value: Any) -> Any:
    if isinstance(value, tuple):
        return list(value)
    return getattr(value, "value", value)


@pytest.mark.parametrize("case", PLANNED)
def test_steps_do_what_they_say_and_a_second_plan_is_empty(case: Case) -> None:
    plan = case.plan()
    world = World(case.problem.inventory)
    world.carry_out(plan)
    settled = _settled(case, world)
    second = settled.plan()
    assert [step.id for step in second.steps] == []
    assert second.summary.unchanged_requested == len(second.vms)


def _settled(case: Case, world: World) -> Case:
    """Return the case after its plan: a VM that was made is an existing one of its name."""
    ids = {demand.id: demand.id for demand in case.problem.request.demands if demand.id in world.vms}
    demands = tuple(
        replace(demand, vm=demand.id) if demand.id in ids else demand
        for demand in case.problem.request.demands
    )
    request = replace(case.problem.request, demands=demands)
    problem = type(case.problem)(world.result(), case.problem.topologies, request)
    return replace(case, problem=problem)


@pytest.mark.parametrize("case", PLANNED)
def test_undo_restores_every_field(case: Case) -> None:
    plan = case.plan()
    world = World(case.problem.inventory)
    world.carry_out(plan)
    world.take_back(plan)
    lasting = {(fact.object, fact.field) for step in plan.steps if step.undo is None for fact in step.checks}
    before = {moid: _comparable(vm_facts(vm)) for moid, vm in case.problem.inventory.vm_by_moid.items()}
    after = {moid: _comparable(vm_facts(vm)) for moid, vm in world.vms.items()}
    for moid, field in lasting:
        if moid in before:
            before[moid].pop(field)
            after[moid].pop(field)
    assert after == before
    assert world.clusters == {cluster.moid: cluster for cluster in case.problem.inventory.clusters}


def _comparable(facts: dict[str, Any]) -> dict[str, Any]:
    """A lock that was not said to be off, and one that is off, reserve the same."""
    facts["memory_locked_to_max"] = bool(facts["memory_locked_to_max"])
    return facts


@pytest.mark.parametrize("case", PLANNED)
def test_a_fresh_plan_is_not_stale_and_its_own_effects_are_no_drift(case: Case) -> None:
    plan = case.plan()
    assert stale_fields(plan, case.problem.inventory) == ()
    world = World(case.problem.inventory)
    world.carry_out(plan)
    assert drift(plan, world.result()) == ()
    if plan.steps:
        assert stale_fields(plan, world.result()) != ()


@pytest.mark.parametrize("case", PLANNED)
def test_the_order_of_the_inventory_does_not_matter(case: Case) -> None:
    """Equal content in another order of devices, VMs and placements gives the same plan."""
    inventory = case.problem.inventory
    turned = replace(
        inventory,
        vms=tuple(replace(vm, devices=vm.devices[::-1]) for vm in inventory.vms[::-1]),
    )
    problem = type(case.problem)(turned, case.problem.topologies, case.problem.request)
    solution = replace(case.solution, placements=case.solution.placements[::-1])
    assert replace(case, problem=problem, solution=solution).plan() == case.plan()
