"""An audit as families of metrics: what the Prometheus and the OpenMetrics format are made from.

No label holds what changes from run to run (texts, times, figures), so that series come and go only with
VMs, hosts and rules. A VM is labelled by name and managed object id, since names need not be unique; the
host it runs on is told by one series of its own.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields
from datetime import datetime
from typing import TYPE_CHECKING

from vplacer.audit.gauges import Gauges, LocalityCounts, VmGauges
from vplacer.audit.model import AuditFinding, AuditReport, Severity

if TYPE_CHECKING:
    from prometheus_client.core import GaugeMetricFamily, Metric
    from prometheus_client.registry import CollectorRegistry

_LOCALITIES = tuple(item.name for item in fields(LocalityCounts))
_WHERE = "by where they are: on a NUMA node of the VM (local), on another node of its socket, remote, unknown"


def registry_of(report: AuditReport) -> CollectorRegistry:
    """Return a registry of the metrics of a report, as the writers of both formats take it."""
    from prometheus_client.registry import Collector, CollectorRegistry

    class Fixed(Collector):
        def collect(self) -> Iterator[Metric]:
            return iter(families)

    families = tuple(_families(report))
    registry = CollectorRegistry(auto_describe=False)
    registry.register(Fixed())
    return registry


def _families(report: AuditReport) -> Iterator[Metric]:
    yield from _of_audit(report)
    yield from _of_rules(report)
    yield _of_host_findings(report)
    if report.gauges is not None:
        yield from _of_hosts(report, report.gauges)
        yield from _of_vms(report, report.gauges)


def _gauge(name: str, text: str, *labels: str, unit: str = "") -> GaugeMetricFamily:
    from prometheus_client.core import GaugeMetricFamily

    return GaugeMetricFamily(name, text, labels=["vcenter", *labels], unit=unit)


def _vcenter(report: AuditReport) -> str:
    return report.about.name or report.about.instance_uuid


def _of_audit(report: AuditReport) -> Iterator[Metric]:
    vcenter = _vcenter(report)
    complete = _gauge(
        "vplacer_audit_complete", "1 = all of the inventory was read; 0 = findings may be hidden."
    )
    complete.add_metric([vcenter], int(report.complete))
    yield complete
    missing = _gauge("vplacer_audit_missing", "Places of the inventory that could not be read.")
    missing.add_metric([vcenter], len(report.missing))
    yield missing
    taken = _gauge(
        "vplacer_audit_inventory_timestamp", "When the inventory was read, in Unix time.", unit="seconds"
    )
    moment = _unix(report.taken_at)
    if moment is not None:
        taken.add_metric([vcenter], moment)
    yield taken
    objects = _gauge("vplacer_audit_objects", "Objects that were looked at.", "kind")
    for kind, number in report.counts.items():
        objects.add_metric([vcenter, kind], number)
    yield objects


def _of_rules(report: AuditReport) -> Iterator[Metric]:
    vcenter = _vcenter(report)
    findings = _gauge(
        "vplacer_audit_findings", "Findings that no waiver holds for.", "rule", "name", "severity"
    )
    waived = _gauge("vplacer_audit_waived_findings", "Findings that a waiver holds for.", "rule", "name")
    untold = _gauge("vplacer_audit_not_evaluated", "Objects a rule could not look at.", "rule", "name")
    oldest = _gauge(
        "vplacer_audit_oldest_finding_timestamp",
        "When the oldest of the findings was seen first, in Unix time; with a history only.",
        *("rule", "name", "severity"),
        unit="seconds",
    )
    by_rule: dict[tuple[str, Severity], list[AuditFinding]] = {}
    for finding in report.findings:
        if finding.waived is None:
            by_rule.setdefault((finding.rule, finding.severity), []).append(finding)
    for result in report.rules:
        labels = [vcenter, result.rule.id, result.rule.name]
        for severity in Severity:
            found = by_rule.get((result.rule.id, severity), [])
            findings.add_metric([*labels, severity.value], len(found))
            times = [_unix(finding.first_seen) for finding in found if finding.first_seen is not None]
            known = [moment for moment in times if moment is not None]
            if known:
                oldest.add_metric([*labels, severity.value], min(known))
        waived.add_metric(labels, result.waived)
        untold.add_metric(labels, len(result.not_evaluated))
    yield from (findings, waived, untold)
    if oldest.samples:
        yield oldest


def _of_host_findings(report: AuditReport) -> Metric:
    """Count open findings of hosts and their VMs; a host without any has no series."""
    family = _gauge(
        "vplacer_host_findings",
        "Findings on a host and its VMs that no waiver holds for.",
        *("cluster", "host", "moid", "severity"),
    )
    counts: dict[tuple[str, str, str], dict[Severity, int]] = {}
    for finding in report.findings:
        if finding.host is None or finding.waived is not None:
            continue
        key = (finding.name_of("cluster") or "", finding.name_of("host") or "", finding.host)
        found = counts.setdefault(key, dict.fromkeys(Severity, 0))
        found[finding.severity] += 1
    for labels, by_severity in sorted(counts.items()):
        for severity, number in by_severity.items():
            family.add_metric([_vcenter(report), *labels, severity.value], number)
    return family


def _of_hosts(report: AuditReport, gauges: Gauges) -> Iterator[Metric]:
    family = _gauge(
        "vplacer_host_devices",
        f"Cards that the running VMs of a host hold, {_WHERE}.",
        *("cluster", "host", "moid", "kind", "locality"),
    )
    for host in gauges.hosts:
        labels = [_vcenter(report), host.cluster or "", host.name, host.moid]
        for kind, counts in host.devices.items():
            for word in _LOCALITIES:
                family.add_metric([*labels, kind.value, word], getattr(counts, word))
    yield family


def _of_vms(report: AuditReport, gauges: Gauges) -> Iterator[Metric]:
    from prometheus_client.core import InfoMetricFamily

    where = InfoMetricFamily(
        "vplacer_vm_host",
        "Where a VM runs that holds cards or was measured.",
        labels=["vcenter", "vm", "moid", "cluster", "host"],
    )
    devices = _gauge(
        "vplacer_vm_devices", f"Cards that a running VM holds, {_WHERE}.", "vm", "moid", "kind", "locality"
    )
    for vm in gauges.vms:
        labels = [_vcenter(report), vm.name, vm.moid]
        where.add_metric([*labels, vm.cluster or "", vm.host], {})
        for kind, counts in vm.devices.items():
            for word in _LOCALITIES:
                devices.add_metric([*labels, kind.value, word], getattr(counts, word))
    yield from (where, devices)
    yield from _of_measurements(report, [vm for vm in gauges.vms if vm.measured_at is not None])


def _of_measurements(report: AuditReport, vms: list[VmGauges]) -> Iterator[Metric]:
    local = _gauge(
        "vplacer_vm_memory_local",
        "Measured share of a VM's memory that is on its home nodes, 0 to 1.",
        *("vm", "moid"),
        unit="ratio",
    )
    moves = _gauge(
        "vplacer_vm_numa_migrations", "Measured moves between NUMA nodes since power-on.", "vm", "moid"
    )
    at = _gauge(
        "vplacer_vm_measured_timestamp", "When a VM was measured, in Unix time.", "vm", "moid", unit="seconds"
    )
    for vm in vms:
        labels = [_vcenter(report), vm.name, vm.moid]
        if vm.local_percent is not None:
            local.add_metric(labels, vm.local_percent / 100)
        if vm.migrations is not None:
            moves.add_metric(labels, vm.migrations)
        moment = _unix(vm.measured_at or "")
        if moment is not None:
            at.add_metric(labels, moment)
    yield from (family for family in (local, moves, at) if family.samples)


def _unix(moment: str) -> float | None:
    try:
        return datetime.fromisoformat(moment).timestamp()
    except ValueError:
        return None
