"""An audit as annotations of a GitHub Actions run: commands that the runner reads from the job's output."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from vplacer.audit.model import AuditFinding, AuditReport, Severity
from vplacer.report.audit_text import last_line, where

_COMMANDS: Final = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.NOTE: "notice"}


def audit_github(report: AuditReport) -> str:
    """Return one annotation a line: what could not be read, findings that are not waived, and the counts."""
    return "".join(f"{line}\n" for line in _lines(report))


def _lines(report: AuditReport) -> Iterator[str]:
    for item in report.missing:
        who = f"{item.name} ({item.object})" if item.name else item.object
        text = f"{who}: {item.path}: {item.kind}: {item.reason}. What is missing here may hide findings."
        yield _annotation("error", "vplacer audit: incomplete", text)
    for finding in report.findings:
        if finding.waived is None:
            yield _of_finding(finding, report)
    yield _annotation("notice", "vplacer audit", last_line(report))


def _of_finding(finding: AuditFinding, report: AuditReport) -> str:
    since = f" Since {finding.first_seen}." if finding.first_seen is not None else ""
    owner = f" Not ours to change: {finding.owner}." if finding.owner is not None else ""
    text = (
        f"{where(finding.places)}: {finding.text} [{finding.certainty.value}].{since}{owner}\n{finding.fix}"
    )
    file = {} if finding.line is None else {"file": finding.line.file, "line": str(finding.line.line)}
    title = f"{finding.rule} {report.rule_of(finding).title}"
    return _annotation(_COMMANDS[finding.severity], title, text, **file)


def _annotation(command: str, title: str, text: str, **more: str) -> str:
    """Return a workflow command, escaped as GitHub's toolkit escapes data and properties."""
    properties = ",".join(f"{key}={_property(value)}" for key, value in {"title": title, **more}.items())
    return f"::{command} {properties}::{_data(text)}"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
