"""A card is held by a VM that is not here, not seen, or not running."""

from __future__ import annotations

from collections.abc import Iterator

from vplacer.audit.model import Outcome, Rule, Severity
from vplacer.audit.subject import Subject
from vplacer.audit.told import hits_of

_OFF = (
    "The card is not free before the claim is gone: switch the VM on and off again, or restart the host's "
    "management agents; if it stays, reboot the host."
)
_FIXES = {
    "holder-not-on-host": "Register the VM on the host that holds its card, or release the card there: "
    "switch the VM off, and reboot the host if the claim stays.",
    "holder-not-visible": "Give the account the right to see the VM; if it is deleted, restart the host's "
    "management agents or reboot the host.",
    "holder-not-readable": "Reconnect or register the VM again, so that vCenter can read its configuration.",
    "graphics-lists-off-vm": _OFF,
    "claim-outlives-power-off": _OFF,
}
_OTHER = ("vgpu-listed-without-profile", "binding-without-device")


def find(subject: Subject) -> Iterator[Outcome]:
    """Yield cards whose holder is odd: they are not free, and nobody uses them."""
    return hits_of(subject, *_FIXES, *_OTHER, fixes=_FIXES)


RULE = Rule(
    id="VPL051",
    name="holder-odd",
    title="The holder of a card is not here, not seen, or not running",
    severity=Severity.WARNING,
    cause="A claim outlived its VM, the VM was registered elsewhere, or the account does not see it. The "
    "card is not free, and who should give it back is not plain.",
    evidence="HostGraphicsInfo.vm and AssignableHardwareBinding name a VM that is not registered on the "
    "host, is not in the inventory, does not run, or has no such device.",
    fix="Power-cycle the VM at a quiet time, so that vSphere assigns its devices anew, and collect again.",
    sample="it is powered off and still holds 0000:3b:00.0 (binding); the card is free once that is released",
    find=find,
)
