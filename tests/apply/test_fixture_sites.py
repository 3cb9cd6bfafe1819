"""The examples, applied for real on a simulated vCenter: nothing is left to do, and back again."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.apply.scenes import ALL_CONSENTS, Scene, fixture_scene
from vplacer.apply.outcome import Outcome, ProblemKind, Status, StepState
from vplacer.apply.run import apply_plan, roll_back
from vplacer.inventory.vm import VmPower
from vplacer.lab.model.port import LabPort
from vplacer.plan.changes import Clone, UpgradeHardware
from vplacer.plan.observed import vm_facts

VARIANTS = [
    ("a100pcie", None, False),
    ("a30pairs", None, False),
    ("a30pairs", "pin", False),
    ("a30pairs", "hint", False),
    ("a30pairs", None, True),
    ("dgx2", None, False),
    ("nvswitch", None, False),
    ("nvswitch", None, True),
    ("floating", None, False),
    ("subnuma", None, False),
    ("untold", None, False),
    ("vgpu", None, False),
    pytest.param("big96", None, False, marks=pytest.mark.long),
]


def _applied(scene: Scene, folder: Path) -> tuple[LabPort, Outcome]:
    port = scene.port()
    outcome = apply_plan(
        scene.plan,
        port,
        ALL_CONSENTS,
        folder / "plan.journal",
        port.clock,
        overlays=tuple(scene.site.overlays),
        lock_folder=folder,
    )
    return port, outcome


@pytest.mark.parametrize(("name", "affinity", "may_move"), VARIANTS)
def test_applied_planned_again_and_taken_back(
    name: str, affinity: str | None, may_move: bool, tmp_path: Path
) -> None:
    scene = fixture_scene(name, affinity=affinity, may_move=may_move)
    assert scene.plan.steps
    port, outcome = _applied(scene, tmp_path)
    assert (outcome.status, outcome.troubles, outcome.exit_code) == (Status.DONE, (), 0)
    assert {step.state for step in outcome.steps} == {StepState.DONE}

    # The judge's own words: no VM of the request breaks anything, and nothing is left to do.
    again = scene.replanned(port.read())
    assert [step.effect for step in again.steps] == []

    back = roll_back(
        scene.plan, port, ALL_CONSENTS, tmp_path / "plan.journal", port.clock, lock_folder=tmp_path
    )
    assert back.status is Status.ROLLED_BACK
    assert {item.kind for item in back.troubles} <= {ProblemKind.KEPT, ProblemKind.IRREVERSIBLE}
    before = {vm.moid: vm_facts(vm) for vm in scene.site.inventory.vms}
    after = {vm.moid: vm_facts(vm) for vm in port.read().vms}
    for step in scene.plan.steps:
        if isinstance(step.change, Clone | UpgradeHardware) or step.vm not in before:
            continue
        for fact in step.checks:
            assert after[step.vm][fact.field] == before[step.vm][fact.field], f"{step.id}: {fact.field}"
    made = {step.vm for step in scene.plan.steps if isinstance(step.change, Clone)}
    kept = {item.vm for item in back.troubles if item.kind is ProblemKind.KEPT}
    assert kept == made


def test_a_vm_that_was_made_and_never_ran_is_deleted_by_a_rollback(tmp_path: Path) -> None:
    scene = fixture_scene("a30pairs")
    port = scene.port()
    from vplacer.apply.stop import Stop

    stop = Stop()

    def stop_at_first_clone(event: object) -> None:
        if getattr(event, "type", None) == "apply_complete":
            stop.request()

    path = tmp_path / "plan.journal"
    outcome = apply_plan(
        scene.plan, port, ALL_CONSENTS, path, port.clock, stop_at_first_clone, stop, lock_folder=tmp_path
    )
    assert outcome.status is Status.STOPPED
    assert outcome.vms
    back = roll_back(scene.plan, port, ALL_CONSENTS, path, port.clock, lock_folder=tmp_path)
    assert (back.status, back.exit_code) == (Status.ROLLED_BACK, 0)
    assert {vm.moid for vm in port.read().vms} == {vm.moid for vm in scene.site.inventory.vms}
    assert all(vm.power is VmPower.ON for vm in port.read().vms if vm.moid in _running(scene))


def _running(scene: Scene) -> set[str]:
    return {vm.moid for vm in scene.site.inventory.vms if vm.power is VmPower.ON}
