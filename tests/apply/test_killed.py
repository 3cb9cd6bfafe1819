"""Killed at any instant: whoever goes on finds out what was done, and comes to the end."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from tests.apply.faults import plan_case
from tests.apply.killing import Killed, Killer, MortalPort, mortal_write
from tests.apply.test_faults import OPTIONS, as_planned, nothing_twice
from vplacer.apply.journal import Journal, demand_new, read_journal
from vplacer.apply.outcome import Status
from vplacer.apply.run import apply_plan, resume, roll_back
from vplacer.errors import FileFormatError, UnknownObjectError
from vplacer.lab.model.machine import Machine
from vplacer.lab.model.port import LabPort
from vplacer.lab.model.state import seed_state
from vplacer.plan.changes import Clone, UpgradeHardware
from vplacer.plan.model import Plan
from vplacer.plan.observed import vm_facts

PLANS = [
    "order: two VMs exchange their static cards through being off",
    "devices: a static card stays behind when its VM moves",
    "devices: an old hardware version is raised to what is needed and not to the newest",
    "devices: a clone has its devices before it is first switched on",
    "order: a running VM without cards moves by vMotion",
    "settings: a bound VM that DRS could carry away is kept from it",
]


def _lab(name: str) -> tuple[Plan, Machine]:
    case, plan = plan_case(name)
    return plan, Machine(seed_state(case.site), case.site.overlays)


def _killed(
    monkeypatch: pytest.MonkeyPatch, killer: Killer, work: object, plan: Plan, machine: Machine, path: Path
) -> bool:
    """Do some work until it ends or is killed; True = it was killed."""
    port = MortalPort(LabPort(machine), killer)
    write = mortal_write(killer, Journal.write)
    write.__wrapped__ = Journal.write  # type: ignore[attr-defined]
    with monkeypatch.context() as patch:
        patch.setattr(Journal, "write", write)
        try:
            work(plan, port, OPTIONS, path, port.clock, lock_folder=path.parent)  # type: ignore[operator]
        except Killed:
            return True
    return False


def _moments(monkeypatch: pytest.MonkeyPatch, name: str, folder: Path) -> int:
    plan, machine = _lab(name)
    killer = Killer(None)
    assert not _killed(monkeypatch, killer, apply_plan, plan, machine, folder / "count.journal")
    return killer.moments


def _went_on(plan: Plan, machine: Machine, path: Path) -> None:
    """Go on, as a person would: from the journal if there is one, else anew."""
    port = LabPort(machine)
    try:
        outcome = resume(plan, port, OPTIONS, path, port.clock, lock_folder=path.parent)
    except (UnknownObjectError, FileFormatError):
        demand_new(path)
        outcome = apply_plan(plan, port, OPTIONS, path, port.clock, lock_folder=path.parent)
    assert (outcome.status, outcome.left_off) == (Status.DONE, ()), outcome.troubles
    nothing_twice(plan, machine, read_journal(path))
    as_planned(plan, machine, dict(outcome.vms))


@pytest.mark.parametrize("name", PLANS)
@pytest.mark.parametrize("share", [0.2, 0.5, 0.8])
def test_killed_once_and_gone_on(
    name: str, share: float, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    at = random.Random(f"{name} {share}").randrange(_moments(monkeypatch, name, tmp_path))
    plan, machine = _lab(name)
    assert _killed(monkeypatch, Killer(at), apply_plan, plan, machine, tmp_path / "plan.journal")
    _went_on(plan, machine, tmp_path / "plan.journal")


@pytest.mark.long
@pytest.mark.parametrize("name", PLANS)
def test_killed_at_every_moment(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    moments = _moments(monkeypatch, name, tmp_path)
    assert moments >= 50
    for at in range(moments):
        plan, machine = _lab(name)
        path = tmp_path / f"{at}.journal"
        assert _killed(monkeypatch, Killer(at), apply_plan, plan, machine, path)
        _went_on(plan, machine, path)


@pytest.mark.parametrize("seed", range(12))
def test_killed_again_and_again(seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _again_and_again(seed, tmp_path, monkeypatch)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(12, 112))
def test_killed_again_and_again_many_times(
    seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _again_and_again(seed, tmp_path, monkeypatch)


def _again_and_again(seed: int, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    chance = random.Random(seed)
    plan, machine = _lab(chance.choice(PLANS))
    path = folder / "plan.journal"
    work = apply_plan
    for _ in range(4):
        if not _killed(monkeypatch, Killer(chance.randrange(60)), work, plan, machine, path):
            break
        try:
            read_journal(path)
            work = resume
        except (UnknownObjectError, FileFormatError):
            demand_new(path)
            work = apply_plan
        machine.advance(chance.choice((0.0, 0.5, 30.0)))
    if work is resume:
        _went_on(plan, machine, path)


@pytest.mark.parametrize("seed", range(8))
def test_a_rollback_is_killed_and_gone_on_with(
    seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    chance = random.Random(seed)
    name = PLANS[seed % len(PLANS)]
    plan, machine = _lab(name)
    before = {vm.moid: vm_facts(vm) for vm in machine.state.inventory.vms}
    path = tmp_path / "plan.journal"
    moments = _moments(monkeypatch, name, tmp_path)
    at = moments // 2 + chance.randrange(moments // 2)
    assert _killed(monkeypatch, Killer(at), apply_plan, plan, machine, path)
    _killed(monkeypatch, Killer(chance.randrange(40)), roll_back, plan, machine, path)
    port = LabPort(machine)
    outcome = roll_back(plan, port, OPTIONS, path, port.clock, lock_folder=tmp_path)
    assert outcome.status is Status.ROLLED_BACK, outcome.troubles
    assert outcome.left_off == ()
    now = machine.state.inventory.vm_by_moid
    for step in plan.steps:
        if step.vm not in before or isinstance(step.change, Clone | UpgradeHardware):
            continue
        for fact in step.checks:
            if fact.field in before[step.vm]:
                assert vm_facts(now[step.vm])[fact.field] == before[step.vm][fact.field], fact
