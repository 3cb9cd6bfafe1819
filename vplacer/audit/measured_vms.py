"""Running VMs with what was measured of them: shared by the rules on measurements."""

from __future__ import annotations

from collections.abc import Iterator

from vplacer.audit.model import NotEvaluated
from vplacer.audit.subject import Subject
from vplacer.constraints.supply import nodes_with_cores
from vplacer.inventory.host import Host
from vplacer.inventory.measured import NOT_MEASURED, MeasuredHome
from vplacer.inventory.vm import Vm
from vplacer.topology.measured import HostMeasurement

_NEVER = "no VM of this host was measured: vplacer collect --measured does"


def measured_vms(subject: Subject) -> Iterator[tuple[Vm, MeasuredHome] | NotEvaluated]:
    """Yield the running VMs that were measured, and what was not: a host that runs VMs, or one VM of it.

    A host of one node is left out: its VMs are nowhere else.
    """
    for host in subject.inventory.hosts:
        vms = {vm.moid: vm for vm in subject.inventory.vms_by_host.get(host.moid, ()) if vm.is_on}
        if not vms or len(nodes_with_cores(host)) == 1:
            continue
        measured = subject.measured(host)
        if measured is None:
            yield NotEvaluated(why_not_measured(subject, host), host=host.moid)
            continue
        items = [item for item in measured.vms if item.moid in vms]
        if all(item.home is None for item in items):
            yield NotEvaluated(none_measured(measured), host=host.moid)
            continue
        for item in items:
            if item.home is None:
                yield NotEvaluated(f"it was not measured at {measured.at}", vm=item.moid)
            else:
                yield vms[item.moid], item.home


def none_measured(measured: HostMeasurement) -> str:
    """Return that a measurement of a host tells nothing of its VMs."""
    return f"none of its VMs was measured at {measured.at}"


def why_not_measured(subject: Subject, host: Host) -> str:
    """Return why there is no measurement of a host."""
    for finding in subject.told:
        if finding.kind == NOT_MEASURED and finding.host == host.moid:
            return f"it was not measured: {finding.text}"
    return _NEVER
