"""An audit as JSON, for programs; documented in docs/audit.md."""

from __future__ import annotations

import json

from vplacer.audit.model import AuditReport
from vplacer.report.audit_document import audit_document


def audit_json(report: AuditReport) -> str:
    """Return the report as JSON text ending in a newline."""
    return json.dumps(audit_document(report), indent=2, ensure_ascii=False) + "\n"
