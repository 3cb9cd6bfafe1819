"""The MMIO region that the GPUs of a VM need: shared by the rules on MMIO space and firmware."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from vplacer.audit.gpu_vms import cards_of, vms_with_gpus
from vplacer.audit.subject import Subject
from vplacer.inventory.host import Host
from vplacer.inventory.vm import Vm
from vplacer.plan.mmio import bar_gib, mmio_size_gb
from vplacer.topology.claims import Claim


@dataclass(frozen=True, slots=True)
class MmioNeed:
    """``size_gb``: the region its GPUs need at least, None = a card's memory window is not known.

    ``gpus``: how many GPUs and vGPUs it has.
    """

    vm: Vm
    host: Host
    size_gb: int | None
    gpus: int


def mmio_needs(subject: Subject) -> Iterator[MmioNeed]:
    """Yield what each VM with GPUs needs; of cards it may get the one with the smallest window counts.

    A VM whose static card is another one today, or gone, is left out: what it needs is not what is there.
    """
    lost = {finding.vm for finding in subject.said("static-device-moved", "static-device-gone")}
    for vm, host, claims in vms_with_gpus(subject):
        if vm.moid in lost:
            continue
        sizes = subject.derive(_bars, host.moid)
        yield MmioNeed(vm, host, mmio_size_gb(_smallest(claim, sizes) for claim in claims), len(claims))


def _smallest(claim: Claim, bars: dict[str, int | None]) -> int | None:
    sizes: Sequence[int | None] = [bars[str(card)] for card in cards_of(claim) if str(card) in bars]
    known = [size for size in sizes if size is not None]
    return min(known) if known and len(known) == len(sizes) else None


def _bars(subject: Subject, moid: str) -> dict[str, int | None]:
    host = subject.inventory.host_by_moid[moid]
    gpus = {gpu.address for gpu in subject.topologies[moid].gpus}
    return {str(card.address): bar_gib(card) for card in host.pci_devices if card.address in gpus}
