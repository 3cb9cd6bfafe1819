"""A VM with GPUs of large BARs has BIOS firmware."""

from __future__ import annotations

from collections.abc import Iterator

from vplacer.audit.mmio_need import mmio_needs
from vplacer.audit.model import Hit, NotEvaluated, Outcome, Rule, Severity
from vplacer.audit.subject import Subject
from vplacer.inventory.finding import Certainty
from vplacer.plan.mmio import DEFAULT_GB
from vplacer.plan.settings import EFI


def find(subject: Subject) -> Iterator[Outcome]:
    """Yield VMs whose GPUs need more than the default MMIO region, with a firmware other than EFI."""
    for need in mmio_needs(subject):
        vm = need.vm
        if need.size_gb is None or need.size_gb <= DEFAULT_GB or vm.firmware == EFI:
            continue  # what is not known is told by the rule on MMIO space
        if vm.firmware is None:
            yield NotEvaluated("its firmware was not told", vm=vm.moid)
            continue
        gpus = "its GPU needs" if need.gpus == 1 else f"its {need.gpus} GPUs need"
        yield Hit(
            f"its firmware is {vm.firmware}, and {gpus} {need.size_gb} GB of MMIO space: that takes EFI",
            Certainty.LIKELY,
            vm=vm.moid,
            host=vm.host,
            numbers=(("needs_gb", need.size_gb),),
        )


RULE = Rule(
    id="VPL019",
    name="bios-firmware",
    title="BIOS firmware with GPUs of large memory windows",
    severity=Severity.WARNING,
    cause="BIOS firmware cannot map devices above 4 GB: GPUs with large BARs are not usable, or the VM does "
    "not start with them. The NUMA node of a device cannot be told to the guest either.",
    evidence="config.firmware is not efi, and the VM's GPUs need more MMIO space than the 32 GB a VM has by "
    "default (see mmio-too-small).",
    fix="A guest installed under BIOS does not boot under EFI: set up a VM with EFI firmware and move the "
    "work there. vplacer never changes the firmware.",
    sample="its firmware is bios, and its GPU needs 64 GB of MMIO space: that takes EFI",
    find=find,
)
