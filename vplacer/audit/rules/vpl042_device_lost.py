"""A VM names a device that its host does not have, or does not give: it will not start."""

from __future__ import annotations

from collections.abc import Iterator

from vplacer.audit.model import Outcome, Rule, Severity
from vplacer.audit.subject import Subject
from vplacer.audit.told import hit_of

_NOT_GIVEN = "static-device-not-passed-through"
_ID = "Remove the device from the VM and add it again: vSphere then stores the id as it reads it."
_FIXES = {
    "static-device-moved": "Remove the device from the VM and add the card at its present address; Dynamic "
    "DirectPath I/O with a hardware label follows cards that move.",
    "static-device-gone": "Remove the device from the VM, and give it a card that is there, or Dynamic "
    "DirectPath I/O; look after the card that is missing.",
    "static-id-decimal": _ID,
    "static-id-unreadable": _ID,
    "static-system-id-differs": "The VM was registered on another host: remove the device and add it again "
    "on this one.",
    _NOT_GIVEN: "Enable passthrough of the card (Configure, Hardware, PCI Devices), and reboot the host if "
    "asked to.",
}
_ASSIGNED = ("binding-names-absent-device", "assigned-id-names-absent-device")


def find(subject: Subject) -> Iterator[Outcome]:
    """Yield devices that are lost. A card that only waits for a reboot is told with its host."""
    pending = {(f.host, f.address) for f in subject.said("reboot-pending")}
    for finding in subject.said(*_FIXES, *_ASSIGNED):
        if finding.kind == _NOT_GIVEN and (finding.host, finding.address) in pending:
            continue
        yield hit_of(finding, key=finding.kind, fix=_FIXES.get(finding.kind))


RULE = Rule(
    id="VPL042",
    name="device-lost",
    title="A device of the VM is lost",
    severity=Severity.ERROR,
    cause="A static device names one card by address and ids. After a card was swapped or moved, a "
    "firmware update renumbered the buses, the VM was registered on another host, or a tool wrote the id "
    "in decimal, that card is not found, and power-on fails.",
    evidence="Address, ids and system id of the static backing, held against the host's PCI devices and "
    "their passthrough (vSphere API: VirtualPCIPassthroughDeviceBackingInfo, HostPciPassthruInfo); what a "
    "binding or an assigned id names and the host has not (govmomi #2248, xcp-ng/xcp #412).",
    fix="Power-cycle the VM at a quiet time, so that vSphere assigns its devices anew; if its card is gone "
    "from the host, look after the card.",
    sample="its static device names 10de:20b7 at 0000:3b:00.0, where the host has nothing; a device of "
    "these ids is at 0000:3c:00.0 now",
    find=find,
)
