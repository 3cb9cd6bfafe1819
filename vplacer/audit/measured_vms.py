"""Running VMs with what was measured of them: shared by the rules on measurements."""

from __future__ import annotations

from collections.abc import Iterator

from vplacer.audit.model import NotEvaluated
from vplacer.audit.subject import Subject
from vplacer.inventory.measured import MeasuredHome
from vplacer.inventory.vm import Vm

_NEVER = "no VM of this host was measured: vplacer collect --measured does"


def measured_vms(subject: Subject) -> Iterator[tuple[Vm, MeasuredHome] | NotEvaluated]:
    """Yield the running VMs that were measured, and what was not: a host that runs VMs, or one VM of it."""
    for host in subject.inventory.hosts:
        vms = {vm.moid: vm for vm in subject.inventory.vms_by_host.get(host.moid, ()) if vm.is_on}
        if not vms:
            continue
        measured = subject.measured(host)
        if measured is None:
            yield NotEvaluated(_NEVER, host=host.moid)
            continue
        for item in measured.vms:
            if item.moid not in vms:
                continue
            if item.home is None:
                yield NotEvaluated(f"it was not measured at {measured.at}", vm=item.moid)
            else:
                yield vms[item.moid], item.home
