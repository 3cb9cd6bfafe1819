"""A VM with passthrough or vGPU devices does not reserve all its memory."""

from __future__ import annotations

from collections.abc import Iterator

from vplacer.audit.model import Hit, NotEvaluated, Outcome, Rule, Severity
from vplacer.audit.subject import Subject
from vplacer.constraints.supply import holds_devices
from vplacer.inventory.finding import Certainty
from vplacer.inventory.vm import Vm


def find(subject: Subject) -> Iterator[Outcome]:
    """Yield VMs with PCI devices whose memory is not all reserved, or limited below its size."""
    for vm in subject.vms:
        locked, reserved, limit = vm.memory_locked_to_max, vm.memory_reservation_mib, vm.memory_limit_mib
        limited = limit is not None and 0 <= limit < vm.memory_mib
        if (locked and not limited) or not holds_devices(vm):
            continue
        if limited:
            yield _hit(vm, f"its memory is limited to {limit} of {vm.memory_mib} MiB", "limit")
        elif reserved is None:
            word = "was not told" if locked is None else "is off"
            yield NotEvaluated(
                f"how much memory it reserves was not told, and the lock of the reservation {word}",
                vm=vm.moid,
            )
        elif reserved < vm.memory_mib:
            word = "was not told" if locked is None else "is off"
            yield _hit(
                vm,
                f"it reserves {reserved} of {vm.memory_mib} MiB, and the lock of the reservation to its "
                f"memory {word}",
                "reservation",
            )


def _hit(vm: Vm, text: str, key: str) -> Hit:
    then = "it will not start again" if vm.is_on else "it will not start"
    return Hit(
        f"{text}: {then}",
        Certainty.PROVED if vm.memory_locked_to_max is not None or key == "limit" else Certainty.LIKELY,
        vm=vm.moid,
        host=vm.host,
        key=key,
        severity=Severity.WARNING if vm.is_on else Severity.ERROR,
        numbers=(("memory_mib", vm.memory_mib),),
    )


RULE = Rule(
    id="VPL017",
    name="reservation-missing",
    title="Memory of a VM with PCI devices is not fully reserved",
    severity=Severity.ERROR,
    cause="A device writes to guest memory by itself, so all of it must be there: power-on with a "
    "passthrough device, virtual function or vGPU fails unless the whole memory is reserved (Broadcom KB "
    "309986). Scripts that add devices through the API forget it, and so do those that enlarge the memory "
    "later.",
    evidence="memoryReservationLockedToMax is not true, and memoryAllocation.reservation is below "
    "hardware.memoryMB; or memoryAllocation.limit is below it. A lock that is off or not told beside a full "
    "reservation is no finding. VMs that are off are errors, running ones warnings.",
    fix='Set memoryReservationLockedToMax to true ("Reserve all guest memory" in the vSphere Client) and the '
    "memory limit to unlimited; both can be set while the VM runs.",
    sample="it reserves 0 of 65536 MiB, and the lock of the reservation to its memory is off: it will not "
    "start",
    find=find,
)
