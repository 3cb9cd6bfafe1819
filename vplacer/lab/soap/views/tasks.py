"""Tasks of the state machine as ``TaskInfo``."""

from __future__ import annotations

from typing import Any, Final

from pyVmomi import vim

from vplacer.lab.model.tasks import LabTask, TaskPhase
from vplacer.lab.soap.views.faults import api_fault
from vplacer.lab.soap.views.world import World
from vplacer.lab.soap.wire import typetable
from vplacer.lab.soap.wire.typetable import Ref, Value

_METHODS: Final[dict[str, str]] = {
    "VirtualMachine.reconfigure": "ReconfigVM_Task",
    "VirtualMachine.powerOn": "PowerOnVM_Task",
    "VirtualMachine.powerOff": "PowerOffVM_Task",
    "VirtualMachine.suspend": "SuspendVM_Task",
    "VirtualMachine.reset": "ResetVM_Task",
    "VirtualMachine.clone": "CloneVM_Task",
    "VirtualMachine.destroy": "Destroy_Task",
    "VirtualMachine.relocate": "RelocateVM_Task",
    "VirtualMachine.migrate": "MigrateVM_Task",
    "VirtualMachine.upgradeVirtualHardware": "UpgradeVM_Task",
    "ComputeResource.reconfigureEx": "ReconfigureComputeResource_Task",
    "HostSystem.enterMaintenanceMode": "EnterMaintenanceMode_Task",
    "HostSystem.exitMaintenanceMode": "ExitMaintenanceMode_Task",
    "Datacenter.powerOnVm": "PowerOnMultiVM_Task",
    "CompatibilityChecker.checkVmConfig": "CheckVmConfig_Task",
    "CompatibilityChecker.checkPowerOn": "CheckPowerOn_Task",
    "ProvisioningChecker.checkRelocate": "CheckRelocate_Task",
}


def task_ref(task_id: str) -> Ref:
    """Return the reference of a task."""
    return vim.Task(task_id)


def task_info(world: World, task: LabTask, result: Value = None) -> Any:
    """Return ``TaskInfo``. ``result``: of a task whose result is no object."""
    method = _METHODS.get(task.kind)
    failed = task.phase is TaskPhase.ERROR
    entity = world.ref(task.entity)
    return vim.TaskInfo(
        key=task.id,
        task=task_ref(task.id),
        name=None if method is None else typetable.managed_method(method),
        descriptionId=task.kind,
        entity=entity if entity is not None else _gone(task.entity),
        entityName=task.entity_name,
        state=task.phase.value,
        cancelled=failed and task.fault is not None and task.fault.name == "RequestCanceled",
        cancelable=False,
        error=api_fault(world, task.fault) if failed and task.fault is not None else None,
        result=_result(world, task, result),
        reason=_reason(task.user),
        queueTime=task.queued_at,
        startTime=task.started_at,
        completeTime=task.ended_at,
        eventChainId=chain_id(task.id),
        activationId=task.operation,
    )


def chain_id(task_id: str) -> int:
    """Return the number that a task shares with the events it makes."""
    digits = "".join(c for c in task_id if c.isdigit())
    return int(digits or 0) % (1 << 31)


def _result(world: World, task: LabTask, result: Value) -> Value:
    if task.phase is not TaskPhase.SUCCESS:
        return None
    if task.result is not None:
        return world.ref(task.result) or vim.VirtualMachine(task.result)
    return result


def _gone(moid: str) -> Ref:
    return vim.VirtualMachine(moid) if moid.startswith("vm-") else None


def _reason(user: str | None) -> Any:
    return vim.TaskReasonSystem() if user is None else vim.TaskReasonUser(userName=user)


def description() -> Any:
    """Return ``TaskDescription``: the words that tasks are told in."""
    return vim.TaskDescription(
        methodInfo=[
            vim.ElementDescription(key=kind, label=method.removesuffix("_Task"), summary=method)
            for kind, method in _METHODS.items()
        ],
        state=[
            vim.ElementDescription(key=phase.value, label=phase.value, summary=phase.value)
            for phase in TaskPhase
        ],
        reason=[
            vim.TypeDescription(key=kind, label=typetable.wire_name(kind), summary="")
            for kind in (vim.TaskReasonUser, vim.TaskReasonSystem)
        ],
    )
