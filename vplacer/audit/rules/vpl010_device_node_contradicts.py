"""The vNUMA node that a device is told contradicts where the device is."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from vplacer.audit.hidden_vnuma import hidden_by_hot_add
from vplacer.audit.model import Outcome, Rule, Severity
from vplacer.audit.subject import Subject
from vplacer.audit.told import hits_of

_KINDS = ("device-told-near-is-far", "device-vnuma-node-differs", "device-vnuma-node-absent")


def find(subject: Subject) -> Iterator[Outcome]:
    """Yield devices whose told node is wrong.

    Where CPU hot add, or a guest that sees one node, is the reason, the rules on those tell it.
    """
    told = hidden_by_hot_add(subject) | {f.vm for f in subject.said("guest-sees-one-node")}
    for hit in hits_of(subject, *_KINDS):
        if hit.key != "device-vnuma-node-absent" or hit.vm not in told:
            # Where the card is not known, the device goes by its label, which the text begins with.
            yield replace(hit, device=hit.device or hit.text.partition(" is told ")[0])


RULE = Rule(
    id="VPL010",
    name="device-node-contradicts",
    title="Device is told a wrong vNUMA node",
    severity=Severity.WARNING,
    cause="VirtualDevice.numaNode tells the guest where a device is and moves nothing. Told wrong, the guest "
    "puts threads, memory and interrupts on the node that is far from the device, on purpose.",
    evidence="numaNode of each device against the pNUMA node of its card and the nodes that the VM is bound "
    "to: the card is on none of them; another vNUMA node stands for its pNUMA node (vNUMA nodes are taken "
    "to follow the bound nodes in order: likely); or the guest has no such vNUMA node. Unset and negative "
    "mean that nothing is told, and are no finding.",
    fix="Power the VM off and set the device's NUMA node to the vNUMA node of its card, or to -1 (none): "
    "vplacer plan writes it with the placement.",
    sample="PCI device 1 is told to be on vNUMA 0; its card is on pNUMA 1, and the VM is bound to pNUMA 0",
    find=find,
)
