"""govc, unmodified, changes sites of the lab; vplacer and govc then read what was ordered, and no more."""

from __future__ import annotations

import shlex
import subprocess
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.lab import test_govc as reading
from tests.lab.changes_seen import changes_seen
from tests.sites.chain import collected, comparable
from tests.witness_programs import lab_environment
from vplacer.inventory.load import load_inventory_file
from vplacer.inventory.vcenter import Inventory
from vplacer.lab.model.machine import MachineOptions
from vplacer.lab.model.tasks import Durations
from vplacer.lab.soap.server import LabServer

pytestmark = pytest.mark.live

REPO = Path(__file__).resolve().parents[2]
CASES = yaml.safe_load((REPO / "tests/lab/cases/govc_changes.yaml").read_text(encoding="utf-8"))
QUICK = MachineOptions(durations=Durations.flat(0.02))
_SOON_S = 10.0


def served(site: str) -> LabServer:
    return LabServer(load_inventory_file(REPO / f"fixtures/sites/{site}.yaml"), options=QUICK)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_change(case: dict[str, Any], witness_bin: Callable[[str], Path], tmp_path: Path) -> None:
    program = witness_bin("govc")
    with served(case["site"]) as server:
        before = comparable(collected(server))
        for step in case["govc"]:
            run(program, server, step)
        wait_until_quiet(server)
        after = comparable(collected(server))
        assert server.machine is not None
        assert after == comparable(replace(server.machine.state.inventory, taken_at=after.taken_at))
        assert changes_seen(before, after) == case["changes"]
        govc_agrees(program, server, before, after, tmp_path)


def run(program: Path, server: LabServer, step: str | dict[str, str], spec: str = "") -> str:
    text, words = (step, None) if isinstance(step, str) else (step["run"], step["fails"])
    done = subprocess.run(
        [program, *shlex.split(text)],
        # The checks are among the commands that govc does not show yet.
        env=lab_environment(server) | {"GOVC_SHOW_UNRELEASED": "true"},
        input=spec,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    if words is None:
        assert done.returncode == 0, f"{text}: {done.stderr}"
    else:
        assert done.returncode != 0, text
        assert words in done.stderr
    return done.stdout


def wait_until_quiet(server: LabServer) -> None:
    """Wait for what has no task, such as a guest that shuts down."""
    deadline = time.monotonic() + _SOON_S
    assert server.machine is not None
    while server.machine.next_due() is not None:
        assert time.monotonic() < deadline
        time.sleep(0.01)


def govc_agrees(program: Path, server: LabServer, before: Inventory, after: Inventory, home: Path) -> None:
    """Let govc read the VMs that changed, and compare with what vplacer's collector read."""
    assert server.machine is not None
    old = set(before.vms)
    site = load_inventory_file(REPO / "fixtures/sites/a30pairs.yaml")
    vms = tuple(vm for vm in after.vms if vm not in old)
    if vms:
        seen = replace(site, inventory=replace(after, vms=vms))
        govc = reading.Govc(program, server, seen, home)
        reading.test_vm_info(govc)
        reading.test_device_info(govc)


def test_tasks_and_events_tell_what_happened(witness_bin: Callable[[str], Path]) -> None:
    program = witness_bin("govc")
    with served("a30pairs") as server:
        run(program, server, "vm.power -off infer-1")
        run(program, server, "vm.change -vm infer-1 -c 6")
        run(program, server, {"run": "vm.upgrade -vm web-1 -version 21", "fails": "current state"})
        for text in ("tasks", "tasks -b 1h"):
            rows = [line.split()[:2] for line in run(program, server, text).splitlines()[1:]]
            assert rows == [["PowerOffVM", "infer-1"], ["ReconfigVM", "infer-1"], ["UpgradeVM", "web-1"]]
        failed = run(program, server, "tasks -b 1h -s error").splitlines()[1:]
        assert len(failed) == 1
        assert "error" in failed[0]
        of_one = run(program, server, "tasks -b 1h /dc1/vm/infer-1").splitlines()[1:]
        assert [line.split()[0] for line in of_one] == ["PowerOffVM", "ReconfigVM"]
        everything = run(program, server, "events -n 10").splitlines()
        assert len(everything) == 3
        of_web = run(program, server, "events -n 10 /dc1/vm/web-1").splitlines()
        assert len(of_web) == 1
        assert "failed" in of_web[0]


def test_checks_change_nothing(witness_bin: Callable[[str], Path]) -> None:
    program = witness_bin("govc")
    with served("a30pairs") as server:
        before = comparable(collected(server))
        there = '<spec><host type="HostSystem">host-1009</host></spec>'
        moved = run(program, server, "vm.check.relocate -vm web-1", there)
        assert "Rule 'web-apart' keeps virtual machine web-1 off host esx09" in moved
        changed = run(program, server, "vm.check.config -vm spare", "<spec><numCPUs>2000</numCPUs></spec>")
        assert "Error:" in changed
        assert "2000" in changed
        assert changes_seen(before, comparable(collected(server))) == {}


def test_a_read_only_account_changes_nothing(witness_bin: Callable[[str], Path]) -> None:
    program = witness_bin("govc")
    site = load_inventory_file(REPO / "fixtures/sites/a30pairs.yaml")
    refused = "Permission to perform this operation was denied"
    with LabServer(site, options=QUICK, read_only=True) as server:
        before = comparable(collected(server))
        for text in (
            "vm.change -vm spare -c 8",
            "vm.change -vm spare -e a=b",
            "vm.power -on spare",
            "vm.power -off web-1",
            "vm.power -s web-1",
            "vm.upgrade -vm spare -version 21",
            "vm.destroy spare",
            "vm.migrate -host esx02 spare",
            "vm.clone -vm gpu-template -on=false -host esx02 -ds vsan -folder /dc1/vm new-1",
            "device.remove -vm spare pcipassthrough-13000",
            "cluster.rule.remove -cluster ml -name web-apart",
            "cluster.override.change -cluster ml -vm train-1 -drs-mode manual",
        ):
            run(program, server, {"run": text, "fails": refused})
        assert changes_seen(before, comparable(collected(server))) == {}
