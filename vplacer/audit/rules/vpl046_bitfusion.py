"""Appliances of Bitfusion, which has ended."""

from __future__ import annotations

from collections.abc import Iterator

from vplacer.audit.held import held_cards
from vplacer.audit.model import Hit, Outcome, Rule, Severity
from vplacer.audit.subject import Subject
from vplacer.inventory.device_kind import DeviceKind
from vplacer.inventory.finding import Certainty
from vplacer.inventory.vm import Vm

_NAME = "bitfusion"


def find(subject: Subject) -> Iterator[Outcome]:
    """Yield VMs that say of themselves that they are of Bitfusion."""
    for vm in subject.inventory.vms:
        if _NAME in vm.name.lower() or vm.ownership.managed_by or vm.extra_config or vm.tags or vm.folder:
            sign = _sign(vm)
            if sign is not None:
                yield _hit(subject, vm, sign)


def _hit(subject: Subject, vm: Vm, sign: str) -> Hit:
    gpus = len(held_cards(subject, vm, DeviceKind.GPU))
    holds = ""
    if gpus:
        holds = f", and holds {gpus} GPU{'s' if gpus > 1 else ''} for clients elsewhere"
    return Hit(
        f"{sign} names Bitfusion{holds}: the product has ended",
        Certainty.LIKELY,
        vm=vm.moid,
        host=vm.host,
        numbers=(("gpus", gpus),),
    )


def _sign(vm: Vm) -> str | None:
    """Return what of a VM names the product."""
    if _NAME in (vm.ownership.managed_by or "").lower():
        return f"its owner {vm.ownership.managed_by}"
    if _NAME in vm.name.lower():
        return "its name"
    for key, value in vm.extra_config:
        if _NAME in key.lower() or _NAME in value.lower():
            return f"its setting {key}"
    if any(_NAME in tag.lower() for tag in vm.tags):
        return "a tag of it"
    if _NAME in vm.folder.lower():
        return f"its folder {vm.folder}"
    return None


RULE = Rule(
    id="VPL046",
    name="bitfusion",
    title="Bitfusion appliance",
    severity=Severity.WARNING,
    cause="vSphere Bitfusion lent GPUs over the network to VMs without one. VMware ended it; no release of "
    "it supports current drivers, and what its servers hold is lost to everybody else.",
    evidence="The VM's name, folder, tags, managedBy or kept advanced settings name the product: what the "
    "OVA and the plug-in set by default. Names are chosen by people, so it is likely and no more.",
    fix="Move its clients to vGPUs, MIG or DirectPath I/O of their own, then remove the appliance: its "
    "GPUs are free after that.",
    sample="its name names Bitfusion, and holds 4 GPUs for clients elsewhere: the product has ended",
    find=find,
)
