"""Faults of the simulated vCenter: the wire name, a text as the real one words it, and the fault's fields."""

from __future__ import annotations

from typing import Any

from vplacer.inventory.vm import VmPower


class LabFault(Exception):
    """What a vCenter answers in place of a result.

    Args:
        name: the fault's wire name, such as ``InvalidPowerState``.
        message: its text.
        fields: its members by wire name, in the wire's units.
    """

    def __init__(self, name: str, message: str, /, **fields: Any) -> None:
        super().__init__(f"{name}: {message}")
        self.name = name
        self.message = message
        self.fields = fields


def not_found(moid: str) -> LabFault:
    """No object has this id."""
    text = f"The object '{moid}' has already been deleted or has not been completely created."
    return LabFault("ManagedObjectNotFound", text, obj=moid)


def invalid_power_state(existing: VmPower, requested: VmPower, what: str = "") -> LabFault:
    """The VM is not in the power state that the operation, or the change of ``what``, needs."""
    text = f"The attempted operation cannot be performed in the current state ({_word(existing)})."
    return LabFault(
        "InvalidPowerState",
        f"{text} {what} can be changed only in state {_word(requested)}." if what else text,
        existingState=existing.value,
        requestedState=requested.value,
    )


def task_in_progress(task: str) -> LabFault:
    """Another task of the VM has not ended."""
    return LabFault("TaskInProgress", "Another task is already in progress.", task=task)


def concurrent_access() -> LabFault:
    """The change version of the call is not the VM's."""
    text = "The operation cannot be performed because the changeVersion does not match: it was changed since."
    return LabFault("ConcurrentAccess", text)


def invalid_argument(what: str, why: str) -> LabFault:
    """A parameter of the call is not correct."""
    text = f"A specified parameter was not correct: {what} ({why})"
    return LabFault("InvalidArgument", text, invalidProperty=what)


def invalid_device(index: int, why: str, name: str = "InvalidDeviceSpec") -> LabFault:
    """A device change is wrong; ``index`` is its place in the call's list."""
    return LabFault(
        name, f"Invalid configuration for device '{index}': {why}", deviceIndex=index, property="deviceChange"
    )


def vm_config(message: str) -> LabFault:
    """The host refuses the VM's configuration with a text of its own."""
    return LabFault("GenericVmConfigFault", message, reason=message)


def _word(state: VmPower) -> str:
    return {VmPower.ON: "Powered on", VmPower.OFF: "Powered off", VmPower.SUSPENDED: "Suspended"}[state]
