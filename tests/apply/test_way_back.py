"""The way back: what is restored when a step fails, what a rollback takes back, and what it leaves alone."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import pytest

from tests.apply.faults import plan_case
from tests.apply.scenes import ALL_CONSENTS, site_scene
from vplacer.apply.events import ApplyEvent, Listener, ignore
from vplacer.apply.journal import read_journal
from vplacer.apply.options import ApplyOptions
from vplacer.apply.outcome import Outcome, ProblemKind, Status, StepState
from vplacer.apply.run import apply_plan, operation_prefix, preview_rollback, resume, roll_back
from vplacer.errors import ConsentMissing
from vplacer.inventory.measured import MeasuredHome
from vplacer.inventory.vm import VmPower
from vplacer.lab.model.edit import VmEdit
from vplacer.lab.model.machine import Machine, MachineOptions
from vplacer.lab.model.orders import Call, DropConnection, FailCall, When
from vplacer.lab.model.port import LabPort
from vplacer.lab.model.state import seed_state
from vplacer.plan.model import Fact, Plan
from vplacer.plan.observed import vm_facts

PINNED = "devices: static pins card and nodes and costs vMotion HA DRS and snapshots"
UPGRADED = "devices: an old hardware version is raised to what is needed and not to the newest"


def _lab(name: str, options: MachineOptions | None = None) -> tuple[Plan, LabPort]:
    case, plan = plan_case(name)
    return plan, LabPort(
        Machine(seed_state(case.site), case.site.overlays, options=options or MachineOptions())
    )


def _apply(
    plan: Plan,
    port: LabPort,
    folder: Path,
    options: ApplyOptions = ALL_CONSENTS,
    listener: Listener = ignore,
) -> Outcome:
    return apply_plan(plan, port, options, folder / "plan.journal", port.clock, listener, lock_folder=folder)


def _own_facts(port: LabPort, vm: str) -> dict[str, Fact]:
    """All fields of a VM but the vNUMA state that ESXi keeps by itself."""
    facts = vm_facts(port.read().vm_by_moid[vm])
    return {name: value for name, value in facts.items() if not name.startswith("extra.numa.autosize")}


def test_a_vm_whose_power_on_is_refused_runs_again_as_it_was(tmp_path: Path) -> None:
    plan, port = _lab(PINNED)
    (vm,) = {step.vm for step in plan.steps}
    before = _own_facts(port, vm)
    fault = "InsufficientGraphicsResourcesFault"
    port.machine.orders.add(FailCall(When(Call.POWER_ON, vm), fault, "No graphics resources are available."))
    outcome = _apply(plan, port, tmp_path)
    assert (outcome.status, outcome.exit_code, outcome.left_off) == (Status.ROLLED_BACK, 7, ())
    assert "No graphics resources" in outcome.troubles[0].what
    assert _own_facts(port, vm) == before
    assert {step.state for step in outcome.steps} == {StepState.UNDONE, StepState.FAILED}


def test_a_vm_that_cannot_be_started_again_is_reported_first(tmp_path: Path) -> None:
    plan, port = _lab(PINNED)
    (vm,) = {step.vm for step in plan.steps}
    port.machine.orders.add(FailCall(When(Call.POWER_ON, vm, times=None)))
    outcome = _apply(plan, port, tmp_path)
    first = outcome.troubles[0]
    assert (first.kind, first.vm, outcome.exit_code) == (ProblemKind.LEFT_OFF, vm, 7)
    assert first.hint is not None
    assert "switch it on at esx" in first.hint
    port.machine.orders.clear()
    again = resume(plan, port, ALL_CONSENTS, tmp_path / "plan.journal", port.clock, lock_folder=tmp_path)
    assert again.status is Status.DONE


def test_a_hardware_upgrade_that_stays_is_said(tmp_path: Path) -> None:
    plan, port = _lab(UPGRADED)
    (vm,) = {step.vm for step in plan.steps}
    port.machine.orders.add(FailCall(When(Call.POWER_ON, vm)))
    outcome = _apply(plan, port, tmp_path)
    assert ProblemKind.IRREVERSIBLE in {item.kind for item in outcome.troubles}
    found = port.read().vm_by_moid[vm]
    assert (found.power, found.hardware_version) == (VmPower.ON, 20)
    preview = preview_rollback(plan, read_journal(tmp_path / "plan.journal"))
    assert [item.step for item in preview.stays if item.irreversible] == [f"{vm}/upgrade_hardware"]


@pytest.mark.parametrize("how", ["deaf", "without_tools"])
@pytest.mark.parametrize("allowed", [True, False])
def test_a_guest_that_does_not_shut_down(how: str, allowed: bool, tmp_path: Path) -> None:
    case, plan = plan_case(PINNED)
    (vm,) = {step.vm for step in plan.steps}
    options = MachineOptions(**{how: frozenset({vm})})  # type: ignore[arg-type]
    port = LabPort(Machine(seed_state(case.site), case.site.overlays, options=options))
    consents = replace(ALL_CONSENTS, allow_hard_power_off=allowed)
    if how == "without_tools" and not allowed:
        with pytest.raises(ConsentMissing, match="VMware Tools do not run") as refused:
            _apply(plan, port, tmp_path, consents)
        assert "--allow-hard-power-off" in (refused.value.hint or "")
        assert port.machine.tasks(vm) == ()
        return
    told: list[ApplyEvent] = []
    outcome = _apply(plan, port, tmp_path, consents, told.append)
    assert port.read().vm_by_moid[vm].power is VmPower.ON
    assert outcome.status is (Status.DONE if allowed else Status.STOPPED), outcome.troubles
    waiting = [event.text for event in told if "waiting for its guest" in event.text]
    assert bool(waiting) == (how == "deaf")
    assert all(("it is switched off hard" if allowed else "the step fails") in text for text in waiting)
    hard = [task for task in port.machine.tasks(vm) if task.kind == "VirtualMachine.powerOff"]
    assert len(hard) == int(allowed)


def test_a_guest_that_was_never_asked_is_asked_before_its_time_is_up(tmp_path: Path) -> None:
    plan, port = _lab(PINNED)
    (vm,) = {step.vm for step in plan.steps}
    port.machine.orders.add(DropConnection(When(Call.SHUT_DOWN), carried_out=False))
    options = replace(ALL_CONSENTS, timing=replace(ALL_CONSENTS.timing, shutdown_timeout_s=3600.0))
    outcome = _apply(plan, port, tmp_path, options)
    assert (outcome.status, outcome.elapsed_s < 300) == (Status.DONE, True), outcome.elapsed_s
    assert not [task for task in port.machine.tasks(vm) if task.kind == "VirtualMachine.powerOff"]


def test_a_rollback_leaves_what_somebody_else_has_changed_since(tmp_path: Path) -> None:
    scene = site_scene("resize")
    port = scene.port()
    path = tmp_path / "plan.journal"
    assert _apply(scene.plan, port, tmp_path).status is Status.DONE
    vm = scene.plan.steps[0].vm
    machine = port.machine
    machine.power_off(vm)
    machine.run_out()
    machine.reconfigure(vm, VmEdit(cpus=8))
    machine.run_out()
    machine.power_on(vm)
    machine.run_out()
    back = roll_back(scene.plan, port, ALL_CONSENTS, path, port.clock, lock_folder=tmp_path)
    assert back.status is Status.ROLLED_BACK
    (left,) = [item for item in back.troubles if item.kind is ProblemKind.KEPT]
    assert (left.vm, "vCPUs was changed to 8 since" in left.what) == (vm, True)
    now = port.read().vm_by_moid
    assert now[vm].cpus == 8
    assert {item.cpus for moid, item in now.items() if moid != vm} == {4}
    assert all(item.is_on for item in now.values())


def test_every_call_has_its_operation_id_and_every_vm_one_user_event(tmp_path: Path) -> None:
    scene = site_scene("resize")
    port = scene.port()
    _apply(scene.plan, port, tmp_path)
    prefix = operation_prefix(scene.plan)
    assert {task.operation for task in port.machine.tasks()} <= {f"{prefix}-{s.id}" for s in scene.plan.steps}
    events = [event for event in port.machine.events if event.kind == "GeneralUserEvent"]
    assert sorted(event.entity for event in events) == sorted({step.vm for step in scene.plan.steps})
    assert all(event.message.startswith(f"{prefix}: ") for event in events)


class _Elsewhere(LabPort):
    """Measures every VM on a node where it should not be."""

    def measure(self, hosts: Iterable[str]) -> tuple[tuple[str, MeasuredHome], ...]:
        return tuple((vm, replace(home, nodes=(7,))) for vm, home in super().measure(hosts))


def test_a_vm_that_is_not_where_it_was_promised_is_a_failure_of_verification(tmp_path: Path) -> None:
    plan, port = _lab(PINNED)
    outcome = _apply(plan, _Elsewhere(port.machine), tmp_path)
    assert (outcome.status, outcome.exit_code) == (Status.DONE, 7)
    (found,) = outcome.troubles
    assert found.kind is ProblemKind.VERIFICATION
    assert "measured on pNUMA 7" in found.what


def test_a_resume_without_its_consents_changes_nothing(tmp_path: Path) -> None:
    plan, port = _lab(PINNED)
    (vm,) = {step.vm for step in plan.steps}
    port.machine.orders.add(FailCall(When(Call.POWER_ON, vm)))
    _apply(plan, port, tmp_path)
    tasks = len(port.machine.tasks())
    with pytest.raises(Exception, match="--allow-power-cycle"):
        resume(
            plan,
            port,
            replace(ALL_CONSENTS, allow_power_cycle=False),
            tmp_path / "plan.journal",
            port.clock,
            lock_folder=tmp_path,
        )
    assert len(port.machine.tasks()) == tasks
