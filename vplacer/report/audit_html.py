"""An audit as a page for people: one file, with a picture of each host."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from vplacer.audit.model import AuditFinding, AuditReport, Place, Rule, Severity
from vplacer.audit.page_view import FindingGroup, PageHost, page_view
from vplacer.report.audit_document import summary
from vplacer.report.audit_text import compared_line, where
from vplacer.report.page.picture_data import picture_data
from vplacer.report.page.render import counted, json_data, page
from vplacer.report.page.trend_chart import trend_chart

_MARKS: Final = {Severity.ERROR: "✕", Severity.WARNING: "!", Severity.NOTE: "i"}
_MISSING_SHOWN: Final = 8
_SCRIPTS: Final = ("page.js", "findings.js", "hosts.js")
_DESCRIBED: Final = ("vm", "host", "cluster", "vcenter")


def audit_html(report: AuditReport) -> str:
    """Return the page. Without pictures in the report it has no hosts."""
    view = page_view(report)
    rules = {result.rule.id: result.rule for result in report.rules}
    counts = summary(report)
    values: dict[str, Any] = {
        "report": report,
        "vcenter": report.about.name or report.about.instance_uuid,
        "sizes": _sizes(report),
        "verdict": _verdict(report, counts),
        "tiles": _tiles(counts),
        "compared": compared_line(report) or "",
        "missing_shown": _MISSING_SHOWN,
        "chart": trend_chart(report.trend),
        "points": report.trend,
        "severities": [severity.value for severity in Severity],
        "selects": (
            ("rule", "Rule", "all rules", view.rules),
            ("cluster", "Cluster", "all clusters", view.clusters),
            ("host", "Host", "all hosts", view.host_choices),
        ),
        "by_rule": view.rules,
        "waived": counts["waived"],
        "new": sum(1 for finding in report.findings if finding.new),
        "marks": _MARKS,
        "groups": [_group(group, rules[group.rule]) for group in view.groups],
        "untold": [(r.rule, _reasons(r.not_evaluated)) for r in report.rules if r.not_evaluated],
        "hosts": view.hosts,
        "host_ids": {host.picture.moid: index for index, host in enumerate(view.hosts)},
        "host_data": [json_data(picture_data(host.picture)) for host in view.hosts],
        "tally": host_tally,
        "where": where,
    }
    return page("audit.html", _SCRIPTS, "vplacer audit", values)


def host_tally(host: PageHost) -> str:
    """Return what is wrong on a host, in words; "" for nothing."""
    words = [counted(number, severity.value) for severity, number in host.findings.items() if number]
    if host.other_socket:
        words.append(f"{counted(host.other_socket, 'VM')} with a card on another socket")
    if host.same_socket:
        words.append(f"{counted(host.same_socket, 'VM')} with a card on another node")
    return ", ".join(words) or "no finding"


def _sizes(report: AuditReport) -> str:
    words = (("clusters", "cluster"), ("hosts", "host"), ("vms", "VM"), ("gpus", "GPU"))
    return ", ".join(counted(report.counts[key], word) for key, word in words)


def _verdict(report: AuditReport, counts: dict[str, int]) -> dict[str, str]:
    """Say in a sentence how it stands; an audit that is incomplete is never good."""
    if counts["error"]:
        errors = counted(counts["error"], "error")
        text = f"{errors}: something is slower than it should be, or will not start."
        return {"look": "error", "text": text}
    if not report.complete:
        return {"look": "error", "text": "No error in what could be read; part of it could not."}
    if counts["warning"]:
        return {"look": "warning", "text": f"No error, {counted(counts['warning'], 'warning')}."}
    return {"look": "good", "text": "Nothing is wrong in what the rules looked at."}


def _tiles(counts: dict[str, int]) -> list[dict[str, Any]]:
    tiles = [
        {
            "look": severity.value,
            "mark": _MARKS[severity],
            "number": counts[severity.value],
            "word": severity.value if counts[severity.value] == 1 else f"{severity.value}s",
            "target": "findings",
            "filter": f"severity={severity.value}",
        }
        for severity in Severity
    ]
    rest = {"look": "", "mark": "", "filter": ""}
    tiles.append(
        {**rest, "number": counts["waived"], "word": "waived", "target": "findings", "filter": "waived=1"}
    )
    unseen = counts["not_evaluated"]
    word = "rule not evaluated everywhere" if unseen == 1 else "rules not evaluated everywhere"
    tiles.append({**rest, "look": "warning", "mark": "?", "number": unseen, "word": word, "target": "unseen"})
    return tiles


def _group(group: FindingGroup, rule: Rule) -> dict[str, Any]:
    return {
        "severity": group.severity,
        "rule": rule,
        "fix": group.fix,
        "findings": [_finding(finding) for finding in group.findings],
    }


def _finding(finding: AuditFinding) -> dict[str, Any]:
    known = {place.kind: place.name for place in finding.places}
    about = next((kind for kind in _DESCRIBED if kind in known), "vcenter")
    return {
        "finding": finding,
        "name": known.get(about, "the vCenter"),
        "host": known.get("host", ""),
        "places": _way(finding.places, about),
    }


def _way(places: Sequence[Place], about: str) -> str:
    """Return where a finding is, without the vCenter and what it is about, which stand elsewhere."""
    return " / ".join(place.name for place in places if place.kind not in ("vcenter", about))


def _reasons(untold: Sequence[Any]) -> list[tuple[str, list[str]]]:
    found: dict[str, list[str]] = {}
    for item in untold:
        found.setdefault(item.why, []).append(where(item.places))
    return list(found.items())
