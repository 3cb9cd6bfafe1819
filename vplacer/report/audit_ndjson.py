"""An audit as JSON objects, one a line: the audit, what was found, and a last line of counts."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from vplacer.audit.model import AuditReport
from vplacer.report.audit_document import audit_document


def audit_ndjson(report: AuditReport) -> str:
    """Return the report as lines, the ``type`` of each says what it is.

    audit, then finding, gone, not_evaluated and missing for each, then summary: without it, it is cut off.
    """
    return "".join(f"{json.dumps(line, ensure_ascii=False)}\n" for line in _lines(report))


def _lines(report: AuditReport) -> Iterator[dict[str, Any]]:
    document = audit_document(report)
    findings, rules = document.pop("findings"), document.pop("rules")
    gone, missing = document.pop("gone"), document.pop("missing")
    counts = document.pop("summary")
    complete = document.pop("complete")
    yield {"type": "audit", **document}
    for finding in findings:
        yield {"type": "finding", **finding}
    for item in gone:
        yield {"type": "gone", **item}
    for rule in rules:
        for item in rule["not_evaluated"]:
            yield {"type": "not_evaluated", "rule": rule["id"], "name": rule["name"], **item}
    for item in missing:
        yield {"type": "missing", **item}
    yield {"type": "summary", "complete": complete, **counts}
