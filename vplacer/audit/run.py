"""Runs rules over a subject, and makes the report."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Final

from vplacer.audit.model import (
    AuditFinding,
    AuditReport,
    Hit,
    Missing,
    NotEvaluated,
    Outcome,
    Rule,
    RuleResult,
    Untold,
)
from vplacer.audit.places import places_of, where
from vplacer.audit.subject import Subject
from vplacer.audit.waivers import waived
from vplacer.inventory.canonical import sha256_of
from vplacer.inventory.moids import moid_order
from vplacer.inventory.vcenter import Inventory

_EMPTY: Final = "no host was read: there is none, or the account sees none"


def run_audit(subject: Subject, rules: Iterable[Rule]) -> AuditReport:
    """Apply rules to a subject; its waivers hold for what they find."""
    chosen = tuple(rules)
    findings: list[AuditFinding] = []
    results: dict[str, RuleResult] = {}
    for rule in chosen:
        results[rule.id] = _apply(subject, rule, rule.find(subject), findings)
    before = tuple(findings), tuple(results[rule.id] for rule in chosen if rule.after is None)
    for rule in chosen:
        if rule.after is not None:
            results[rule.id] = _apply(subject, rule, rule.after(subject, *before), findings)
    inventory = subject.inventory
    return AuditReport(
        about=inventory.about,
        taken_at=inventory.taken_at,
        counts={
            "clusters": len(inventory.clusters),
            "hosts": len(inventory.hosts),
            "vms": sum(1 for vm in inventory.vms if not vm.template),
            "gpus": sum(len(topology.gpus) for topology in subject.topologies.values()),
        },
        findings=tuple(sorted(findings, key=_order)),
        rules=tuple(results[rule.id] for rule in chosen),
        missing=_missing(inventory),
    )


def _apply(
    subject: Subject, rule: Rule, outcomes: Iterable[Outcome], findings: list[AuditFinding]
) -> RuleResult:
    """Add what a rule found to the findings, and return what came of it."""
    found: list[AuditFinding] = []
    untold: list[Untold] = []
    for item in outcomes:
        if isinstance(item, NotEvaluated):
            places = places_of(subject.inventory, item)
            untold.append(Untold(places, item.why, item.vm, item.host, item.cluster))
        else:
            found.append(_waived(subject, _finding(subject, rule, item)))
    findings += found
    held = sum(1 for finding in found if finding.waived is not None)
    return RuleResult(rule, len(found), held, tuple(untold))


def _missing(inventory: Inventory) -> tuple[Missing, ...]:
    named = (inventory.clusters, inventory.hosts, inventory.vms, inventory.pools, inventory.datastores)
    names = {item.moid: item.name for items in named for item in items}
    found = [Missing(g.object, names.get(g.object), g.path, g.kind, g.reason) for g in inventory.gaps]
    if not inventory.hosts:
        found.append(Missing(inventory.about.instance_uuid, None, "hosts", "empty", _EMPTY))
    return tuple(found)


def _finding(subject: Subject, rule: Rule, hit: Hit) -> AuditFinding:
    inventory = subject.inventory
    host, cluster = where(inventory, hit)
    vm = inventory.vm_by_moid.get(hit.vm or "")
    owner = subject.owner(vm) if vm is not None else None
    return AuditFinding(
        rule=rule.id,
        fingerprint=_fingerprint(subject, rule, hit),
        severity=hit.severity or rule.severity,
        certainty=hit.certainty,
        text=hit.text,
        fix=hit.fix or rule.fix,
        places=places_of(inventory, hit),
        vm=hit.vm,
        host=host,
        cluster=cluster,
        device=hit.device,
        mendable=hit.mendable and owner is None,
        owner=owner,
        numbers=hit.numbers,
        line=hit.line,
    )


def _fingerprint(subject: Subject, rule: Rule, hit: Hit) -> str:
    """Name a finding by what it is about: not by its figures, nor by where a VM runs today."""
    inventory = subject.inventory
    vm = inventory.vm_by_moid.get(hit.vm or "")
    about = (vm.instance_uuid or vm.moid) if vm is not None else hit.vm or hit.host or hit.cluster or ""
    return sha256_of([inventory.about.instance_uuid, rule.id, about, hit.device or "", hit.key])[:16]


def _waived(subject: Subject, finding: AuditFinding) -> AuditFinding:
    found = waived(finding, subject.waiver_index, subject.inventory.taken_at)
    return finding if found is None else replace(finding, waived=found)


def _order(finding: AuditFinding) -> tuple[object, ...]:
    ids = (finding.cluster or "", finding.host or "", finding.vm or "")
    return (
        finding.severity.rank,
        finding.rule,
        *(moid_order(moid) for moid in ids),
        finding.device or "",
        finding.text,
        finding.fingerprint,
    )
