"""A neglected site gives the findings that were checked by hand, a clean one none, by all rules."""

from __future__ import annotations

from tests.conftest import REPO
from vplacer.audit.model import AuditReport
from vplacer.audit.registry import all_rules
from vplacer.audit.run import run_audit
from vplacer.audit.subject import Subject
from vplacer.inventory.load import load_inventory_file
from vplacer.inventory.yaml_marks import read_document

CASES = REPO / "tests" / "cases" / "audit"


def _audit(name: str) -> AuditReport:
    site = load_inventory_file(CASES / name)
    return run_audit(Subject(site.inventory, site.overlays), [rule for rule in all_rules() if not rule.needs])


def test_ugly_site() -> None:
    found: dict[str, list[str]] = {}
    for finding in _audit("ugly-site.yaml").findings:
        about = next(place.name for place in reversed(finding.places) if place.kind != "device")
        found.setdefault(finding.rule, []).append(about)
    expected = read_document(CASES / "ugly-findings.yaml").data
    assert {rule: sorted(about) for rule, about in found.items()} == {
        rule: sorted(objects) for rule, objects in expected.items()
    }


def test_clean_site() -> None:
    report = _audit("clean-site.yaml")
    assert [(finding.rule, finding.text) for finding in report.findings] == []
    assert report.complete
