"""A card has no label where others have; a VM bound to a node names none."""

from __future__ import annotations

from collections.abc import Iterator

from vplacer.audit.labels import LabelScope, PlacedCard, label_scopes
from vplacer.audit.model import Hit, NotEvaluated, Outcome, Rule, Severity
from vplacer.audit.subject import Subject
from vplacer.audit.words import listed
from vplacer.inventory.finding import Certainty
from vplacer.inventory.vm import DynamicBacking, Vm
from vplacer.topology.backing_cards import matching_cards

_VM_FIX = (
    "Label the cards by node (vplacer labels plan), and let vplacer plan give the VM's devices the label "
    "of its node."
)
_UNKNOWN = "Find out their pNUMA node first (vplacer topology import, or --esxcli); then vplacer labels plan."


def find(subject: Subject) -> Iterator[Outcome]:
    """Yield hosts with cards without a label, and VMs whose side is fixed while their card's is not."""
    for scope in label_scopes(subject):
        yield from _cards(scope)
    for vm, _host, _topology in subject.placed:
        unlabelled = [
            d.backing for d in vm.devices if isinstance(d.backing, DynamicBacking) and not d.backing.label
        ]
        if unlabelled and vm.node_affinity:
            yield from _vm(subject, vm, unlabelled)


def _cards(scope: LabelScope) -> Iterator[Hit]:
    kinds = {_kind(placed) for cards in scope.by_label.values() for placed in cards}
    without: dict[str, list[PlacedCard]] = {}
    for placed in scope.cards:
        if placed.card.passthrough and not placed.card.label and _kind(placed) in kinds:
            without.setdefault(placed.host.moid, []).append(placed)
    for host, cards in without.items():
        refuses = cards[0].host.capability.assign_label is False
        unknown = all(placed.node is None for placed in cards)
        names = listed(f"{placed.card.model} {placed.card.address}" for placed in cards)
        verb = "has" if len(cards) == 1 else "have"
        where = "its cluster" if scope.cluster is not None else "the host"
        yield Hit(
            f"{names} {verb} no hardware label, and others of the same model in {where} have: a VM that asks "
            "for a label does not get what has none, and one that asks for none may get it on any node",
            Certainty.PROVED,
            host=host,
            severity=Severity.NOTE if refuses or unknown else None,
            fix="This host takes no labels (capability assignHwPciConfigSupported): update it, or keep VMs "
            "with labels on the others."
            if refuses
            else (_UNKNOWN if unknown else None),
            numbers=(("cards", len(cards)),),
        )


def _kind(placed: PlacedCard) -> tuple[str, str]:
    return placed.card.kind, placed.card.model


def _vm(subject: Subject, vm: Vm, unlabelled: list[DynamicBacking]) -> Iterator[Outcome]:
    host = subject.inventory.host_by_moid[vm.host or ""]
    topology, cards = subject.topologies[host.moid], subject.cards(host)
    far: set[int] = set()
    unknown = False
    for backing in unlabelled:
        nodes = {topology.cpu_node_for(address) for address in matching_cards(backing, cards)}
        unknown = unknown or None in nodes
        far |= {node for node in nodes if node is not None and node not in vm.node_affinity}
    if far:
        bound = ", ".join(f"pNUMA {node}" for node in vm.node_affinity)
        others = ", ".join(f"pNUMA {node}" for node in sorted(far))
        yield Hit(
            f"it is bound to {bound}, and no label says which card it gets: at each power-on it may be one "
            "on "
            f"{others}",
            Certainty.PROVED,
            vm=vm.moid,
            host=vm.host,
            fix=_VM_FIX,
        )
    elif unknown:
        yield NotEvaluated("the pNUMA nodes of the cards it may get are not known", vm=vm.moid)


RULE = Rule(
    id="VPL033",
    name="label-missing",
    title="Hardware label missing",
    severity=Severity.WARNING,
    cause="Without a label, vSphere chooses any card of the model at power-on. A VM bound to a node by "
    "numa.nodeAffinity may then get a card of another node; a card without a label is missing to the VMs "
    "that ask for one.",
    evidence="HostPciPassthruInfo.hardwareLabel of cards that VMs can have whole, beside those of the same "
    "model in the cluster; Dynamic DirectPath devices without customLabel of VMs with numa.nodeAffinity, "
    "and the nodes of the cards they allow. A note where the host takes no labels, or the node of the card "
    "is not known.",
    fix="vplacer labels plan --cluster NAME shows which label each card should have, vplacer labels apply "
    "sets them.",
    sample="it is bound to pNUMA 0, and no label says which card it gets: at each power-on it may be one "
    "on pNUMA 1",
    find=find,
)
