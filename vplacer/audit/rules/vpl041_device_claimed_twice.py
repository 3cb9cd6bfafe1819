"""One card is claimed by several VMs, or the sources of who holds it contradict each other."""

from __future__ import annotations

from collections.abc import Iterator

from vplacer.audit.model import Outcome, Rule, Severity
from vplacer.audit.subject import Subject
from vplacer.audit.told import hit_of
from vplacer.inventory.finding import Finding

_TWICE = "device-claimed-twice"
_WANTED = "device-wanted-twice"
_HELD = "device-held-by-another"
_CONTRADICTIONS = (
    "binding-differs-from-vm",
    "assigned-id-differs-from-binding",
    "assigned-id-not-allowed",
)
_SEVERITIES = {_TWICE: Severity.ERROR, _HELD: Severity.ERROR}
_FIXES = {
    _WANTED: "Give all but one of these VMs another card: remove the PCI device and add Dynamic DirectPath "
    "I/O, or another card, while the VM is off. If they take turns on purpose, waive it.",
    _HELD: "Switch off the VM that holds the card, or give this one another: vplacer plan can place it.",
    **dict.fromkeys(
        _CONTRADICTIONS,
        "Power-cycle the VM at a quiet time, so that vSphere assigns its devices anew, and collect again.",
    ),
}


def find(subject: Subject) -> Iterator[Outcome]:
    """Yield cards claimed more than once; VMs that only wait for a card another holds are told one by one."""
    found = tuple(subject.said(_TWICE, _WANTED, _HELD, *_CONTRADICTIONS))
    taken = {_card(finding) for finding in found if finding.kind == _HELD}
    for finding in found:
        if finding.kind == _WANTED and _card(finding) in taken:
            continue
        kind = finding.kind
        yield hit_of(finding, key=kind, severity=_SEVERITIES.get(kind), fix=_FIXES.get(kind))


def _card(finding: Finding) -> tuple[str | None, str]:
    return finding.host, str(finding.address)


RULE = Rule(
    id="VPL041",
    name="device-claimed-twice",
    title="A card is claimed twice, or nobody can tell by whom",
    severity=Severity.WARNING,
    cause="Static devices were copied with a VM, or vCenter, the host and the VM say different things. Of "
    "VMs with the same static card one starts, and the others fail at power-on.",
    evidence="Static backings, AssignableHardwareBinding, DynamicBackingInfo.assignedId and "
    "HostGraphicsInfo.vm held against each other: a card held twice, or held by another VM than the one "
    "that wants it, is an error; wanted by several VMs that are off, or told in two ways, a warning.",
    fix="See who holds what with vplacer topology show HOST, and take the card from all VMs but one.",
    sample="its static device 0000:3b:00.0 is held by train-1: it cannot be switched on",
    find=find,
)
