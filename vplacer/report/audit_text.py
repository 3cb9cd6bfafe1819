"""An audit as text for the terminal: findings by rule, what was not evaluated, one line of counts."""

from __future__ import annotations

import re
import textwrap
from collections import Counter
from collections.abc import Iterable, Sequence

from vplacer.audit.model import AuditFinding, AuditReport, Gone, Place, RuleResult, Severity, Untold
from vplacer.report.audit_document import summary
from vplacer.report.plan_words import aligned
from vplacer.report.style import PLAIN, Style

_COLOURS = {Severity.ERROR: "red", Severity.WARNING: "yellow", Severity.NOTE: "cyan"}
_WIDE = ("vcenter", "datacenter")
_SHOWN = 12
_NAMED = 3
_SIGN_RE = re.compile(r"\x1b\[\d{1,2}m|[^ -~]")


def audit_text(
    report: AuditReport,
    *,
    details: bool = False,
    brief: bool = False,
    width: int | None = None,
    style: Style = PLAIN,
) -> str:
    """Return the report as text, ending in a newline.

    Args:
        report: the audit.
        details: each finding by itself, what was not evaluated, and waived findings; else findings that say
            the same are told together, and of many of one rule the worst.
        brief: counts by rule only.
        width: of the terminal, to wrap long lines; None = as long as they are.
        style: colours.
    """
    compared = compared_line(report)
    lines = [_head(report), *([compared] if compared is not None else []), ""]
    lines += _missing(report)
    if not brief:
        for result in report.rules:
            lines += _rule_lines(report, result, details, style)
        lines += _gone(report.gone, details)
        lines += _not_evaluated(report, details)
    if brief or len(report.findings) > _SHOWN:
        lines += _by_rule(report)
    lines.append(style.paint(last_line(report), "bold"))
    return "\n".join(part for line in lines for part in _wrapped(_plain(line, style), width)) + "\n"


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


def compared_line(report: AuditReport) -> str | None:
    """Return how many findings are new, still there and gone, None = compared with nothing.

    What is gone nobody knows where not everything was read.
    """
    if report.compared_with is None:
        return None
    new = sum(1 for finding in report.findings if finding.new)
    still = sum(1 for finding in report.findings if finding.new is False)
    gone = f"{len(report.gone)} gone" if report.complete or report.gone else "what is gone is not known"
    return f"Since the audit of {report.compared_with}: {new} new, {still} still there, {gone}"


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
    groups = [[finding] for finding in found] if details else _alike(found)
    shown = groups if details else groups[:_SHOWN]
    head = f"{rule.id} {rule.title}"
    lines = [style.paint(head if len(found) == 1 else f"{head}: {_tally(found)}", "bold")]
    fixes = {finding.fix for group in shown for finding in group}
    for group in shown:
        lines += _group_lines(group, report.taken_at, style)
        if len(fixes) > 1:
            lines.append(f"      fix: {group[0].fix}")
    rest = [finding for group in groups[len(shown) :] for finding in group]
    if rest:
        lines.append(f"  and {_tally(rest)} more: -v shows each")
    if len(fixes) == 1:
        lines.append(f"    fix: {next(iter(fixes))}")
    return [*lines, ""]


def _alike(findings: Iterable[AuditFinding]) -> list[list[AuditFinding]]:
    """Group findings that say the same of different objects, in the order of the first of each."""
    groups: dict[object, list[AuditFinding]] = {}
    for item in findings:
        key = (item.severity, item.certainty, item.text, item.fix, item.owner, item.new, item.line)
        groups.setdefault(key, []).append(item)
    return list(groups.values())


def _group_lines(group: Sequence[AuditFinding], now: str, style: Style) -> list[str]:
    finding = group[0]
    word = style.paint(finding.severity.value.ljust(7), _COLOURS[finding.severity])
    new = " (new)" if finding.new else ""
    lines = [f"  {word} {_some([where(item.places) for item in group])}{new}"]
    lines.append(f"      {finding.text} [{finding.certainty.value}]")
    if finding.line is not None:
        lines.append(f"      at {finding.line.file}:{finding.line.line}")
    if finding.owner is not None:
        lines.append(f"      not ours to change: {finding.owner}")
    since = sorted({item.first_seen for item in group if item.first_seen not in (None, now)})
    if since:
        lines.append(f"      since {since[0]}" + (f" to {since[-1]}" if len(since) > 1 else ""))
    if finding.waived is not None:
        until = f" until {finding.waived.expires}" if finding.waived.expires else ""
        lines.append(f"      waived by {finding.waived.owner}{until}: {finding.waived.reason}")
    return lines


def _tally(findings: Sequence[AuditFinding]) -> str:
    """Count findings by severity, and the hosts they are on: "3 errors, 1 note on 2 hosts"."""
    counts = Counter(finding.severity for finding in findings)
    words = [_counted(counts[severity], severity.value) for severity in Severity if counts[severity]]
    hosts = {finding.host for finding in findings if finding.host is not None}
    return ", ".join(words) + (f" on {_counted(len(hosts), 'host')}" if hosts else "")


def _by_rule(report: AuditReport) -> list[str]:
    """Return a table of the rules that found something, or could not look everywhere."""
    rows: list[tuple[str, ...]] = [
        ("rule", "errors", "warnings", "notes", "waived", "on hosts", "not evaluated", "")
    ]
    for result in report.rules:
        found = [finding for finding in report.findings if finding.rule == result.rule.id]
        if not found and not result.not_evaluated:
            continue
        told = [finding for finding in found if finding.waived is None]
        counts = Counter(finding.severity for finding in told)
        numbers = [counts[severity] for severity in Severity] + [result.waived]
        hosts = len({finding.host for finding in told if finding.host is not None})
        numbers += [hosts, len(result.not_evaluated)]
        cells = [str(number) if number else "-" for number in numbers]
        rows.append((result.rule.id, *cells, result.rule.title))
    return [*aligned(rows), ""] if len(rows) > 1 else []


def _gone(gone: Sequence[Gone], details: bool) -> list[str]:
    if not gone:
        return []
    lines = ["Gone since then"]
    for item in gone if details else gone[:_SHOWN]:
        since = f" (since {item.first_seen})" if item.first_seen is not None else ""
        lines += [f"  {item.rule} {where(item.places)}", f"      {item.text}{since}"]
    if not details and len(gone) > _SHOWN:
        lines.append(f"  and {len(gone) - _SHOWN} more: -v shows each")
    return [*lines, ""]


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
    shown = list(reasons.items())[:_SHOWN]
    lines = [f"      {_some(names, 1)}: {why}" for why, names in shown]
    if len(reasons) > _SHOWN:
        lines.append(f"      and {len(reasons) - _SHOWN} other reasons: -v shows each")
    return lines


def _some(names: Sequence[str], most: int = _NAMED) -> str:
    """Name the first of several things; of one too many all are named."""
    if len(names) <= most:
        return ", ".join(names)
    return f"{', '.join(names[:most])} and {len(names) - most} more"


def _plain(line: str, style: Style) -> str:
    """Take out what would move the cursor, were it in a name; colours stay where there are any."""

    def kept(match: re.Match[str]) -> str:
        sign = match[0]
        return sign if sign.isprintable() or (style.colour and len(sign) > 1) else "\N{REPLACEMENT CHARACTER}"

    return _SIGN_RE.sub(kept, line)


def _wrapped(line: str, width: int | None) -> list[str]:
    if width is None or len(line) <= width or "\x1b" in line:
        return [line]
    indent = " " * (len(line) - len(line.lstrip()))
    return textwrap.wrap(
        line.strip(),
        max(width, len(indent) + 20),
        initial_indent=indent,
        subsequent_indent=indent,
        break_long_words=False,
        break_on_hyphens=False,
    )
