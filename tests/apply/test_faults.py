"""Whatever goes wrong at whichever step: done, stopped and resumable, or rolled back; never a riddle."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from tests.apply.faults import Combination, combinations, order_for, plan_case
from tests.apply.scenes import ALL_CONSENTS
from vplacer.apply.events import ApplyEvent
from vplacer.apply.journal import read_journal
from vplacer.apply.outcome import Outcome, Status, StepState
from vplacer.apply.records import JournalState
from vplacer.apply.run import apply_plan, operation_prefix, resume
from vplacer.errors import VplacerError
from vplacer.inventory.vm import VmPower
from vplacer.lab.model.edit import VmEdit
from vplacer.lab.model.machine import Machine
from vplacer.lab.model.port import LabPort
from vplacer.lab.model.state import seed_state
from vplacer.lab.model.tasks import TaskPhase
from vplacer.plan.model import ObjectKind, Plan, StepKind
from vplacer.plan.observed import vm_facts
from vplacer.report.apply_text import event_line, outcome_text

OPTIONS = replace(ALL_CONSENTS, timing=replace(ALL_CONSENTS.timing, task_timeout_s=1800.0))
_ID = re.compile(r"\b(vm|host|resgroup|domain-c|network|datastore)-[0-9]{2,}")
MATRIX = list(combinations())


def test_there_are_enough_combinations(record_property: Callable[[str, object], None]) -> None:
    record_property("combinations of a fault and a step", len(MATRIX))
    assert len(MATRIX) >= 200


@pytest.mark.parametrize("combination", MATRIX, ids=lambda item: item.id)
def test_a_fault_at_a_step(combination: Combination, tmp_path: Path) -> None:
    case, plan = plan_case(combination.case)
    machine = Machine(seed_state(case.site), case.site.overlays)
    port = LabPort(machine)
    path = tmp_path / "plan.journal"
    machine.orders.add(order_for(combination.fault, plan, plan.step_by_id[combination.step]))
    events: list[ApplyEvent] = []
    try:
        outcome = apply_plan(plan, port, OPTIONS, path, port.clock, events.append, lock_folder=tmp_path)
    except VplacerError:
        pytest.fail("the fault was met before the first change")
    assert outcome.status.value in combination.fault["ends"], outcome.troubles
    assert (outcome.status is Status.DONE) == (outcome.exit_code == 0), outcome.troubles
    _nobody_is_off_without_a_word(plan, machine, outcome)
    _ids_are_in_no_text(plan, outcome, events)
    nothing_twice(plan, machine, read_journal(path))

    _heal(machine, case.site.inventory.vm_by_moid, _stopped_by_others(combination, plan, machine, path))
    port = LabPort(machine)
    if outcome.status is not Status.DONE:
        outcome = resume(plan, port, OPTIONS, path, port.clock, lock_folder=tmp_path)
    assert (outcome.status, outcome.left_off) == (Status.DONE, ()), outcome.troubles
    assert {step.state for step in outcome.steps} == {StepState.DONE}
    nothing_twice(plan, machine, read_journal(path))
    as_planned(plan, machine, dict(outcome.vms))


def _stopped_by_others(combination: Combination, plan: Plan, machine: Machine, path: Path) -> frozenset[str]:
    """The VM that another client has switched off, and that is to run for the step."""
    step = plan.step_by_id[combination.step]
    now = machine.state.inventory.vm_by_moid
    vm = step.vm
    if combination.fault["order"]["type"] != "StopVm" or vm not in now or now[vm].power is VmPower.ON:
        return frozenset()
    state = read_journal(path)
    switched_off = any(s.kind is StepKind.POWER_OFF and state.is_done(s.id) for s in plan.steps if s.vm == vm)
    ran = dict(next(seen.fields for seen in plan.observed if seen.id == vm))["power"] == "poweredOn"
    return frozenset({vm}) if ran and not switched_off else frozenset()


def _nobody_is_off_without_a_word(plan: Plan, machine: Machine, outcome: Outcome) -> None:
    """Every VM that ran before runs, or is to be off by the plan, or is named."""
    machine.run_out()
    now = machine.state.inventory.vm_by_moid
    meant = {s.vm for s in plan.steps if ("power", "poweredOff") in {(f.field, f.value) for f in s.checks}}
    meant -= {s.vm for s in plan.steps if ("power", "poweredOn") in {(f.field, f.value) for f in s.checks}}
    named = {item.vm for item in outcome.troubles}
    for seen in plan.observed:
        ran = seen.kind is ObjectKind.VM and dict(seen.fields).get("power") == "poweredOn"
        if not ran or seen.id in meant:
            continue
        assert now[seen.id].power is VmPower.ON or seen.id in named, seen.name


def _ids_are_in_no_text(plan: Plan, outcome: Outcome, events: list[ApplyEvent]) -> None:
    """People know names. Only a task has none."""
    told = [line for event in events if (line := event_line(event)) is not None]
    told += [outcome_text(plan, outcome, verbosity=1, plan_file="plan.json")]
    for text in told:
        assert not _ID.search(text.replace(outcome.journal or "\n", "")), text


def nothing_twice(plan: Plan, machine: Machine, journal: JournalState) -> None:
    """No step is carried out a second time, except after it was taken back."""
    prefix = operation_prefix(plan)
    done = Counter(task.operation for task in machine.tasks() if task.phase is TaskPhase.SUCCESS)
    for step in plan.steps:
        forth, back = done[f"{prefix}-{step.id}"], done[f"{prefix}-{step.id}-undo"]
        assert forth - back <= 1, f"{step.id}: {forth} times, {back} times taken back"
        assert journal.log(step.id).times_done <= 1 + sum(
            a.intent.undo and a.ended is not None and a.ended.done for a in journal.log(step.id).attempts
        )


def _heal(machine: Machine, before: dict[str, object], stopped: frozenset[str] = frozenset()) -> None:
    """The cause is gone: hosts are back, what hung goes on, the other client takes its change back."""
    machine.orders.clear()
    for host in machine.state.inventory.hosts:
        machine.regain_host(host.moid)
        machine.set_maintenance(host.moid, False)
    for vm in machine.state.inventory.vms:
        if vm.name.startswith("somebody-"):
            machine.power_off(vm.moid)
            machine.run_out()
            machine.destroy(vm.moid)
    for task in machine.tasks():
        machine.release(task.id)
    machine.run_out()
    for vm in machine.state.inventory.vms:
        old = before.get(vm.moid)
        if vm.moid in stopped:
            machine.power_on(vm.moid)
        if not vm.memory_locked_to_max and vm.memory_reservation_mib == 1:
            reservation = getattr(old, "memory_reservation_mib", None) or 0
            machine.reconfigure(vm.moid, VmEdit(memory_reservation_mib=reservation))
    machine.run_out()


def as_planned(plan: Plan, machine: Machine, made: dict[str, str]) -> None:
    """Every field that a step wrote last has the value the plan says."""
    now = machine.state.inventory.vm_by_moid
    wanted = {(f.object, f.field): f.value for step in plan.steps for f in step.checks}
    for (vm, field), value in wanted.items():
        facts = vm_facts(now[made.get(vm, vm)])
        if field in facts:
            assert facts[field] == value, f"{vm}: {field}"
