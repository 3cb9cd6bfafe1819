"""Measured: too little of a VM's memory is on its home nodes."""

from __future__ import annotations

from collections.abc import Iterator

from vplacer.audit.measured_vms import measured_vms
from vplacer.audit.model import Hit, Outcome, Rule, Severity
from vplacer.audit.subject import Subject
from vplacer.inventory.finding import Certainty


def find(subject: Subject) -> Iterator[Outcome]:
    """Yield measured VMs below the threshold, and running VMs with devices that were not measured."""
    least = subject.settings.locality_percent
    for item in measured_vms(subject):
        if not isinstance(item, tuple):
            yield item
            continue
        vm, home = item
        spread = home.locality_percent
        if spread is not None and spread.median < least:
            times = "1 sample" if home.samples == 1 else f"{home.samples} samples"
            remote = "" if home.remote_mib is None else f", {home.remote_mib.median} MiB are elsewhere"
            yield Hit(
                f"{spread.median} % of its memory is on its home nodes{remote} (measured {home.at}, "
                f"{times}, {spread.low} to {spread.high} %)",
                Certainty.MEASURED,
                vm=vm.moid,
                host=vm.host,
                numbers=(("locality_percent", spread.median),),
            )


RULE = Rule(
    id="VPL003",
    name="measured-locality-low",
    title="Measured memory locality is low",
    severity=Severity.ERROR,
    cause="The host runs the VM on one node while part of its memory lies on another: after the scheduler "
    "moved it, because its node had no memory left at power-on, or because it is larger than a node.",
    evidence="esxtop's N%L, the middle of all samples, below 80 % (--locality-percent). Running VMs that "
    "were not measured are not evaluated.",
    fix="Give the VM numa.nodeAffinity on a node with enough free memory and restart it; vplacer plan places "
    "it. If its node is over-full, move other VMs off it.",
    sample="62 % of its memory is on its home nodes, 19456 MiB are elsewhere (measured "
    "2026-03-01T02:00:00Z, 3 samples, 60 to 64 %)",
    find=find,
)
