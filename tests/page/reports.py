"""Reports that pages are made of: one to be shown, and a big one."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any

import yaml

from tests.audit.audit_case import build_subject
from vplacer.audit.host_pictures import host_pictures
from vplacer.audit.model import AuditReport
from vplacer.audit.registry import find_rule
from vplacer.audit.run import run_audit
from vplacer.audit.trend import TrendPoint

HOSTILE = (
    "</script><script>alert(1)</script>",
    "\"'><img src=x onerror=alert(2)>",
    "{{ 7 * 7 }} {% raw %} ${7*7}",
    "\u202egnp.exe\u2066 \u200b\x07 & <b>",
    "n" * 200,
    "]]> --> <!-- &lt;",
)
"""Names of VMs that do their best to break a page."""

_A30 = {
    "vendor": "Dell Inc.",
    "model": "PowerEdge R750xa",
    "cpu": {"packages": 2, "cores": 32},
    "numa": {"nodes_per_package": 2},
    "memory_gib": 1024,
    "devices": [
        {"gpu": "A30", "count": 2, "node": 0, "switch": "a"},
        {"nic": "CX6-DX", "node": 0, "switch": "a", "passthrough": "active"},
        {"gpu": "A30", "count": 2, "node": 2, "switch": "b"},
        {"nic": "CX6-DX", "node": 2, "switch": "b", "passthrough": "active"},
        {"nic": "X710", "count": 2, "node": 1},
    ],
    "nvlinks": [["gpu0", "gpu1"], ["gpu2", "gpu3"]],
}


def _vm(name: str, on: str, nodes: list[int] | None, *cards: str, **more: Any) -> dict[str, Any]:
    made: dict[str, Any] = {"name": name, "on": on, "cpus": 16, "memory_gib": 128, **more}
    if nodes is not None:
        made["node_affinity"] = nodes
    if cards:
        made["devices"] = [{"static": card} for card in cards]
    return made


_SHOWN: dict[str, Any] = {
    "host_kinds": {"a30": _A30},
    "clusters": [
        {"name": "ml-east", "hosts": [{"kind": "a30", "count": 4}]},
        {"name": "ml-west", "hosts": [{"kind": "a30", "count": 2}]},
    ],
    "vms": [
        _vm("llm-serve-1", "esx01", [0], "gpu0", "gpu1", "nic0"),
        _vm("train-7b", "esx01", [2], "gpu2", "nic1"),
        _vm("vision-etl", "esx01", [0], "gpu3", cpus=8, memory_gib=64),
        _vm("embed-2", "esx02", [1], "gpu0", cpus=8, memory_gib=64),
        _vm("notebook-anna", "esx02", None, "gpu2", cpus=8, memory_gib=64),
        _vm("rag-index", "esx03", [2], "gpu2", "nic0"),
        _vm("llm-serve-2", "esx03", [0], "gpu0", "gpu1"),
        _vm("batch-old", "esx04", [3], "gpu3", power="off"),
        _vm("web-1", "esx05", None, cpus=4, memory_gib=16),
    ],
}
_MEASURED = {
    "llm-serve-1": {"nodes": [0], "locality_percent": 99, "migrations": 0},
    "train-7b": {"nodes": [2], "locality_percent": [61, 55, 66], "migrations": 4},
    "vision-etl": {"nodes": [0], "locality_percent": 97, "migrations": 0},
}


@cache
def shown_report() -> AuditReport:
    """Return a report of a small site, with a history, as an admin would see it in the morning."""
    subject = build_subject(_SHOWN, {"measured": _MEASURED})
    report = run_audit(subject, [find_rule(rule) for rule in ("VPL001", "VPL002", "VPL003")])
    findings = tuple(
        replace(
            finding,
            new=index % 3 == 0,
            first_seen=report.taken_at if index % 3 == 0 else "2024-12-11T02:00:00Z",
        )
        for index, finding in enumerate(report.findings)
    )
    return replace(
        report,
        about=replace(report.about, name="vc.example.com"),
        findings=findings,
        pictures=host_pictures(subject),
        compared_with="2024-12-31T02:00:00Z",
        trend=_trend(),
    )


def _trend() -> tuple[TrendPoint, ...]:
    errors = (0, 0, 1, 1, 1, 2, 2, 2, 2, 5, 5, 4, 4, 4, 3, 3, 3, 2, 2, 2, 2, 3, 3, 2, 2, 3, 3, 3)
    return tuple(
        TrendPoint(
            taken_at=f"2024-12-{day:02}T02:00:00Z",
            complete=day != 13,
            errors=number,
            warnings=2 + number % 3,
            notes=1,
            waived=0,
            new=int(day % 3 == 0),
            gone=int(day % 4 == 0),
        )
        for day, number in enumerate(errors, start=4)
    )


def hostile_report(*names: str) -> AuditReport:
    """Return a report in which VMs and a host have hostile names, and each VM has a finding."""
    vms = [_vm(f"vm-{index}", "esx01", [0], "gpu2") for index in range(len(names))]
    site = {
        "host_kinds": {"a30": _A30},
        "clusters": [{"name": "c", "hosts": [{"kind": "a30"}]}],
        "vms": [{**vm, "power": "on" if index == 0 else "off"} for index, vm in enumerate(vms)],
    }
    subject = build_subject(site, {})
    named = {f"vm-{index}": name for index, name in enumerate(names)}
    inventory = subject.inventory
    vms_named = tuple(replace(vm, name=named[vm.name]) for vm in inventory.vms)
    hosts = tuple(replace(host, name=names[0]) for host in inventory.hosts)
    changed = type(subject)(replace(inventory, vms=vms_named, hosts=hosts), subject.overlays)
    report = run_audit(changed, [find_rule("VPL001")])
    (found,) = report.findings
    others = [
        replace(
            found,
            fingerprint=f"{index:016}",
            places=tuple(replace(p, name=name) if p.kind == "vm" else p for p in found.places),
            text=name,
            fix=name,
            owner=name,
        )
        for index, name in enumerate(names)
    ]
    return replace(report, findings=tuple(others), pictures=host_pictures(changed))


@cache
def big_report(hosts: int = 500) -> AuditReport:
    """Return a report of two findings a host."""
    vms = []
    for number in range(1, hosts + 1):
        esx = f"esx{number:02}"
        vms += [
            _vm(f"far-{number}", esx, [0], "gpu2"),
            _vm(f"beside-{number}", esx, [1], "gpu0"),
            _vm(f"near-{number}", esx, [0], "gpu1", "nic0"),
            _vm(f"floats-{number}", esx, None),
        ]
    site = {
        "host_kinds": {"a30": _A30},
        "clusters": [
            {"name": f"c{part}", "hosts": [{"kind": "a30", "count": hosts // 5}]} for part in range(5)
        ],
        "vms": vms,
    }
    subject = build_subject(site, {})
    report = run_audit(subject, [find_rule("VPL001"), find_rule("VPL002")])
    return replace(report, pictures=host_pictures(subject))


def shown_site() -> str:
    """Return the site of `shown_report` as a file's text."""
    return "format_version: 1\n" + yaml.safe_dump(_SHOWN)
