"""A VM names a label that no card has; a card has a label that nobody asks for."""

from __future__ import annotations

from collections.abc import Iterator
from difflib import get_close_matches

from vplacer.audit.labels import LabelScope, Named, PlacedCard, label_scopes
from vplacer.audit.model import Hit, NotEvaluated, Outcome, Rule, Severity
from vplacer.audit.subject import Subject
from vplacer.audit.words import counted, listed
from vplacer.inventory.finding import Certainty

_RELABEL = (
    "Give these cards the label of the others (vplacer labels plan --replace shows what that comes to)."
)


def find(subject: Subject) -> Iterator[Outcome]:
    """Yield VMs that name a label in vain, and labels left over on some hosts."""
    for scope in label_scopes(subject):
        for label, named in scope.named.items():
            for item in named:
                if not any(placed.card.passthrough for placed in scope.fitting(item)):
                    yield _in_vain(scope, label, item)
        yield from _left_over(subject, scope)


def _in_vain(scope: LabelScope, label: str, named: Named) -> Outcome:
    vm = named.vm
    where = "its cluster" if scope.cluster is not None else "its host"
    if scope.unread:
        hosts = listed(host.name for host in scope.unread)
        why = f"no card that is known has the label '{label}', and the cards of {hosts} are not known"
        return NotEvaluated(why, vm=vm.moid)
    cards = scope.by_label.get(label, ())
    told = f"it asks for the label '{label}', which no card of {where} has"
    if cards:
        models = listed(sorted({placed.card.model for placed in cards}))
        told = f"it asks for the label '{label}', which only {models} has, and its device does not allow that"
    if scope.fitting(named):
        told = f"it asks for the label '{label}', and no card of {where} that has it is passed through now"
    end = "it will not start again"
    if vm.template:
        end = "VMs made from it will not start"
    elif not vm.is_on:
        end = "it cannot be switched on"
    near = get_close_matches(label, sorted(scope.by_label), n=1)
    return Hit(
        f"{told}: {end}",
        Certainty.PROVED,
        vm=vm.moid,
        host=vm.host,
        key=label,
        severity=None if vm.is_on or vm.template else Severity.ERROR,
        fix=f"Ask for '{near[0]}', if that is what is meant, or give a card the label '{label}'."
        if near and not cards
        else None,
    )


def _left_over(subject: Subject, scope: LabelScope) -> Iterator[Hit]:
    """A label that nobody names, in the place of one that VMs name and that the host has not."""
    certainty = Certainty.LIKELY if subject.inventory.gaps else Certainty.PROVED
    homes = {label: {card.host.moid for card in cards} for label, cards in scope.by_label.items()}
    for label, cards in scope.by_label.items():
        if label in scope.named:
            continue
        like = {_like(placed) for placed in cards}
        instead = [
            other
            for other in scope.by_label
            if other in scope.named
            and homes[label].isdisjoint(homes[other])
            and like & {_like(placed) for placed in scope.by_label[other]}
        ]
        if not instead:
            continue
        asking = len({named.vm.moid for named in scope.named[instead[0]]})
        verb = "asks" if asking == 1 else "ask"
        names = listed(sorted({placed.host.name for placed in cards}))
        yield Hit(
            f"the label '{label}' on {names} is named by no VM; like cards of other hosts are called "
            f"'{instead[0]}', and the {counted(asking, 'VM')} that {verb} for it cannot run there",
            certainty,
            cluster=scope.cluster,
            host=scope.host,
            key=label,
            fix=_RELABEL,
        )


def _like(placed: PlacedCard) -> tuple[str, str, int | None]:
    return placed.card.kind, placed.card.model, placed.node


RULE = Rule(
    id="VPL034",
    name="label-stale",
    title="Hardware label that leads nowhere",
    severity=Severity.WARNING,
    cause="Cards were labelled anew and a VM still asks for the old label: it does not start. Or a host "
    "kept its old labels, and no VM can go there.",
    evidence="customLabel of the VMs' Dynamic DirectPath devices (vSphere API: "
    "VirtualPCIPassthroughDynamicBackingInfo), held against HostPciPassthruInfo.hardwareLabel and "
    "passthruActive of the cluster's cards. A VM that is off and cannot start is an error. A label that "
    "nobody names is a finding only if like cards of other hosts have one that VMs name.",
    fix="Give a card that label (vplacer labels plan), or let the VM ask for one that there is: remove its "
    "PCI device and add it again with the right label, while it is off.",
    sample="it asks for the label 'gpu-n0', which no card of its cluster has: it cannot be switched on",
    find=find,
)
