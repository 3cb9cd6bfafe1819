"""CompatibilityChecker and ProvisioningChecker: what would be said of a change, without making it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from pyVmomi import vim

from vplacer.inventory.vm import Vm
from vplacer.lab.model.checks import Finding
from vplacer.lab.model.faults import LabFault
from vplacer.lab.model.relocate import relocation_faults
from vplacer.lab.soap.decode.config_spec import vm_edit
from vplacer.lab.soap.decode.members import invalid_argument, moid_or_none, not_supported
from vplacer.lab.soap.methods.table import Call, MethodTable
from vplacer.lab.soap.methods.vm_change import network_named, relocation, vm_of
from vplacer.lab.soap.views.faults import api_fault
from vplacer.lab.soap.wire import typetable
from vplacer.lab.soap.wire.typetable import Ref

TABLE = MethodTable()


@TABLE.method(vim.vm.check.CompatibilityChecker, "CheckVmConfig_Task")
def check_vm_config(call: Call, _this: Ref, args: Any) -> object:
    """Say whether a VM could be changed so, at a host."""
    live = call.live
    vm, host = _place(call, args)
    edit = vm_edit(args.spec, vm, lambda name: network_named(live.world, name))
    kind = "CompatibilityChecker.checkVmConfig"
    return _answer(call, kind, vm, host, lambda: live.machine.check_config(vm.moid, host, edit))


@TABLE.method(vim.vm.check.CompatibilityChecker, "CheckPowerOn_Task")
def check_power_on(call: Call, _this: Ref, args: Any) -> object:
    """Say whether a VM could be switched on at a host."""
    live = call.live
    vm, host = _place(call, args)
    kind = "CompatibilityChecker.checkPowerOn"
    return _answer(call, kind, vm, host, lambda: live.machine.check_power_on(vm.moid, host))


@TABLE.method(vim.vm.check.ProvisioningChecker, "CheckRelocate_Task")
def check_relocate(call: Call, _this: Ref, args: Any) -> object:
    """Say whether a VM could be moved."""
    machine, vm = call.live.machine, vm_of(call, args.vm)
    target, pool = relocation(call, vm, args.spec)
    host = moid_or_none(target) or _host_of(vm)
    into = moid_or_none(pool)

    def findings() -> Iterable[Finding]:
        options = machine.options
        with machine.lock:
            now, there = machine.tables.vm(vm.moid), machine.tables.host(host)
            faults = relocation_faults(
                machine.tables, now, there, into, options.order, vgpu_moves=options.vgpu_moves
            )
            return [Finding(True, fault) for fault in faults]

    return _answer(call, "ProvisioningChecker.checkRelocate", vm, host, findings)


def _place(call: Call, args: Any) -> tuple[Vm, str]:
    if args.vm is None:
        raise not_supported("checks without a VM")
    vm = vm_of(call, args.vm)
    if args.pool is not None:
        call.require(args.pool)
    if args.host is not None:
        call.require(args.host)
        return vm, typetable.moid(args.host)
    return vm, _host_of(vm)


def _host_of(vm: Vm) -> str:
    if vm.host is None:
        raise invalid_argument("host", "unset, and the VM is at none")
    return vm.host


def _answer(call: Call, kind: str, vm: Vm, host: str, check: Callable[[], Iterable[Finding]]) -> Ref:
    world = call.live.world
    try:
        found = list(check())
    except LabFault as fault:
        raise api_fault(world, fault) from None
    result = vim.vm.check.Result(
        vm=world.ref(vm.moid),
        host=world.ref(host),
        error=[api_fault(world, item.fault) for item in found if item.error],
        warning=[api_fault(world, item.fault) for item in found if not item.error],
    )
    return call.live.finished(kind, vm.moid, call.order, typetable.array_of(vim.vm.check.Result, [result]))
