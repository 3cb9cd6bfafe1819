"""Passthrough of cards is enabled and waits for a reboot of the host."""

from __future__ import annotations

from collections.abc import Iterator

from vplacer.audit.model import Hit, Outcome, Rule, Severity
from vplacer.audit.subject import Subject
from vplacer.inventory.finding import Finding

REBOOT_PENDING = "reboot-pending"
_SHOWN = 8


def find(subject: Subject) -> Iterator[Outcome]:
    """Yield hosts with cards that wait for a reboot, each once; worse where a VM's static card waits."""
    waiting: dict[str, list[Finding]] = {}
    for finding in subject.said(REBOOT_PENDING):
        if finding.host is not None:
            waiting.setdefault(finding.host, []).append(finding)
    wanted: dict[str, set[str]] = {}
    for finding in subject.said("static-device-not-passed-through") if waiting else ():
        cards = {item.address for item in waiting.get(finding.host or "", ())}
        if finding.address in cards and finding.vm is not None:
            wanted.setdefault(finding.host or "", set()).add(subject.inventory.vm_by_moid[finding.vm].name)
    for host, findings in waiting.items():
        names = [str(finding.address) for finding in findings]
        more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
        verb = "is" if len(names) == 1 else "are"
        pronoun = "it" if len(names) == 1 else "them"
        vms = sorted(wanted.get(host, ()))
        also = f"; {', '.join(vms)} cannot be switched on before" if vms else ""
        yield Hit(
            f"{', '.join(names[:_SHOWN])}{more} {verb} enabled for passthrough and not active: the host "
            f"has to be rebooted before a VM can have {pronoun}{also}",
            findings[0].certainty,
            host=host,
            severity=Severity.ERROR if vms else None,
            numbers=(("devices", len(names)),),
        )


RULE = Rule(
    id="VPL037",
    name="passthrough-reboot-pending",
    title="Passthrough waits for a reboot of the host",
    severity=Severity.WARNING,
    cause="Somebody enabled passthrough of a card, and the host has not been rebooted since. Until it is, "
    "no VM can have the card, and one whose static device it is does not start.",
    evidence="HostPciPassthruInfo of a GPU or NIC: passthruEnabled without passthruActive. An error where "
    "a VM has the card as its static device, else a warning.",
    fix="Put the host into maintenance mode and reboot it; or take passthrough off these cards again, if "
    "nobody wants it (Configure, Hardware, PCI Devices).",
    sample="0000:3b:00.0 is enabled for passthrough and not active: the host has to be rebooted before a "
    "VM can have it",
    find=find,
)
