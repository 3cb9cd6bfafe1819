"""What the server says beforehand of a change or a power-on. Changes nothing."""

from __future__ import annotations

from typing import Any, Final

from vplacer.errors import VSphereFault
from vplacer.port import CheckFinding, Task, TaskState
from vplacer.vsphere import faults
from vplacer.vsphere.raw import Data, MoRef, data_items
from vplacer.vsphere.session import Session
from vplacer.vsphere.tasks import CHECK, Tasks

NOT_CHECKED: Final = "NotChecked"
"""Fault of the finding that the server could not check."""

_MISSING: Final = ("MethodNotFound", "NotImplemented", "NotSupported", "ManagedObjectNotFound")
_LONGEST_S: Final = 120.0


def check_config(
    session: Session, tasks: Tasks, vm: MoRef, host: MoRef, spec: Any | None, name: str
) -> tuple[CheckFinding, ...]:
    """Ask whether a VM could be changed so at a host.

    Args:
        session: the session.
        tasks: its tasks.
        vm: the VM.
        host: where it is to run.
        spec: the ConfigSpec; None = whether it could be switched on.
        name: the VM's name, for messages.

    Returns:
        What the server found; a finding `NOT_CHECKED` where it has no such check.
    """
    method = "CheckPowerOn_Task" if spec is None else "CheckVmConfig_Task"
    checker = session.service("vmCompatibilityChecker")
    if checker is None:
        return (_not_checked("this server has no compatibility checker"),)
    arguments: dict[str, object] = {"vm": vm, "host": host}
    if spec is not None:
        arguments["spec"] = spec
    try:
        ref = session.call(checker, method, arguments, what="the server cannot check the change", obj=name)
    except VSphereFault as fault:
        if fault.fault_type not in _MISSING:
            raise
        return (_not_checked(f"this server has no {method}"),)
    return _findings(tasks, Task(ref.moid, CHECK, vm.moid))


def _findings(tasks: Tasks, task: Task) -> tuple[CheckFinding, ...]:
    ended = tasks.wait([task], _LONGEST_S)
    if not ended:
        return (_not_checked(f"the check did not end within {_LONGEST_S:.0f} s"),)
    result = ended[0]
    if result.state is TaskState.UNKNOWN:
        return (_not_checked("the server no longer knows the check it was asked for"),)
    if result.state is TaskState.ERROR:
        why = ": ".join(part for part in (result.fault, result.message) if part)
        return (_not_checked(f"the check itself failed: {why}"),)
    found: list[CheckFinding] = []
    for entry in data_items(tasks.value_of(task)):
        found.extend(_finding(item, blocking=True) for item in entry.items("error"))
        found.extend(_finding(item, blocking=False) for item in entry.items("warning"))
    return tuple(dict.fromkeys(found))


def _finding(envelope: Data, *, blocking: bool) -> CheckFinding:
    fault = faults.inner_fault(envelope)
    texts = faults.fault_texts(envelope)
    return CheckFinding(blocking, faults.wire_name(fault), "; ".join(texts) or "the server gives no text")


def _not_checked(why: str) -> CheckFinding:
    return CheckFinding(False, NOT_CHECKED, why)
