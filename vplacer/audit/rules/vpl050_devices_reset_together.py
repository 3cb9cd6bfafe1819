"""Devices that are reset together belong to several VMs."""

from __future__ import annotations

from collections.abc import Iterator

from vplacer.audit.model import Outcome, Rule, Severity
from vplacer.audit.subject import Subject
from vplacer.audit.told import hits_of


def find(subject: Subject) -> Iterator[Outcome]:
    """Yield groups of devices that are reset together, and held or wanted by several VMs."""
    return hits_of(subject, "dependent-devices-split")


RULE = Rule(
    id="VPL050",
    name="devices-reset-together",
    title="Devices that are reset together are split over VMs",
    severity=Severity.WARNING,
    cause="Functions of one card, or devices behind one bridge, are reset as a whole. When one VM is "
    "switched on or off, the device of the other is reset under it; vSphere may refuse the second VM.",
    evidence="HostPciPassthruInfo.dependentDevice: devices that name each other, or one bridge; and who "
    "holds them, or will when switched on.",
    fix="Give all devices of the group to one VM, and the other VM a card of its own.",
    sample="0000:03:00.0 0000:03:01.0 are reset together and are split over storage-1, train-1",
    find=find,
)
