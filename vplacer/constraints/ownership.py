"""Why a VM is not vplacer's to change: somebody else owns it, or something is going on with it."""

from __future__ import annotations

from typing import Final

from vplacer.constraints.unread import gap_text, vm_gaps
from vplacer.inventory.host import ConnectionState
from vplacer.inventory.vcenter import Inventory
from vplacer.inventory.vm import Vm

IGNORE_TAG: Final = "vplacer:ignore"
"""Category and name of the tag that keeps vplacer off a VM."""

# Operations a plan is made of. vCenter lists every operation that does not suit the VM's state as
# disabled (PowerOn of a VM that runs), so only these tell that somebody has locked the VM.
_ALWAYS_NEEDED: Final = ("ReconfigVM_Task", "RelocateVM_Task")


def reason_left_alone(vm: Vm, inventory: Inventory) -> str | None:
    """Return why a VM must not be touched, None where it may be.

    Owners: solutions that manage the VM (VirtualMachine.config.managedBy: VM Service, Horizon and
    others), ESX agents (vCLS), the ignore tag. Busy: a pending question, fault tolerance, disabled
    methods (running backups lock relocation so), disks that need consolidation. What could not be read
    of the VM may say any of these.
    """
    unknown = _unknown(vm, inventory)
    if unknown is not None:
        return unknown
    if not vm.readable:
        return "vCenter cannot read its configuration"
    if vm.connection is not ConnectionState.CONNECTED:
        return f"its connection state is {vm.connection.value}"
    if IGNORE_TAG in vm.tags:
        return f"it has the tag {IGNORE_TAG}"
    own = vm.ownership
    if own.is_agent or vm.name.startswith("vCLS-"):
        return "it is an agent VM of vSphere (vCLS or another ESX agent)"
    if own.managed_by:
        return f"it is managed by {own.managed_by}"
    if own.pending_question:
        return "it waits for the answer to a question"
    if own.fault_tolerance:
        return "fault tolerance is on"
    if own.consolidation_needed:
        return "its disks need consolidation"
    locked = [method for method in _needed_methods(vm) if method in own.disabled_methods]
    if locked:
        return f"somebody has disabled {', '.join(locked)} on it (a running backup, for example)"
    return None


def _unknown(vm: Vm, inventory: Inventory) -> str | None:
    """Return what keeps one from telling whether a VM may be changed."""
    gaps = vm_gaps(inventory, vm)
    if gaps:
        more = f" and {len(gaps) - 1} more" if len(gaps) > 1 else ""
        return f"it cannot be told whether it may be changed, not read: {gap_text(gaps[0])}{more}"
    everywhere = inventory.gaps_by_object.get(inventory.about.instance_uuid, ())
    tags = [gap for gap in everywhere if gap.path == "tags"]
    if tags:
        return f"it cannot be told whether it has the tag {IGNORE_TAG}, not read: {gap_text(tags[0])}"
    return None


def _needed_methods(vm: Vm) -> tuple[str, ...]:
    return (*_ALWAYS_NEEDED, "PowerOffVM_Task" if vm.is_on else "PowerOnVM_Task")
