from __future__ import annotations

from dataclasses import replace

import pytest

from tests.constraints.state_case import build_state
from vplacer.constraints.ownership import reason_left_alone
from vplacer.inventory.host import ConnectionState
from vplacer.inventory.vm import Ownership, Vm, VmPower

SITE = {
    "host_kinds": {"k": {"cpu": {"cores": 8}, "memory_gib": 64}},
    "clusters": [{"name": "c", "hosts": [{"kind": "k"}]}],
    "vms": [{"name": "vm", "on": "esx01", "cpus": 2, "memory_gib": 4}],
}


@pytest.fixture
def vm() -> Vm:
    return build_state(SITE, {}).problem.inventory.vms[0]


def test_an_ordinary_vm_may_be_changed(vm: Vm) -> None:
    assert reason_left_alone(vm) is None


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
    reason = reason_left_alone(replace(vm, **change))  # type: ignore[arg-type]
    assert reason is not None
    assert says in reason


def test_methods_that_do_not_suit_the_power_state_are_no_reason(vm: Vm) -> None:
    on = replace(vm, ownership=Ownership(disabled_methods=("PowerOnVM_Task", "UpgradeVM_Task")))
    assert reason_left_alone(on) is None
    off = replace(vm, power=VmPower.OFF, ownership=Ownership(disabled_methods=("PowerOffVM_Task",)))
    assert reason_left_alone(off) is None
