"""Cards that are not on the NUMA nodes their VM is bound to: shared by the rules on GPUs and NICs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from vplacer.audit.faults import faults
from vplacer.audit.held import OpenDevice, held_cards, open_devices
from vplacer.audit.model import Hit, NotEvaluated, Outcome, Severity
from vplacer.audit.subject import Subject
from vplacer.constraints.locality import card_relation
from vplacer.constraints.nearness import LOCALITY
from vplacer.inventory.device_kind import DeviceKind
from vplacer.inventory.finding import Certainty
from vplacer.inventory.vm import Vm
from vplacer.topology.host_topology import HostTopology
from vplacer.topology.levels import NumaRelation
from vplacer.topology.values import DeviceTopology

FAR_WORDS: Final = {
    NumaRelation.OTHER_SOCKET: "on another socket",
    NumaRelation.SAME_SOCKET: "on another node of the same socket",
}


def remote_cards(subject: Subject, kind: DeviceKind) -> Iterator[Outcome]:
    """Yield each card of a kind that is not on a node its VM is bound to, and what cannot be told.

    Where the card is now counts, whoever chose it. On another socket it is an error, on another node of
    the same socket a warning. What the judge faults too, repair can be asked to mend.
    """
    mendable = {vm.moid for vm, fault in faults(subject, LOCALITY) if fault.evidence.startswith(kind.value)}
    for vm, _host, _topology in subject.placed:
        if vm.is_on and vm.node_affinity:
            yield from _of_vm(subject, vm, kind, vm.moid in mendable)


def _of_vm(subject: Subject, vm: Vm, kind: DeviceKind, mendable: bool) -> Iterator[Outcome]:
    topology = subject.topologies[vm.host or ""]
    bound = ", ".join(f"pNUMA {node}" for node in vm.node_affinity)
    for held in held_cards(subject, vm, kind):
        relation = card_relation(topology, held.card.address, vm.node_affinity)
        node = topology.cpu_node_for(held.card.address)
        if relation is NumaRelation.UNKNOWN or node is None:
            yield NotEvaluated(f"on which pNUMA node its {held.name} is, is not known", vm=vm.moid)
        elif relation is not NumaRelation.SAME_NODE:
            far = relation is NumaRelation.OTHER_SOCKET
            yield Hit(
                f"{held.name} is on pNUMA {node}, {FAR_WORDS[relation]}: the VM is bound to {bound}",
                held.certainty,
                vm=vm.moid,
                host=vm.host,
                device=str(held.card.address),
                severity=Severity.ERROR if far else Severity.WARNING,
                mendable=mendable,
                numbers=(("device_node", node),),
            )
    for device in open_devices(subject, vm, kind):
        yield from _of_open(topology, vm, kind, device, bound)


def _of_open(
    topology: HostTopology, vm: Vm, kind: DeviceKind, device: OpenDevice, bound: str
) -> Iterator[Outcome]:
    relation = relation_of_all(topology, device.cards, vm.node_affinity)
    if relation is NumaRelation.UNKNOWN:
        which = device.label or f"one {kind.name}"
        yield NotEvaluated(f"which card its {which} is, is not known", vm=vm.moid)
    elif relation is not NumaRelation.SAME_NODE:
        far = relation is NumaRelation.OTHER_SOCKET
        yield Hit(
            f"whichever of {len(device.cards)} cards its {device.label or kind.name} is, it is "
            f"{FAR_WORDS[relation]}: the VM is bound to {bound}",
            Certainty.PROVED,
            vm=vm.moid,
            host=vm.host,
            device=device.label,
            severity=Severity.ERROR if far else Severity.WARNING,
        )


def relation_of_all(
    topology: HostTopology, cards: Sequence[DeviceTopology], nodes: Sequence[int]
) -> NumaRelation:
    """Return how near a device is to some nodes, whichever of several cards it is.

    SAME_NODE where all are; the nearest relation where none is; UNKNOWN where that depends on the card, and
    where a card's node is not known.
    """
    relations = {card_relation(topology, card.address, nodes) for card in cards}
    if not relations or NumaRelation.UNKNOWN in relations:
        return NumaRelation.UNKNOWN
    if NumaRelation.SAME_NODE in relations:
        return NumaRelation.SAME_NODE if len(relations) == 1 else NumaRelation.UNKNOWN
    return NumaRelation.SAME_SOCKET if NumaRelation.SAME_SOCKET in relations else NumaRelation.OTHER_SOCKET
