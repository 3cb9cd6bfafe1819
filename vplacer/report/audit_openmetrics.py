"""An audit in OpenMetrics' text format."""

from __future__ import annotations

from vplacer.audit.model import AuditReport
from vplacer.report.audit_metrics import registry_of


def audit_openmetrics(report: AuditReport) -> str:
    """Return the metrics of a report in OpenMetrics' text format 1.0, with units and its end mark."""
    from prometheus_client.openmetrics.exposition import generate_latest

    text: bytes = generate_latest(registry_of(report))
    return text.decode()
