"""A VM on several NUMA nodes whose guest sees one."""

from __future__ import annotations

from collections.abc import Iterator

from vplacer.audit.hidden_vnuma import hidden_by_hot_add
from vplacer.audit.model import Outcome, Rule, Severity
from vplacer.audit.subject import Subject
from vplacer.audit.told import hits_of


def find(subject: Subject) -> Iterator[Outcome]:
    """Yield VMs on several nodes that see one; where CPU hot add hides the others, its rule tells it."""
    hidden = hidden_by_hot_add(subject)
    return (hit for hit in hits_of(subject, "guest-sees-one-node") if hit.vm not in hidden)


RULE = Rule(
    id="VPL014",
    name="guest-sees-one-node",
    title="Guest sees one NUMA node and is on several",
    severity=Severity.WARNING,
    cause="A guest that sees one node takes all memory and all devices for equally near. NCCL, MPI and the "
    "guest's scheduler then put threads and buffers on the wrong side of the host, at random.",
    evidence="The VM is bound to several pNUMA nodes, is larger than one, or its cards are on several, while "
    "the guest is shown one vNUMA node: it has fewer than 9 vCPUs (numa.vcpu.min), or its vNUMA size is all "
    "its vCPUs.",
    fix="Power the VM off and give it as many vNUMA nodes as pNUMA nodes it is on (hardware version 20: "
    "ConfigSpec.virtualNuma.coresPerNumaNode = vCPUs / nodes), and tell each device its vNUMA node: vplacer "
    "plan writes both. Or put VM and devices on one node.",
    sample="its devices are on pNUMA 0, 1, and the guest sees one vNUMA node: vNUMA starts at 9 vCPUs, it "
    "has 8",
    find=find,
)
