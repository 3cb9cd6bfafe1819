"""An audit as a table for spreadsheets: a finding a row, and what was not looked at."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence
from typing import Final

from vplacer.audit.model import AuditFinding, AuditReport, Place

_PLACES: Final = ("vcenter", "datacenter", "cluster", "host", "vm", "device")
_COLUMNS: Final = (
    "kind",
    "rule",
    "name",
    "severity",
    "confidence",
    *_PLACES,
    "text",
    "fix",
    "first_seen",
    "new",
    "waived_by",
    "waived_until",
    "waived_why",
    "owner",
    "mendable",
    "fingerprint",
    "file",
    "line",
)
_FORMULA: Final = ("=", "+", "-", "@", "\t", "\r", "\n")


def audit_csv(report: AuditReport) -> str:
    """Return the report as CSV with a heading.

    ``kind`` is finding, gone, not-evaluated or missing (what could not be read: the audit is incomplete).
    A cell that a spreadsheet would take for a formula is given an apostrophe in front.
    """
    text = io.StringIO()
    writer = csv.DictWriter(text, _COLUMNS, restval="", lineterminator="\n")
    writer.writeheader()
    for row in _rows(report):
        writer.writerow({name: _harmless(cell) for name, cell in row.items()})
    return text.getvalue()


def _rows(report: AuditReport) -> Iterator[dict[str, str]]:
    for finding in report.findings:
        yield _finding(finding, report)
    for gone in report.gone:
        yield {
            "kind": "gone",
            "rule": gone.rule,
            "name": gone.name,
            "severity": gone.severity.value,
            **_places(gone.places),
            "text": gone.text,
            "first_seen": gone.first_seen or "",
            "fingerprint": gone.fingerprint,
        }
    for result in report.rules:
        for untold in result.not_evaluated:
            yield {
                "kind": "not-evaluated",
                "rule": result.rule.id,
                "name": result.rule.name,
                **_places(untold.places),
                "text": untold.why,
            }
    for item in report.missing:
        where = f"{item.name} ({item.object})" if item.name else item.object
        yield {"kind": "missing", "text": f"{where}: {item.path}: {item.kind}: {item.reason}"}


def _finding(finding: AuditFinding, report: AuditReport) -> dict[str, str]:
    waived, line = finding.waived, finding.line
    return {
        "kind": "finding",
        "rule": finding.rule,
        "name": report.rule_of(finding).name,
        "severity": finding.severity.value,
        "confidence": finding.certainty.value,
        **_places(finding.places),
        "text": finding.text,
        "fix": finding.fix,
        "first_seen": finding.first_seen or "",
        "new": _yes_no(finding.new),
        "waived_by": waived.owner if waived is not None else "",
        "waived_until": (waived.expires or "never ends") if waived is not None else "",
        "waived_why": waived.reason if waived is not None else "",
        "owner": finding.owner or "",
        "mendable": _yes_no(finding.mendable),
        "fingerprint": finding.fingerprint,
        "file": line.file if line is not None else "",
        "line": str(line.line) if line is not None else "",
    }


def _places(places: Sequence[Place]) -> dict[str, str]:
    return {place.kind: place.name for place in places}


def _yes_no(value: bool | None) -> str:
    return "" if value is None else "yes" if value else "no"


def _harmless(cell: str) -> str:
    return f"'{cell}" if cell.startswith(_FORMULA) else cell
