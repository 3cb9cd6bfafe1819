"""A label stands for different NUMA nodes on different hosts."""

from __future__ import annotations

from collections.abc import Iterator

from vplacer.audit.labels import LabelScope, PlacedCard, label_scopes, nodes_by_host
from vplacer.audit.model import Hit, NotEvaluated, Outcome, Rule, Severity
from vplacer.audit.subject import Subject
from vplacer.audit.words import counted, listed
from vplacer.inventory.finding import Certainty


def find(subject: Subject) -> Iterator[Outcome]:
    """Yield labels of a cluster that carry no node number with them although VMs, or hosts, rely on it."""
    for scope in label_scopes(subject):
        for label, cards in scope.by_label.items():
            yield from _label(scope, label, cards)


def _label(scope: LabelScope, label: str, cards: tuple[PlacedCard, ...]) -> Iterator[Outcome]:
    nodes = {placed.node for placed in cards}
    known = sorted(node for node in nodes if node is not None)
    bound = sorted({named.vm.name for named in scope.named.get(label, ()) if named.vm.node_affinity})
    if len(known) < 2:
        if None in nodes and bound:
            hosts = listed(sorted({placed.host.name for placed in cards if placed.node is None}))
            why = f"on which pNUMA node the cards of the label '{label}' are is not known on {hosts}"
            yield NotEvaluated(why, host=scope.host, cluster=scope.cluster)
        return
    by_host = nodes_by_host(cards)
    one_each = all(len(found) == 1 for found in by_host.values())
    if not bound and not one_each:
        return  # a label for a model, say: it stands for no node, and nobody takes it for one
    names = {placed.host.moid: placed.host.name for placed in cards}
    told = "; ".join(
        f"pNUMA {node} on {listed(names[host] for host, found in by_host.items() if node in found)}"
        for node in known
    )
    yield Hit(
        f"the label '{label}' is {told}{_who(bound)}",
        Certainty.PROVED,
        host=scope.host,
        cluster=scope.cluster,
        key=label,
        severity=None if bound else Severity.NOTE,
        numbers=(("nodes", len(known)), ("vms", len(bound))),
    )


def _who(bound: list[str]) -> str:
    if not bound:
        return ""
    verb = "asks" if len(bound) == 1 else "ask"
    return f", and {counted(len(bound), 'VM')} bound to a node {verb} for it: {listed(bound)}"


RULE = Rule(
    id="VPL035",
    name="label-not-portable",
    title="Hardware label not portable within its cluster",
    severity=Severity.WARNING,
    cause="A label fixes the card, numa.nodeAffinity the node of vCPUs and memory, by a number. If the "
    "label stands for node 0 on one host and node 1 on another, a VM that DRS or HA starts on the other "
    "host is far from its card, and nothing says so.",
    evidence="HostPciPassthruInfo.hardwareLabel of a cluster's cards, and the pNUMA nodes these are on. A "
    "warning where a VM with numa.nodeAffinity asks for the label, else a note; a label on several nodes "
    "of one host that no such VM asks for is none.",
    fix="vplacer labels plan --cluster NAME --replace gives each node number a label of its own on all "
    "hosts.",
    sample="the label 'gpu' is pNUMA 0 on esx01, esx02; pNUMA 1 on esx03, and 2 VMs bound to a node ask "
    "for it: train-1, train-2",
    find=find,
)
