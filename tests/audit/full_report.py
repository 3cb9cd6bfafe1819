"""A report with everything in it: hostile names, waived, new and gone findings, gaps, a line of a file."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any

from tests.audit.audit_case import build_subject
from vplacer.audit.gauges import gauges
from vplacer.audit.host_pictures import host_pictures
from vplacer.audit.model import AuditReport, FileLine, Gone, Place, Severity, Waived
from vplacer.audit.registry import find_rule
from vplacer.audit.run import run_audit
from vplacer.audit.subject import Subject

HOSTILE = '=cmd|" /C calc"!A1, 100 %: \\n <b>&\n::error::\x01'
"""The name of a VM that does its best to break each format."""
SITE: dict[str, Any] = {
    "host_kinds": {
        "sub": {
            "cpu": {"packages": 2, "cores": 32},
            "numa": {"nodes_per_package": 2},
            "memory_gib": 512,
            "devices": [
                {"gpu": "A30", "node": 0},
                {"gpu": "A30", "node": 1},
                {"gpu": "A30", "node": 2},
                {"nic": "CX6-DX", "node": 3, "passthrough": "active"},
            ],
        }
    },
    "clusters": [{"name": "c", "hosts": [{"kind": "sub", "count": 2}]}],
    "vms": [
        {
            "name": "near",
            "on": "esx01",
            "cpus": 8,
            "memory_gib": 32,
            "node_affinity": [0],
            "devices": [{"static": "gpu0"}],
        },
        {
            "name": "hostile",
            "on": "esx01",
            "cpus": 8,
            "memory_gib": 32,
            "node_affinity": [0],
            "devices": [{"static": "gpu1"}, {"static": "nic0"}],
        },
        {
            "name": "floats",
            "on": "esx02",
            "cpus": 8,
            "memory_gib": 32,
            "devices": [{"static": "gpu2"}],
        },
    ],
}
MEASURED = {"near": {"nodes": [0], "locality_percent": [62, 60, 64], "migrations": 3}, "hostile": None}
GAP = {"object": "host-1002", "path": "hardware", "kind": "permission", "reason": "System.Read is missing"}


def subject(*, name: str = HOSTILE, gaps: bool = True) -> Subject:
    """Return the subject; the VM "hostile" goes by ``name``."""
    built = build_subject(SITE, {"measured": MEASURED, "gaps": [GAP] if gaps else []})
    inventory = built.inventory
    vms = tuple(replace(vm, name=name) if vm.name == "hostile" else vm for vm in inventory.vms)
    return Subject(type(inventory)(**{**inventory.__dict__, "vms": vms}), built.overlays)


@cache
def full_report() -> AuditReport:
    """Return the report."""
    whole = subject()
    report = run_audit(whole, [find_rule(rule) for rule in ("VPL001", "VPL002", "VPL003")])
    assert sorted(finding.rule for finding in report.findings) == ["VPL001", "VPL002", "VPL003"]
    changed: dict[str, dict[str, Any]] = {
        "VPL001": {"new": True, "line": FileLine("a b/waivers.yaml", 12), "first_seen": report.taken_at},
        "VPL002": {"new": False, "waived": Waived("it is so, by design", "ops", "2030-01-01")},
        "VPL003": {"new": False, "first_seen": "2024-06-01T00:00:00Z", "owner": "managed by x"},
    }
    findings = [replace(finding, **changed[finding.rule]) for finding in report.findings]
    results = tuple(
        replace(result, waived=1) if result.rule.id == "VPL002" else result for result in report.rules
    )
    gone = Gone(
        rule="VPL001",
        name="gpu-remote",
        fingerprint="0" * 16,
        severity=Severity.ERROR,
        text="+1 GPU was remote",
        places=(Place("vcenter", "vc"), Place("vm", "@old")),
        first_seen="2024-01-01T00:00:00Z",
        last_seen="2024-12-01T00:00:00Z",
    )
    return replace(
        report,
        findings=tuple(findings),
        rules=results,
        gone=(gone,),
        compared_with="2024-12-01T00:00:00Z",
        gauges=gauges(whole),
        pictures=host_pictures(whole),
    )


def empty_report(*, complete: bool) -> AuditReport:
    """Return a report without any finding."""
    report = full_report()
    rules = tuple(replace(result, found=0, waived=0, not_evaluated=()) for result in report.rules)
    return replace(report, findings=(), rules=rules, gone=(), missing=() if complete else report.missing)
