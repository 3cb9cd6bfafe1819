"""An audit as plain data: what the JSON format is, and what other formats are made from."""

from __future__ import annotations

from typing import Any, Final

from vplacer.audit.model import AuditFinding, AuditReport, Gone, Place, Rule, RuleResult

FORMAT: Final = "vplacer-audit"
FORMAT_VERSION: Final = 1


def audit_document(report: AuditReport) -> dict[str, Any]:
    """Return the report as JSON values; the same report gives the same document."""
    about = report.about
    return {
        "format": FORMAT,
        "format_version": FORMAT_VERSION,
        "vcenter": {
            "name": about.name,
            "instance_uuid": about.instance_uuid,
            "version": about.version,
            "api_version": about.api_version,
        },
        "taken_at": report.taken_at,
        "complete": report.complete,
        "compared_with": report.compared_with,
        "counts": dict(report.counts),
        "summary": summary(report),
        "findings": [finding_document(finding, report) for finding in report.findings],
        "gone": [_gone(gone) for gone in report.gone],
        "rules": [_result(result) for result in report.rules],
        "missing": [
            {
                "object": item.object,
                "name": item.name,
                "path": item.path,
                "kind": item.kind,
                "reason": item.reason,
            }
            for item in report.missing
        ],
    }


def summary(report: AuditReport) -> dict[str, int]:
    """Return the numbers of findings that no waiver holds for, by severity, and of those waived."""
    counts = {"error": 0, "warning": 0, "note": 0, "waived": 0}
    for finding in report.findings:
        counts["waived" if finding.waived is not None else finding.severity.value] += 1
    counts["not_evaluated"] = sum(1 for result in report.rules if result.not_evaluated)
    return counts


def finding_document(finding: AuditFinding, report: AuditReport) -> dict[str, Any]:
    """Return one finding as JSON values."""
    return {
        "rule": finding.rule,
        "name": report.rule_of(finding).name,
        "fingerprint": finding.fingerprint,
        "severity": finding.severity.value,
        "confidence": finding.certainty.value,
        "text": finding.text,
        "fix": finding.fix,
        "places": places_document(finding.places),
        "vm": finding.vm,
        "host": finding.host,
        "cluster": finding.cluster,
        "device": finding.device,
        "mendable": finding.mendable,
        "owner": finding.owner,
        "waived": None
        if finding.waived is None
        else {
            "reason": finding.waived.reason,
            "owner": finding.waived.owner,
            "expires": finding.waived.expires,
        },
        "first_seen": finding.first_seen,
        "new": finding.new,
        "line": None if finding.line is None else {"file": finding.line.file, "line": finding.line.line},
        "numbers": dict(finding.numbers),
    }


def _gone(gone: Gone) -> dict[str, Any]:
    return {
        "rule": gone.rule,
        "name": gone.name,
        "fingerprint": gone.fingerprint,
        "severity": gone.severity.value,
        "text": gone.text,
        "places": places_document(gone.places),
        "first_seen": gone.first_seen,
        "last_seen": gone.last_seen,
    }


def rule_document(rule: Rule) -> dict[str, Any]:
    """Return what a rule is as JSON values."""
    return {
        "id": rule.id,
        "name": rule.name,
        "title": rule.title,
        "severity": rule.severity.value,
        "cause": rule.cause,
        "evidence": rule.evidence,
        "fix": rule.fix,
        "sample": rule.sample,
    }


def places_document(places: tuple[Place, ...]) -> list[dict[str, str]]:
    """Return the way to an object as JSON values."""
    return [{"kind": place.kind, "name": place.name} for place in places]


def _result(result: RuleResult) -> dict[str, Any]:
    return {
        "id": result.rule.id,
        "name": result.rule.name,
        "title": result.rule.title,
        "found": result.found,
        "waived": result.waived,
        "not_evaluated": [
            {"places": places_document(item.places), "why": item.why} for item in result.not_evaluated
        ],
    }
