"""The examples carried out on govmomi's simulator, which shares no code with ours: there and back."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.apply.https import work
from tests.apply.scenes import plan_for, problem_for
from tests.conftest import REPO
from tests.credentials import RECORD_PASSWORD, RECORD_USER
from tests.witness_programs import connect_options, serving
from vplacer.apply.outcome import ProblemKind, Status, StepState
from vplacer.constraints.judge import check_vm_today
from vplacer.inventory.load import load_inventory_file
from vplacer.inventory.overlay import Overlay
from vplacer.inventory.vcenter import Inventory
from vplacer.jobs.lab_export import export_site
from vplacer.jobs.world import World
from vplacer.plan.changes import Clone, UpgradeHardware
from vplacer.plan.model import Plan
from vplacer.plan.observed import vm_facts
from vplacer.plan.plan_file import save_plan
from vplacer.vsphere.credentials import Credentials
from vplacer.vsphere.secret import Secret
from vplacer.vsphere.session import Session
from vplacer.vsphere.writer import VCenterPort

pytestmark = pytest.mark.live

Find = Callable[[str], Path]
CASES: dict[str, Any] = yaml.safe_load((REPO / "tests/apply/cases/vcsim.yaml").read_text())
ACCOUNT = Credentials(RECORD_USER, Secret(RECORD_PASSWORD), "a test", "a test")
WORLD = World(environ={}, clock=lambda: datetime.now(UTC), seconds=time.monotonic, warn=print)


@contextmanager
def handed_over(site: str, vcsim: Path, folder: Path) -> Iterator[tuple[VCenterPort, tuple[Overlay, ...]]]:
    """Serve an example in vcsim and log in there."""
    export_site(site, folder / "files", WORLD)
    overlays = tuple(load_inventory_file(REPO / f"fixtures/sites/{site}.yaml").overlays)
    with (
        serving(vcsim, "-load", str(folder / "files")) as url,
        Session.connect(connect_options(url), ACCOUNT) as session,
    ):
        yield VCenterPort(session), overlays


def request_of(site: str, case: dict[str, Any]) -> str:
    """Return the example's request, but for what the simulator cannot take."""
    document = yaml.safe_load((REPO / f"fixtures/requests/{site}.yaml").read_text())
    entries = {entry.get("name") or entry["select"]["name"]: entry for entry in document["vms"]}
    edits, without = case.get("set", {}), case.get("without", [])
    assert set(edits) | set(without) <= set(entries)
    for name, entry in entries.items():
        entry.update(edits.get(name, {}))
        if "affinity" in case:
            entry["affinity"] = case["affinity"]
            for ask in (entry.get("gpus"), entry.get("nics")):
                if isinstance(ask, dict):  # a mode that steers nothing promises nothing
                    ask.pop("policy", None)
                    ask.pop("at_policy", None)
    document["vms"] = [entry for name, entry in entries.items() if name not in without]
    document |= {"rules": case["rules"]} if "rules" in case else {}
    return yaml.safe_dump(document)


@pytest.mark.parametrize("site", CASES["sites"])
def test_applied_planned_again_and_taken_back(site: str, witness_bin: Find, tmp_path: Path) -> None:
    request = request_of(site, CASES["sites"][site])
    with handed_over(site, witness_bin("vcsim"), tmp_path) as (port, overlays):
        before = port.read()
        plan = plan_for(before, overlays, request)
        assert plan.steps
        save_plan(plan, tmp_path / "plan.json")
        outcome = work("apply", tmp_path / "plan.json", port, overlays)
        assert (outcome.status, outcome.troubles, outcome.exit_code) == (Status.DONE, (), 0)
        then = port.read()
        as_planned(plan, dict(outcome.vms), then)
        assert [step.effect for step in plan_for(then, overlays, request).steps] == []
        problem = problem_for(then, overlays, request)
        assert [found for asked in problem.request.demands for found in check_vm_today(problem, asked)] == []
        back = work("rollback", tmp_path / "plan.json", port)
        after = port.read()
    assert (back.status, back.exit_code) == (Status.ROLLED_BACK, 0)
    assert {item.kind for item in back.troubles} <= {ProblemKind.KEPT, ProblemKind.IRREVERSIBLE}
    restored(plan, before, after)


def as_planned(plan: Plan, made: dict[str, str], now: Inventory) -> None:
    """Every field that a step wrote last is as the plan says."""
    wanted = {(fact.object, fact.field): fact.value for step in plan.steps for fact in step.checks}
    for (vm, field), value in wanted.items():
        facts = vm_facts(now.vm_by_moid[made.get(vm, vm)])
        assert field not in facts or facts[field] == value, f"{vm}: {field}"


def restored(plan: Plan, before: Inventory, after: Inventory) -> None:
    """Every field of every VM that was there is as it was, but for what nothing takes back."""
    upgraded = {step.vm for step in plan.steps if isinstance(step.change, UpgradeHardware)}
    made = {step.vm for step in plan.steps if isinstance(step.change, Clone)}
    assert {vm.moid for vm in before.vms} <= {vm.moid for vm in after.vms}
    assert len(after.vms) <= len(before.vms) + len(made)
    for vm in before.vms:
        then, now = vm_facts(vm), vm_facts(after.vm_by_moid[vm.moid])
        if vm.moid in upgraded:
            now["hardware_version"] = then["hardware_version"]
        assert now == then


@pytest.mark.parametrize("site", CASES["dropped"])
def test_what_a_server_drops_without_a_word_is_noticed(site: str, witness_bin: Find, tmp_path: Path) -> None:
    request = (REPO / f"fixtures/requests/{site}.yaml").read_text()
    with handed_over(site, witness_bin("vcsim"), tmp_path) as (port, overlays):
        before = port.read()
        save_plan(plan_for(before, overlays, request), tmp_path / "plan.json")
        outcome = work("apply", tmp_path / "plan.json", port, overlays)
        back = work("rollback", tmp_path / "plan.json", port)
        after = port.read()
    assert (outcome.status, outcome.exit_code) == (Status.STOPPED, 7)
    assert {item.kind for item in outcome.troubles} == {ProblemKind.VERIFICATION}
    found = {item.name: re.findall(r"[:;] ([\w ]+) is \S+, not", item.what) for item in outcome.troubles}
    assert found == CASES["dropped"][site]
    # The clones never ran: they are deleted, and what was done to them went with them.
    assert (back.status, back.exit_code, back.troubles) == (Status.ROLLED_BACK, 0, ())
    assert {step.state for step in back.steps} == {StepState.UNDONE, StepState.PENDING}
    assert [vm.moid for vm in after.vms] == [vm.moid for vm in before.vms]
