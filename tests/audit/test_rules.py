"""Runs tests/cases/audit: one file a rule, with a site, and what the rule finds in it and in variants of it.

A case: ``change`` is laid over the site (mappings by key, lists of named things by name), ``measured`` maps
VMs to what esxtop told, ``settings`` are thresholds, ``gaps`` what could not be read, ``waivers`` the entries
of such a file; ``set``, ``without`` and ``bindings`` say what a site file cannot (`audit_case`), ``unset``
lists fields of hosts and VMs that were not told, ``esxcli`` what the esxcli of hosts told and is not used,
``told`` findings of those who asked hosts, ``off_since`` since when VMs were seen off,
``moved`` what moved since a plan. ``beside`` names rules that are run too. ``find`` lists every finding:
``about`` (its narrowest place by name), and where it matters ``says`` (part of the text), ``severity``,
``confidence``, ``device``, ``mendable``, ``owner``, ``fix``. ``unevaluated`` lists what was not evaluated:
``about`` and ``says``. Both are empty where they are not given: a near miss.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from tests.audit.audit_case import build_subject
from tests.conftest import REPO
from vplacer.audit.model import AuditFinding, AuditReport, Place
from vplacer.audit.registry import all_rules, find_rule
from vplacer.audit.run import run_audit
from vplacer.inventory.yaml_marks import read_document

CASES = REPO / "tests" / "cases" / "audit"


def _cases() -> Iterator[tuple[str, str, dict[str, Any], dict[str, Any]]]:
    for path in sorted(CASES.glob("vpl*.yaml")):
        document = read_document(path).data
        for case in document["cases"]:
            yield path.stem.upper(), case["name"], document["site"], case


@pytest.mark.parametrize(
    ("rule", "site", "case"),
    [pytest.param(rule, site, case, id=f"{rule}: {name}") for rule, name, site, case in _cases()],
)
def test_rule(rule: str, site: dict[str, Any], case: dict[str, Any]) -> None:
    subject = build_subject(site, case)
    whole = run_audit(subject, [find_rule(rule), *map(find_rule, case.get("beside", []))])
    report = replace(
        whole, findings=tuple(f for f in whole.findings if f.rule == rule), rules=whole.rules[:1]
    )
    shown = [f"{_about(f.places)}: {f.text} ({f.severity}, {f.certainty})" for f in report.findings]
    wanted = case.get("find", [])
    assert [_about(f.places) for f in report.findings] == [str(item["about"]) for item in wanted], shown
    for finding, item in zip(report.findings, wanted, strict=True):
        _compare(finding, item, shown)
    _compare_untold(report, case)
    assert all(finding.text and not finding.text.endswith(".") for finding in report.findings), shown
    assert len({finding.fingerprint for finding in report.findings}) == len(report.findings), shown


def _about(places: tuple[Place, ...]) -> str:
    return next((p.name for p in reversed(places) if p.kind != "device"), "")


def _compare(finding: AuditFinding, item: dict[str, Any], shown: list[str]) -> None:
    assert item.get("says", "") in finding.text, shown
    assert item.get("fix", "") in finding.fix, finding.fix
    assert item.get("owner", "") in (finding.owner or ""), finding.owner
    told = {
        "severity": finding.severity.value,
        "confidence": finding.certainty.value,
        "device": finding.device,
        "mendable": finding.mendable,
    }
    stated = {key: item[key] for key in told if key in item}
    assert stated == {key: told[key] for key in stated}, shown


def _compare_untold(report: AuditReport, case: dict[str, Any]) -> None:
    untold = report.rules[0].not_evaluated
    shown = [f"{_about(item.places)}: {item.why}" for item in untold]
    wanted = case.get("unevaluated", [])
    assert [_about(item.places) for item in untold] == [item["about"] for item in wanted], shown
    for item, expected in zip(untold, wanted, strict=True):
        assert expected.get("says", "") in item.why, shown


def test_every_rule_has_a_finding_and_a_near_miss() -> None:
    hits = {rule for rule, _, _, case in _cases() if case.get("find")}
    misses = {rule for rule, _, _, case in _cases() if not case.get("find") and not case.get("unevaluated")}
    ids = {rule.id for rule in all_rules()}
    assert hits == ids
    assert misses == ids


def test_every_rule_explains_itself() -> None:
    names = [rule.name for rule in all_rules()]
    assert len(set(names)) == len(names)
    for rule in all_rules():
        for text in (rule.cause, rule.evidence, rule.fix):
            assert text.endswith("."), (rule.id, text)
            assert len(text) > 40, (rule.id, text)
        assert rule.sample[-1:] not in ("", "."), rule.id


def test_two_audits_of_one_snapshot_are_equal() -> None:
    _, _, site, case = next(item for item in _cases() if item[3].get("find"))
    reports = [run_audit(build_subject(site, case), all_rules()) for _ in range(2)]
    assert reports[0].findings
    assert reports[0] == reports[1]
