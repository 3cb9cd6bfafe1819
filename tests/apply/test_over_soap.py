"""Plans carried out by the adapter on a simulated vCenter over HTTPS: examples, and broken connections."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
import yaml

from tests.apply.faults import CASES, call_of, plan_case
from tests.apply.over_soap import QUICK, adapter, served
from tests.apply.scenes import fixture_scene
from tests.apply.test_fixture_sites import VARIANTS
from vplacer.apply.clock import MachineClock
from vplacer.apply.outcome import ProblemKind, Status, StepState
from vplacer.apply.run import apply_plan, resume, roll_back
from vplacer.lab.model.orders import Call
from vplacer.lab.model.tasks import TaskPhase
from vplacer.lab.soap.connection_orders import CALLS
from vplacer.lab.soap.faults import FaultRule, Harm
from vplacer.plan.changes import Clone, UpgradeHardware
from vplacer.plan.observed import vm_facts

pytestmark = pytest.mark.live
PLAIN = ((None, False), ("pin", False))
EXAMPLES = [variant for variant in VARIANTS if isinstance(variant, tuple) and variant[1:] in PLAIN]
HARMS = (Harm.DROP_BEFORE, Harm.DROP_AFTER, Harm.TRUNCATE, Harm.EXPIRE)


@pytest.mark.parametrize(("name", "affinity", "may_move"), EXAMPLES)
def test_applied_planned_again_and_taken_back(
    name: str, affinity: str | None, may_move: bool, tmp_path: Path
) -> None:
    scene = fixture_scene(name, affinity=affinity, may_move=may_move)
    path, clock = tmp_path / "plan.journal", MachineClock()
    with served(scene.site) as server, adapter(server) as port:
        outcome = apply_plan(
            scene.plan, port, QUICK, path, clock, overlays=tuple(scene.site.overlays), lock_folder=tmp_path
        )
        assert (outcome.status, outcome.troubles, outcome.exit_code) == (Status.DONE, (), 0)
        assert {step.state for step in outcome.steps} == {StepState.DONE}
        again = scene.replanned(port.read())
        assert [step.effect for step in again.steps] == []
        back = roll_back(scene.plan, port, QUICK, path, clock, lock_folder=tmp_path)
        assert back.status is Status.ROLLED_BACK
        assert {item.kind for item in back.troubles} <= {ProblemKind.KEPT, ProblemKind.IRREVERSIBLE}
        after = {vm.moid: vm_facts(vm) for vm in port.read().vms}
    before = {vm.moid: vm_facts(vm) for vm in scene.site.inventory.vms}
    for step in scene.plan.steps:
        if isinstance(step.change, Clone | UpgradeHardware) or step.vm not in before:
            continue
        for fact in step.checks:
            assert after[step.vm][fact.field] == before[step.vm][fact.field], f"{step.id}: {fact.field}"
    refused = [record.method for record in server.log.records() if record.status != 200]
    assert refused == []


@dataclass(frozen=True)
class Break:
    """A connection that breaks at the first call of a kind, or at the first look after it."""

    plan: str
    method: str
    harm: Harm

    @property
    def id(self) -> str:
        return f"{self.harm} | {self.method}"


def breaks() -> Iterator[Break]:
    """Return each harm at each method that some plan of the fault matrix calls."""
    methods: dict[str, str] = {}
    by_call: dict[Call, str] = {}
    for method, call in CALLS.items():
        by_call.setdefault(call, method)
    for name in yaml.safe_load((CASES / "faults.yaml").read_text())["plans"]:
        _, plan = plan_case(name)
        for step in plan.steps:
            methods.setdefault(by_call[call_of(step)[0]], name)
    some = next(iter(methods.values()))
    for method in ("WaitForUpdatesEx", "LogUserEvent", "RetrievePropertiesEx", "CheckVmConfig_Task"):
        methods.setdefault(method, some)
    for method, name in methods.items():
        for harm in HARMS:
            yield Break(name, method, harm)


BREAKS = list(breaks())


def test_each_writing_method_is_broken(record_property: object) -> None:
    methods = {item.method for item in BREAKS}
    assert methods >= {
        "CloneVM_Task",
        "UpgradeVM_Task",
        "ReconfigVM_Task",
        "RelocateVM_Task",
        "PowerOnVM_Task",
        "ShutdownGuest",
        "ReconfigureComputeResource_Task",
    }


@pytest.mark.parametrize("broken", BREAKS, ids=lambda item: item.id)
def test_a_connection_that_breaks(broken: Break, tmp_path: Path) -> None:
    case, plan = plan_case(broken.plan)
    path, clock = tmp_path / "plan.journal", MachineClock()
    with served(case.site) as server:
        with adapter(server) as port:
            # Reading before the first change is another matter: nothing is begun then.
            skip = 6 if broken.method in ("RetrievePropertiesEx", "CheckVmConfig_Task") else 0
            server.faults.add(FaultRule(broken.harm, broken.method, skip=skip))
            outcome = apply_plan(plan, port, QUICK, path, clock, lock_folder=tmp_path)
        if outcome.status is not Status.DONE:
            assert outcome.status in (Status.STOPPED, Status.ROLLED_BACK), outcome.troubles
            assert outcome.exit_code != 0
            with adapter(server) as port:
                outcome = resume(plan, port, QUICK, path, clock, lock_folder=tmp_path)
        assert (outcome.status, outcome.left_off) == (Status.DONE, ()), outcome.troubles
        assert {step.state for step in outcome.steps} == {StepState.DONE}
        assert server.machine is not None
        done = [task for task in server.machine.tasks() if task.phase is TaskPhase.SUCCESS]
        twice = {name: n for name, n in Counter(task.operation for task in done).items() if name and n > 1}
        assert twice == {}
