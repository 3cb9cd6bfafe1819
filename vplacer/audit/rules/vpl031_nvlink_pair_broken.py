"""A VM with one GPU has half an NVLink pair."""

from __future__ import annotations

from collections.abc import Iterator

from vplacer.audit.gpu_sets import GpuSet, free_cards, gpu_sets, others
from vplacer.audit.model import Hit, NotEvaluated, Outcome, Rule, Severity
from vplacer.audit.subject import Subject
from vplacer.inventory.pci import PciAddress
from vplacer.topology.host_topology import HostTopology


def find(subject: Subject) -> Iterator[Outcome]:
    """Yield VMs with one whole GPU of a pair whose other half is free."""
    untold: dict[str, None] = {}
    for found in gpu_sets(subject):
        topology = subject.topologies[found.host.moid]
        if len(found.cards) != 1 or not found.whole or topology.nvswitch:
            continue
        card = found.cards[0]
        pairs = _pairs(topology)
        partner = pairs.get(card)
        if partner is not None and partner in free_cards(subject, found.host):
            yield _hit(found, partner, _singles(subject, found, pairs))
        elif partner is None and None in _lanes(topology, card):
            untold[found.host.moid] = None
    for host in untold:
        yield NotEvaluated("which of its GPUs NVLink joins is not known: an overlay would tell", host=host)


def _lanes(topology: HostTopology, card: PciAddress) -> list[int | None]:
    return [topology.lanes(card, gpu.address) for gpu in topology.gpus if gpu.address != card]


def _pairs(topology: HostTopology) -> dict[PciAddress, PciAddress]:
    """Return the partner of each GPU that NVLink joins to one other and no more."""
    seen: dict[PciAddress, set[PciAddress]] = {}
    for link in topology.links:
        if link.lanes > 0:
            seen.setdefault(link.a, set()).add(link.b)
            seen.setdefault(link.b, set()).add(link.a)
    return {
        card: next(iter(near))
        for card, near in seen.items()
        if len(near) == 1 and seen[next(iter(near))] == {card}
    }


def _singles(subject: Subject, found: GpuSet, pairs: dict[PciAddress, PciAddress]) -> list[PciAddress]:
    """Return free cards it could have instead that break no pair: they have no partner, or it is held."""
    topology, free = subject.topologies[found.host.moid], free_cards(subject, found.host)
    return [
        card
        for card in others(subject, found)
        if (pairs[card] not in free if card in pairs else set(_lanes(topology, card)) <= {0})
        and pairs.get(card) != found.cards[0]
    ]


def _hit(found: GpuSet, partner: PciAddress, singles: list[PciAddress]) -> Hit:
    card = found.cards[0]
    told = f"its {found.model} {card} is half of an NVLink pair, and the other half {partner} is free"
    if singles:
        text = f"{told}, while {singles[0]}, which would break no pair, is free as well"
        severity = Severity.WARNING
    else:
        text = f"{told}: a VM that wants the pair cannot have it"
        severity = Severity.NOTE
    return Hit(
        text,
        found.certainty,
        vm=found.vm.moid,
        host=found.host.moid,
        device=str(card),
        severity=severity,
        fix=None
        if singles
        else "Nothing, as long as nobody wants the pair: give the other half to the next VM of one GPU.",
    )


RULE = Rule(
    id="VPL031",
    name="nvlink-pair-broken",
    title="NVLink pair broken by a VM with one GPU",
    severity=Severity.WARNING,
    cause="A VM that needs one GPU took one of two that an NVLink bridge joins. The next VM that wants two "
    "gets cards that are not joined, or none.",
    evidence="NVLinks from an overlay or the hardware catalogue, who holds what, and which GPUs are "
    "certainly free. A warning where a free GPU of the model without a free partner would have served as "
    "well, else a note.",
    fix="Move the VM to the single card at its next power cycle; labels by pair (vplacer labels plan "
    "--scheme pair) keep single VMs off whole pairs.",
    sample="its A30 0000:17:00.0 is half of an NVLink pair, and the other half 0000:18:00.0 is free, while "
    "0000:ca:00.0, which would break no pair, is free as well",
    find=find,
)
