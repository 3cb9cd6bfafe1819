"""Part of a host's memory is slower than DRAM."""

from __future__ import annotations

from collections.abc import Iterator

from vplacer.audit.model import Outcome, Rule, Severity
from vplacer.audit.subject import Subject
from vplacer.audit.told import hits_of


def find(subject: Subject) -> Iterator[Outcome]:
    """Yield hosts with tiered memory."""
    return hits_of(subject, "memory-tiered")


RULE = Rule(
    id="VPL021",
    name="memory-tiered",
    title="Memory of the host is tiered",
    severity=Severity.NOTE,
    cause="With memory tiering (NVMe or persistent memory beside DRAM) a NUMA node's memory is not all DRAM. "
    "How much of which node is slower is not told, so a node may have less fast memory than it seems.",
    evidence="HostHardwareInfo.memoryTieringType is set, and not noTiering. Not told (before 7.0 update 3) "
    "is no finding.",
    fix="Leave room on the nodes of such a host (the request's memory_margin_percent), keep VMs with "
    "devices, whose memory is all reserved, off it, or switch tiering off for them.",
    sample="its memory is tiered (softwareTiering): part of it is slower than DRAM, and how much of which "
    "NUMA node is not told; the nodes are counted with all their memory",
    find=find,
)
