"""Which VMs must leave a host that is to be emptied."""

from __future__ import annotations

from vplacer.inventory.vm import Vm
from vplacer.request.demand import RequestOptions


def must_leave(options: RequestOptions, vm: Vm, will_run: bool) -> bool:
    """Whether a VM must leave its host: one that runs, or will, and one that is off if that was asked for.

    vSphere's maintenance mode does the same: VMs that are off may stay, unless ``evacuatePoweredOffVms`` is
    set (vSphere API: EnterMaintenanceMode_Task). Templates always may.

    Args:
        options: what is asked for.
        vm: the VM.
        will_run: whether it is to be on after the plan.
    """
    if vm.host not in options.evacuate or vm.template:
        return False
    return vm.is_on or will_run or options.evacuate_off
