"""CPU affinity takes a VM out of NUMA scheduling."""

from __future__ import annotations

from collections.abc import Iterator

from vplacer.audit.model import Outcome, Rule, Severity
from vplacer.audit.subject import Subject
from vplacer.audit.told import hits_of


def find(subject: Subject) -> Iterator[Outcome]:
    """Yield VMs with CPU affinity on hosts of several nodes, or beside numa.nodeAffinity."""
    return hits_of(subject, "cpu-affinity-ends-numa")


RULE = Rule(
    id="VPL013",
    name="cpu-affinity-ends-numa",
    title="CPU affinity ends NUMA management",
    severity=Severity.WARNING,
    cause="A VM with CPU affinity is no longer managed by the NUMA scheduler: nothing keeps its memory on "
    "the node of its CPUs, and numa.nodeAffinity beside it is void. It also stands in the way of vMotion.",
    evidence="VirtualMachineConfigInfo.cpuAffinity is not empty, and the host has several NUMA nodes or the "
    "VM has numa.nodeAffinity (vSphere Resource Management: Using NUMA Systems with ESXi).",
    fix="Clear the CPU affinity (Scheduling Affinity in the vSphere Client, ConfigSpec.cpuAffinity with an "
    "empty set) and set numa.nodeAffinity instead, which keeps the VM managed; vplacer plan does both.",
    sample="it has CPU affinity and numa.nodeAffinity 0: CPU affinity takes a VM out of NUMA scheduling, so "
    "nothing keeps its memory near",
    find=find,
)
