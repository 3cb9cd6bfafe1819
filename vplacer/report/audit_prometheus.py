"""An audit in Prometheus' text format, for the textfile collector of its node exporter."""

from __future__ import annotations

from vplacer.audit.model import AuditReport
from vplacer.report.audit_metrics import registry_of


def audit_prometheus(report: AuditReport) -> str:
    """Return the metrics of a report in Prometheus' text format 0.0.4."""
    from prometheus_client.exposition import generate_latest

    return generate_latest(registry_of(report)).decode()
