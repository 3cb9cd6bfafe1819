"""An audit as text for the terminal: findings by rule, what was not evaluated, one line of counts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from vplacer.audit.model import AuditFinding, AuditReport, Place, RuleResult, Severity, Untold
from vplacer.report.audit_document import summary
from vplacer.report.style import PLAIN, Style

_COLOURS = {Severity.ERROR: "red", Severity.WARNING: "yellow", Severity.NOTE: "cyan"}
_WIDE = ("vcenter", "datacenter")
_SHOWN = 12


def audit_text(report: AuditReport, *, details: bool = False, style: Style = PLAIN) -> str:
    """Return the report as text, ending in a newline.

    Args:
        report: the audit.
        details: what was not evaluated, and waived findings, one by one.
        style: colours.
    """
    lines = [_head(report), ""]
    lines += _missing(report)
    for result in report.rules:
        lines += _rule_lines(report, result, details, style)
    lines += _not_evaluated(report, details)
    lines.append(style.paint(last_line(report), "bold"))
    return "\n".join(lines) + "\n"


def where(places: Sequence[Place]) -> str:
    """Return a place in short: cluster, host, VM and device, without vCenter and datacenter."""
    return " / ".join(place.name for place in places if place.kind not in _WIDE) or "the vCenter"


def last_line(report: AuditReport) -> str:
    """Return the counts in one line; an audit that is incomplete never reads like a clean one."""
    counts = summary(report)
    words = [_counted(counts[word], word) for word in ("error", "warning", "note")]
    rest = f", {counts['waived']} waived" if counts["waived"] else ""
    gone = len(report.missing)
    places = "1 place" if gone == 1 else f"{gone} places"
    doubt = "" if report.complete else f" INCOMPLETE: {places} could not be read."
    partly = counts["not_evaluated"]
    unseen = f" {_counted(partly, 'rule')} not evaluated everywhere." if partly else ""
    return f"Audit: {', '.join(words)}{rest}.{unseen}{doubt}"


def _head(report: AuditReport) -> str:
    counts = report.counts
    sizes = ", ".join(
        _counted(counts[word], name)
        for word, name in (("clusters", "cluster"), ("hosts", "host"), ("vms", "VM"), ("gpus", "GPU"))
    )
    name = report.about.name or report.about.instance_uuid
    return f"vplacer audit: {name}, {sizes}, as of {report.taken_at}"


def _counted(number: int, word: str) -> str:
    return f"{number} {word}" if number == 1 else f"{number} {word}s"


def _missing(report: AuditReport) -> list[str]:
    if report.complete:
        return []
    lines = ["Not read: what is missing here may hide findings"]
    for item in report.missing[:_SHOWN]:
        who = f"{item.name} ({item.object})" if item.name else item.object
        lines.append(f"  {who}: {item.path}: {item.kind}: {item.reason}")
    if len(report.missing) > _SHOWN:
        lines.append(f"  and {len(report.missing) - _SHOWN} more")
    return [*lines, ""]


def _rule_lines(report: AuditReport, result: RuleResult, details: bool, style: Style) -> list[str]:
    found = [f for f in report.findings if f.rule == result.rule.id and (details or f.waived is None)]
    if not found:
        return []
    rule = result.rule
    lines = [style.paint(f"{rule.id} {rule.title}", "bold")]
    fixes = Counter(finding.fix for finding in found)
    for finding in found:
        lines += _finding_lines(finding, style)
        if len(fixes) > 1:
            lines.append(f"      fix: {finding.fix}")
    if len(fixes) == 1:
        lines.append(f"    fix: {next(iter(fixes))}")
    return [*lines, ""]


def _finding_lines(finding: AuditFinding, style: Style) -> list[str]:
    word = style.paint(finding.severity.value.ljust(7), _COLOURS[finding.severity])
    lines = [f"  {word} {where(finding.places)}", f"      {finding.text} [{finding.certainty.value}]"]
    if finding.line is not None:
        lines.append(f"      at {finding.line.file}:{finding.line.line}")
    if finding.owner is not None:
        lines.append(f"      not ours to change: {finding.owner}")
    if finding.first_seen is not None:
        lines.append(f"      since {finding.first_seen}")
    if finding.waived is not None:
        until = f" until {finding.waived.expires}" if finding.waived.expires else ""
        lines.append(f"      waived by {finding.waived.owner}{until}: {finding.waived.reason}")
    return lines


def _not_evaluated(report: AuditReport, details: bool) -> list[str]:
    lines: list[str] = []
    for result in report.rules:
        if not result.not_evaluated:
            continue
        lines.append(f"  {result.rule.id} {result.rule.title}")
        lines += _untold_lines(result.not_evaluated, details)
    return ["Not evaluated: no finding here does not mean that all is well", *lines, ""] if lines else []


def _untold_lines(untold: Sequence[Untold], details: bool) -> list[str]:
    if details:
        return [f"      {where(item.places)}: {item.why}" for item in untold]
    reasons: dict[str, list[str]] = {}
    for item in untold:
        reasons.setdefault(item.why, []).append(where(item.places))
    return [f"      {_some(names)}: {why}" for why, names in reasons.items()]


def _some(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{names[0]} and {len(names) - 1} more"
