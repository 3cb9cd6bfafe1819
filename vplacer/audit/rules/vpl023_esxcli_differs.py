"""What a host's esxcli tells of its devices differs from what vCenter tells."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from vplacer.audit.model import Outcome, Rule, Severity
from vplacer.audit.subject import Subject
from vplacer.audit.told import hits_of
from vplacer.inventory.measured import ESXCLI_DIFFERS


def find(subject: Subject) -> Iterator[Outcome]:
    """Yield each difference."""
    # A host may have several, and they have nothing but their text to tell them apart.
    return (replace(hit, key=hit.text) for hit in hits_of(subject, ESXCLI_DIFFERS))


RULE = Rule(
    id="VPL023",
    name="esxcli-differs",
    title="esxcli and vCenter tell different things of a device",
    severity=Severity.NOTE,
    cause="A host that tells two things of one device has changed since one of them was read, or has a fault "
    "in its firmware's tables. What it tells of places is then in doubt.",
    evidence="esxcli hardware pci list (--esxcli, or its overlay): another device than vCenter's at an "
    "address, another parent or dependent device, a node that the host does not have. vCenter's counts.",
    fix="Read both again (vplacer collect --esxcli); if they still differ, rescan the host's hardware or "
    "restart its management agents, and check the firmware's release notes.",
    sample="0000:3b:00.0: esxcli tells NUMA node 4, which the host does not have",
    find=find,
)
