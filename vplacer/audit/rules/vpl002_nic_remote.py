"""A NIC passed through is not on the NUMA nodes its VM is bound to."""

from __future__ import annotations

from collections.abc import Iterator

from vplacer.audit.model import Outcome, Rule, Severity
from vplacer.audit.remote_cards import remote_cards
from vplacer.audit.subject import Subject
from vplacer.inventory.device_kind import DeviceKind


def find(subject: Subject) -> Iterator[Outcome]:
    """Yield NICs that are not on a node of their VM."""
    return remote_cards(subject, DeviceKind.NIC)


RULE = Rule(
    id="VPL002",
    name="nic-remote",
    title="NIC remote from the NUMA nodes of its VM",
    severity=Severity.ERROR,
    cause="numa.nodeAffinity binds vCPUs and memory to a pNUMA node, and the NIC passed through (or the port "
    "of its virtual function) is on another one. Each packet crosses the link between sockets; latency rises "
    "and RDMA to a GPU of the VM's node loses bandwidth.",
    evidence="The nodes of numa.nodeAffinity, and the node that vCenter, an overlay or esxcli tells of the "
    "NIC that the VM holds now. On another socket it is an error, on another node of the same socket a "
    "warning.",
    fix="Bind the VM to the NIC's node, or give it a NIC of its own node: vplacer plan --repair finds the "
    "cheapest way and counts the power cycles.",
    sample="NIC ConnectX-6 Dx 0000:5e:00.0 is on pNUMA 0, on another socket: the VM is bound to pNUMA 1",
    find=find,
)
