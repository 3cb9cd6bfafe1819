"""Power operations of one VM, and the start of many."""

from __future__ import annotations

from typing import Any

from pyVmomi import vim, vmodl

from vplacer.inventory.vm import Vm, VmPower
from vplacer.lab.model.faults import LabFault, invalid_power_state
from vplacer.lab.soap.decode.members import moid_or_none, not_supported
from vplacer.lab.soap.methods.table import Call, MethodTable
from vplacer.lab.soap.methods.vm_change import vm_of
from vplacer.lab.soap.views.faults import api_fault
from vplacer.lab.soap.wire import typetable
from vplacer.lab.soap.wire.typetable import Ref

TABLE = MethodTable()
_START_OPTIONS = frozenset({"OverrideAutomationLevel", "ReserveResources"})
"""Options of a start of many (vSphere API: ClusterPowerOnVmOption): the lab starts each VM as if alone."""


@TABLE.method(vim.VirtualMachine, "PowerOnVM_Task")
def power_on(call: Call, this: Ref, args: Any) -> object:
    """Switch a VM on, at a host if one is named."""
    live, vm, order = call.live, vm_of(call, this), call.order
    if args.host is not None:
        call.require(args.host)
    host = moid_or_none(args.host)
    return live.start(lambda: live.machine.power_on(vm.moid, host, order.user, order.operation))


@TABLE.method(vim.Datacenter, "PowerOnMultiVM_Task")
def power_on_many(call: Call, this: Ref, args: Any) -> object:
    """Switch VMs on; the result tells each one's own task, or why it has none."""
    live, order = call.live, call.order
    for option in args.option:
        if option.key not in _START_OPTIONS:
            raise not_supported(f"option {option.key}")
    kinds = vim.cluster
    result = kinds.PowerOnVmResult()
    for ref in args.vm:
        vm = vm_of(call, ref)
        call.need("VirtualMachine.Interact.PowerOn", ref)

        def begin(vm: Vm = vm) -> Any:
            return live.machine.power_on(vm.moid, None, order.user, order.operation)

        try:
            task = live.start(begin)
        except vmodl.MethodFault as fault:
            result.notAttempted.append(kinds.NotAttemptedVmInfo(vm=ref, fault=fault))
        else:
            result.attempted.append(kinds.AttemptedVmInfo(vm=ref, task=task))
    return live.finished("Datacenter.powerOnVm", typetable.moid(this), order, result)


@TABLE.method(vim.VirtualMachine, "PowerOffVM_Task")
def power_off(call: Call, this: Ref, _args: Any) -> object:
    """Switch a VM off at once."""
    live, vm, order = call.live, vm_of(call, this), call.order
    return live.start(lambda: live.machine.power_off(vm.moid, order.user, order.operation))


@TABLE.method(vim.VirtualMachine, "SuspendVM_Task")
def suspend(call: Call, this: Ref, _args: Any) -> object:
    """Suspend a VM."""
    live, vm, order = call.live, vm_of(call, this), call.order
    return live.start(lambda: live.machine.suspend(vm.moid, order.user, order.operation))


@TABLE.method(vim.VirtualMachine, "ShutdownGuest")
def shut_down(call: Call, this: Ref, _args: Any) -> object:
    """Ask the guest to shut down."""
    live, vm, order = call.live, vm_of(call, this), call.order
    live.do(lambda: live.machine.shut_down(vm.moid, order.user))
    return None


@TABLE.method(vim.VirtualMachine, "ResetVM_Task")
def reset(call: Call, this: Ref, _args: Any) -> object:
    """Reset a VM: it runs on, with the devices it has."""
    fault = None
    vm = vm_of(call, this)
    if not vm.is_on:
        fault = invalid_power_state(vm.power, VmPower.ON)
    return call.live.finished("VirtualMachine.reset", vm.moid, call.order, fault)


@TABLE.method(vim.VirtualMachine, "RebootGuest")
def reboot(call: Call, this: Ref, _args: Any) -> object:
    """Ask the guest to reboot: the VM runs on."""
    live, vm = call.live, vm_of(call, this)
    fault: LabFault | None = None
    if not vm.is_on:
        fault = invalid_power_state(vm.power, VmPower.ON)
    elif vm.moid in live.machine.options.without_tools:
        fault = LabFault("ToolsUnavailable", "VMware Tools is not running in this virtual machine.")
    if fault is not None:
        raise api_fault(live.world, fault)
    return None
