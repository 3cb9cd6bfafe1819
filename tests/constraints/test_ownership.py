from __future__ import annotations

from dataclasses import replace

import pytest

from tests.constraints.state_case import build_state
from vplacer.constraints.ownership import reason_left_alone
from vplacer.inventory.host import ConnectionState
from vplacer.inventory.vcenter import Gap
from vplacer.inventory.vm import Ownership, Vm, VmPower

SITE = {
    "host_kinds": {"k": {"cpu": {"cores": 8}, "memory_gib": 64}},
    "clusters": [{"name": "c", "hosts": [{"kind": "k"}]}],
    "vms": [{"name": "vm", "on": "esx01", "cpus": 2, "memory_gib": 4}],
}


COMPLETE = build_state(SITE, {}).problem.inventory


@pytest.fixture
def vm() -> Vm:
    return COMPLETE.vms[0]


def test_an_ordinary_vm_may_be_changed(vm: Vm) -> None:
    assert reason_left_alone(vm, COMPLETE) is None


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"ownership": Ownership(managed_by="com.vmware.vcenter.wcp")}, "managed by com.vmware.vcenter.wcp"),
        ({"ownership": Ownership(is_agent=True)}, "agent VM"),
        ({"name": "vCLS-6b2f1c3e"}, "agent VM"),
        ({"ownership": Ownership(pending_question=True)}, "question"),
        ({"ownership": Ownership(fault_tolerance=True)}, "fault tolerance"),
        ({"ownership": Ownership(consolidation_needed=True)}, "consolidation"),
        ({"ownership": Ownership(disabled_methods=("RelocateVM_Task",))}, "RelocateVM_Task"),
        ({"ownership": Ownership(disabled_methods=("PowerOffVM_Task",))}, "PowerOffVM_Task"),
        ({"tags": ("vplacer:ignore",)}, "vplacer:ignore"),
        ({"readable": False}, "cannot read"),
        ({"connection": ConnectionState.ORPHANED}, "orphaned"),
    ],
)
def test_reasons(vm: Vm, change: dict[str, object], says: str) -> None:
    reason = reason_left_alone(replace(vm, **change), COMPLETE)  # type: ignore[arg-type]
    assert reason is not None
    assert says in reason


def test_methods_that_do_not_suit_the_power_state_are_no_reason(vm: Vm) -> None:
    on = replace(vm, ownership=Ownership(disabled_methods=("PowerOnVM_Task", "UpgradeVM_Task")))
    assert reason_left_alone(on, COMPLETE) is None
    off = replace(vm, power=VmPower.OFF, ownership=Ownership(disabled_methods=("PowerOffVM_Task",)))
    assert reason_left_alone(off, COMPLETE) is None


@pytest.mark.parametrize(
    ("gap", "says"),
    [
        (Gap("vm", "config.managedBy", "permission", "no"), "not read: config.managedBy (permission: no)"),
        (Gap("vm", "disabledMethod", "permission", ""), "not read: disabledMethod (permission)"),
        (Gap("vm", "runtime.question", "fault", "x"), "not read: runtime.question (fault: x)"),
        (Gap("vm", "snapshot", "fault", "x"), "not read: snapshot (fault: x)"),
        (Gap("vm", "config.hardware.device", "fault", "x"), "not read: config.hardware.device (fault: x)"),
        (Gap("VirtualMachine", "runtime.question", "too_old", "x"), "not read: runtime.question"),
        (Gap("vcenter", "tags", "permission", "x"), "whether it has the tag vplacer:ignore, not read: tags"),
        (Gap("other", "config.managedBy", "permission", "x"), None),
    ],
)
def test_what_was_not_read_may_be_a_reason(vm: Vm, gap: Gap, says: str | None) -> None:
    named = {"vm": vm.moid, "vcenter": COMPLETE.about.instance_uuid}
    gap = replace(gap, object=named.get(gap.object, gap.object))
    reason = reason_left_alone(vm, replace(COMPLETE, gaps=(gap,)))
    assert reason is None if says is None else reason is not None and says in reason
