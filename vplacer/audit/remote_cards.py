"""Cards that are not on the NUMA nodes their VM is bound to: shared by the rules on GPUs and NICs."""

from __future__ import annotations

from collections.abc import Iterator

from vplacer.audit.faults import faults
from vplacer.audit.held import held_cards, unknown_cards
from vplacer.audit.model import Hit, NotEvaluated, Outcome, Severity
from vplacer.audit.subject import Subject
from vplacer.constraints.locality import card_relation
from vplacer.constraints.nearness import LOCALITY
from vplacer.inventory.device_kind import DeviceKind
from vplacer.inventory.vm import Vm
from vplacer.topology.levels import NumaRelation

_WORDS = {
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
                f"{held.name} is on pNUMA {node}, {_WORDS[relation]}: the VM is bound to {bound}",
                held.certainty,
                vm=vm.moid,
                host=vm.host,
                device=str(held.card.address),
                severity=Severity.ERROR if far else Severity.WARNING,
                mendable=mendable,
                numbers=(("device_node", node),),
            )
    untold = unknown_cards(subject, vm, kind)
    if untold:
        yield NotEvaluated(f"which {kind.name} it holds is not known ({untold} devices)", vm=vm.moid)
