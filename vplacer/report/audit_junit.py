"""An audit as a JUnit report: hosts are suites, a rule at a VM is a case.

Errors and warnings fail. Notes pass, with their text as output. What is waived or was not evaluated is
skipped, with the reason. What could not be read is an error, so that an incomplete audit never passes.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Final
from xml.etree import ElementTree

from vplacer.audit.model import AuditFinding, AuditReport, Place, Severity
from vplacer.report.audit_text import where

_NAME: Final = "vplacer audit"
# XML 1.0 has no way to write these.
_NO_XML_RE: Final = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_COUNTED: Final = {"failures": "failure", "errors": "error", "skipped": "skipped"}

_Case = tuple[str, ElementTree.Element]
"""Name of the suite, and a case."""


def audit_junit(report: AuditReport) -> str:
    """Return the report as JUnit XML that fits Jenkins' schema (junit-10.xsd of its xUnit plugin)."""
    cases = list(_cases(report))
    if not cases:
        cases = [_case(report.about.name or report.about.instance_uuid, "no findings", _NAME)]
    suites: dict[str, list[ElementTree.Element]] = {}
    for suite, case in cases:
        suites.setdefault(suite, []).append(case)
    for found in suites.values():
        _tell_apart(found)
    root = ElementTree.Element("testsuites", name=_NAME)
    for name in sorted(suites):
        suite_of = ElementTree.SubElement(root, "testsuite", name=name)
        suite_of.extend(suites[name])
        for key, value in _counts(suites[name]).items():
            suite_of.set(key, value)
        suite_of.set("timestamp", report.taken_at.removesuffix("Z"))
    totals = _counts([case for found in suites.values() for case in found])
    for key in ("tests", "failures", "errors"):
        root.set(key, totals[key])
    ElementTree.indent(root)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{ElementTree.tostring(root, encoding="unicode")}\n'


def _cases(report: AuditReport) -> Iterator[_Case]:
    vcenter = report.about.name or report.about.instance_uuid
    for item in report.missing:
        who = f"{item.name} ({item.object})" if item.name else item.object
        found = _case(vcenter, f"inventory: {who}: {item.path}", _NAME)
        _add(found[1], "error", f"could not be read: {item.reason}", "incomplete", item.kind)
        yield found
    for finding in report.findings:
        yield _of_finding(finding, report)
    for result in report.rules:
        for untold in result.not_evaluated:
            found = _case(*_named(f"{result.rule.id} {result.rule.name}", untold.places))
            _add(found[1], "skipped", f"not evaluated: {untold.why}", "not-evaluated")
            yield found


def _of_finding(finding: AuditFinding, report: AuditReport) -> _Case:
    rule = report.rule_of(finding)
    found = _case(*_named(f"{rule.id} {rule.name}", finding.places))
    case, text = found[1], _details(finding)
    if finding.waived is not None:
        until = f" until {finding.waived.expires}" if finding.waived.expires else ""
        message = f"waived by {finding.waived.owner}{until}: {finding.waived.reason}"
        _add(case, "skipped", message, "waived", text)
    elif finding.severity is Severity.NOTE:
        ElementTree.SubElement(case, "system-out").text = _clean(text)
    else:
        _add(case, "failure", finding.text, finding.severity.value, text)
    return found


def _details(finding: AuditFinding) -> str:
    lines = [
        f"{where(finding.places)}: {finding.text}",
        f"confidence: {finding.certainty.value}",
        f"fix: {finding.fix}",
        f"fingerprint: {finding.fingerprint}",
    ]
    if finding.owner is not None:
        lines.append(f"not ours to change: {finding.owner}")
    if finding.first_seen is not None:
        lines.append(f"first seen: {finding.first_seen}")
    if finding.line is not None:
        lines.append(f"{finding.line.file}:{finding.line.line}")
    return "\n".join(lines)


def _named(rule: str, places: Sequence[Place]) -> tuple[str, str, str]:
    """Return the names of suite, case and class: the host, else what is nearest to it."""
    names = {place.kind: place.name for place in places}
    below = [names[kind] for kind in ("vm", "device") if kind in names]
    above = [names[kind] for kind in ("vcenter", "datacenter", "cluster", "host") if kind in names]
    suite = above[-1] if above else _NAME
    return suite, f"{rule}: {' / '.join(below or [suite])}", ".".join(above) or _NAME


def _case(suite: str, name: str, classname: str) -> _Case:
    return _clean(suite), ElementTree.Element("testcase", name=_clean(name), classname=_clean(classname))


def _add(case: ElementTree.Element, tag: str, message: str, kind: str, text: str = "") -> None:
    ElementTree.SubElement(case, tag, message=_clean(message), type=kind).text = _clean(text) or None


def _tell_apart(cases: Sequence[ElementTree.Element]) -> None:
    """Number cases of one name: readers keep only one of each."""
    seen: Counter[str] = Counter()
    for case in cases:
        name = case.get("name", "")
        seen[name] += 1
        if seen[name] > 1:
            case.set("name", f"{name} ({seen[name]})")


def _counts(cases: Sequence[ElementTree.Element]) -> dict[str, str]:
    counts = {"tests": str(len(cases))}
    for key, tag in _COUNTED.items():
        counts[key] = str(sum(1 for case in cases if case.find(tag) is not None))
    return counts


def _clean(text: str) -> str:
    return _NO_XML_RE.sub("\ufffd", text)
