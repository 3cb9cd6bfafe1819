"""Cores per socket shape vNUMA, with one core a socket."""

from __future__ import annotations

from collections.abc import Iterator

from vplacer.audit.model import Outcome, Rule, Severity
from vplacer.audit.subject import Subject
from vplacer.audit.told import hits_of


def find(subject: Subject) -> Iterator[Outcome]:
    """Yield VMs of many one-core sockets whose vNUMA nodes follow the sockets."""
    return hits_of(subject, "cores-per-socket-shapes-vnuma")


RULE = Rule(
    id="VPL015",
    name="cores-per-socket-shapes-vnuma",
    title="One core per socket shapes vNUMA",
    severity=Severity.WARNING,
    cause="One core per socket is what most tools set by default, and harmless since ESXi 6.5, unless vNUMA "
    "is told to follow the sockets: then the guest is shown nodes of one vCPU each, which map to nothing.",
    evidence="numCoresPerSocket is 1 on hardware version 19 or older with 9 vCPUs or more, and "
    "numa.vcpu.followcorespersocket of the VM, or Numa.FollowCoresPerSocket of the host, is 1. Likely, "
    "since the shape in force is not told below hardware version 20.",
    fix="Power the VM off and set the cores per socket to what a NUMA node of the host holds, or remove "
    "numa.vcpu.followcorespersocket (on the host: esxcli system settings advanced set -o "
    "/Numa/FollowCoresPerSocket -i 0).",
    sample="it has 16 sockets of one core, and numa.vcpu.followcorespersocket makes vNUMA nodes follow the "
    "sockets",
    find=find,
)
