"""A GPU is not on the NUMA nodes its VM is bound to."""

from __future__ import annotations

from collections.abc import Iterator

from vplacer.audit.model import Outcome, Rule, Severity
from vplacer.audit.remote_cards import remote_cards
from vplacer.audit.subject import Subject
from vplacer.inventory.device_kind import DeviceKind


def find(subject: Subject) -> Iterator[Outcome]:
    """Yield GPUs that are not on a node of their VM."""
    return remote_cards(subject, DeviceKind.GPU)


RULE = Rule(
    id="VPL001",
    name="gpu-remote",
    title="GPU remote from the NUMA nodes of its VM",
    severity=Severity.ERROR,
    cause="numa.nodeAffinity binds vCPUs and memory to a pNUMA node, and the GPU is on another one. Each "
    "copy between memory and GPU crosses the link between sockets (or between nodes of a socket), which is "
    "shared with everything else on the host.",
    evidence="The nodes of numa.nodeAffinity, and the node that vCenter, an overlay or esxcli tells of the "
    "GPU that the VM holds now. On another socket it is an error, on another node of the same socket a "
    "warning.",
    fix="Bind the VM to the GPU's node, or give it a GPU of its own node: vplacer plan --repair finds the "
    "cheapest way and counts the power cycles.",
    sample="GPU A30 0000:3b:00.0 is on pNUMA 0, on another socket: the VM is bound to pNUMA 1",
    find=find,
)
