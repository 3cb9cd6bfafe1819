"""The 64-bit MMIO region of a VM is too small for its GPUs."""

from __future__ import annotations

from collections.abc import Iterator

from vplacer.audit.mmio_need import MmioNeed, mmio_needs
from vplacer.audit.model import Hit, NotEvaluated, Outcome, Rule, Severity
from vplacer.audit.subject import Subject
from vplacer.inventory.finding import Certainty
from vplacer.inventory.vm import Vm
from vplacer.plan.mmio import DEFAULT_GB, SIZE_GB, USE_64BIT
from vplacer.plan.settings import EFI, is_true


def find(subject: Subject) -> Iterator[Outcome]:
    """Yield VMs whose GPUs need more than they have; those of other firmware are left to its rule."""
    for need in mmio_needs(subject):
        vm = need.vm
        if need.size_gb is None:
            yield NotEvaluated("the size of the memory window of one of its GPUs is not known", vm=vm.moid)
        elif vm.firmware in (None, EFI):
            text = _fault(vm, need)
            if text is not None:
                yield Hit(
                    text,
                    Certainty.LIKELY,
                    vm=vm.moid,
                    host=vm.host,
                    fix=f"Power the VM off and set {USE_64BIT} = TRUE and {SIZE_GB} = {need.size_gb} "
                    "(extraConfig); vplacer plan writes both.",
                    numbers=(("needs_gb", need.size_gb),),
                )


def _fault(vm: Vm, need: MmioNeed) -> str | None:
    size = need.size_gb or 0
    gpus = "its GPU needs" if need.gpus == 1 else f"its {need.gpus} GPUs need"
    text = vm.extra(SIZE_GB)
    if text is None:
        if size <= DEFAULT_GB:
            return None
        return f"{gpus} {size} GB of MMIO space, and {SIZE_GB} is not set: it has {DEFAULT_GB}"
    if not text.isdigit():
        return f"{gpus} {size} GB of MMIO space, and {SIZE_GB} is '{text}', which is no number"
    if int(text) < size:
        return f"{gpus} {size} GB of MMIO space, and {SIZE_GB} is {text}"
    if size > DEFAULT_GB and not is_true(vm.extra(USE_64BIT)):
        return f"{gpus} {size} GB of MMIO space, and {USE_64BIT} is not TRUE: {SIZE_GB} alone does nothing"
    return None


RULE = Rule(
    id="VPL018",
    name="mmio-too-small",
    title="MMIO space is too small for the GPUs",
    severity=Severity.WARNING,
    cause="A GPU maps its memory into the VM's address space above 4 GB. A VM has 32 GB for that unless it "
    "is told otherwise; where that is too little the VM does not start, or the guest's driver does not find "
    "the GPU (Broadcom KB 323402).",
    evidence="The sum of the BAR sizes of the VM's GPUs (catalogue, else the card's memory rounded up to a "
    "power of two), and of that the next power of two above, against pciPassthru.64bitMMIOSizeGB, which "
    "counts with pciPassthru.use64bitMMIO = TRUE only. For passthrough and vGPU alike. Likely: the rule "
    "gives every published figure, and is written down nowhere.",
    fix="Power the VM off and set pciPassthru.use64bitMMIO = TRUE and pciPassthru.64bitMMIOSizeGB to the "
    "figure named (extraConfig); vplacer plan writes both.",
    sample="its 2 GPUs need 128 GB of MMIO space, and pciPassthru.64bitMMIOSizeGB is 64",
    find=find,
)
