"""The examples applied over HTTPS, through the adapter, and processes that are killed meanwhile."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest

from tests.apply.https import SPEED, connected, work
from tests.apply.scenes import fixture_scene
from tests.conftest import REPO
from vplacer.apply.journal import demand_new, journal_path, read_journal
from vplacer.apply.outcome import ProblemKind, Status
from vplacer.apply.run import operation_prefix
from vplacer.errors import FileFormatError, UnknownObjectError
from vplacer.inventory.vm import VmPower
from vplacer.lab.model.tasks import TaskPhase
from vplacer.lab.soap.server import LabServer
from vplacer.plan.changes import Clone, UpgradeHardware
from vplacer.plan.observed import vm_facts
from vplacer.plan.plan_file import save_plan

SITES = ["a100pcie", "a30pairs", "dgx2", "nvswitch", "floating", "subnuma", "untold", "vgpu"]


@pytest.mark.parametrize("name", [*SITES, "big96"])
def test_applied_over_https_planned_again_and_taken_back(name: str, tmp_path: Path) -> None:
    # On 96 hosts a twentieth of the request: each call is dear there, and the steps are alike.
    scene = fixture_scene(name, share=0.05 if name == "big96" else 1.0)
    overlays = tuple(scene.site.overlays)
    plan = tmp_path / "plan.json"
    save_plan(scene.plan, plan)
    with (
        LabServer(scene.site, speed=SPEED) as server,
        connected(server.url, str(server.ca_file), server.username, server.password) as port,
    ):
        outcome = work("apply", plan, port, overlays)
        assert (outcome.status, outcome.troubles) == (Status.DONE, ())
        again = scene.replanned(port.read())
        assert [step.effect for step in again.steps] == []
        back = work("rollback", plan, port)
        assert back.status is Status.ROLLED_BACK, back.troubles
        assert {item.kind for item in back.troubles} <= {ProblemKind.KEPT, ProblemKind.IRREVERSIBLE}
        before = {vm.moid: vm_facts(vm) for vm in scene.site.inventory.vms}
        after = {vm.moid: vm_facts(vm) for vm in port.read().vms}
    for step in scene.plan.steps:
        if isinstance(step.change, Clone | UpgradeHardware) or step.vm not in before:
            continue
        for fact in step.checks:
            if not fact.field.startswith("extra.numa.autosize"):
                assert after[step.vm][fact.field] == before[step.vm][fact.field], f"{step.id}: {fact.field}"


def _kill_and_go_on(seed: int, folder: Path) -> None:
    """Kill the process with -9 at a random moment, up to three times, then let it come to the end."""
    chance = random.Random(seed)
    name = chance.choice(("a30pairs", "nvswitch", "vgpu", "floating"))
    scene = fixture_scene(name)
    plan = folder / "plan.json"
    save_plan(scene.plan, plan)
    with LabServer(scene.site, speed=SPEED) as server:
        mode, code = "apply", -signal.SIGKILL
        for last in (False, False, False, True):
            code = _process(server, plan, mode, None if last else chance.uniform(0.0, 1.5))
            if code != -signal.SIGKILL:
                break
            try:
                read_journal(journal_path(plan))
                mode = "resume"
            except (UnknownObjectError, FileFormatError):
                demand_new(journal_path(plan))
        assert code == 0
        machine = server.machine
        done = Counter(task.operation for task in machine.tasks() if task.phase is TaskPhase.SUCCESS)
        prefix = operation_prefix(scene.plan)
        assert all(done[f"{prefix}-{step.id}"] <= 1 for step in scene.plan.steps)
        inventory = machine.state.inventory
    assert [step.effect for step in scene.replanned(inventory).steps] == []
    ran = {vm.moid for vm in scene.site.inventory.vms if vm.power is VmPower.ON}
    assert all(inventory.vm_by_moid[moid].is_on for moid in ran)


def _process(server: LabServer, plan: Path, mode: str, kill_after_s: float | None) -> int:
    command = [sys.executable, "-m", "tests.apply.https", server.url, str(server.ca_file), str(plan), mode]
    environ = {**os.environ, "LAB_USER": server.username, "LAB_PASSWORD": server.password}
    earlier = _beginnings(plan)
    process = subprocess.Popen(command, cwd=REPO, env={**environ, "PYTHONPATH": str(REPO)})
    if kill_after_s is None:
        return process.wait(timeout=120)
    deadline = time.monotonic() + 60
    while process.poll() is None and _beginnings(plan) == earlier:
        assert time.monotonic() < deadline
        time.sleep(0.01)
    try:
        return process.wait(timeout=kill_after_s)
    except subprocess.TimeoutExpired:
        process.send_signal(signal.SIGKILL)
        return process.wait(timeout=10)


def _beginnings(plan: Path) -> int:
    """How many processes have begun to work on a plan, as its journal says."""
    journal = journal_path(plan)
    return journal.read_bytes().count(b'"type":"Began"') if journal.exists() else 0


@pytest.mark.parametrize("seed", range(2))
def test_killed_by_the_system_and_gone_on_with(seed: int, tmp_path: Path) -> None:
    _kill_and_go_on(seed, tmp_path)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(2, 22))
def test_killed_by_the_system_many_times(seed: int, tmp_path: Path) -> None:
    _kill_and_go_on(seed, tmp_path)
