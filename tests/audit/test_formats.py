"""Formats of an audit, read by programs of others."""

from __future__ import annotations

import csv
import io
import json
import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
import xmlschema
from jsonschema import Draft202012Validator
from junitparser import Error, Failure, JUnitXml, Skipped
from prometheus_client.openmetrics.parser import text_string_to_metric_families as read_openmetrics
from prometheus_client.parser import text_string_to_metric_families as read_prometheus

from tests.audit.full_report import HOSTILE, empty_report, full_report
from vplacer.jobs.file_kind import FileKind, kind_of
from vplacer.report.audit_formats import audit_format, audit_format_names, audit_format_of
from vplacer.report.audit_text import audit_text

SCHEMAS = Path(__file__).parent / "schemas"
NAMES = audit_format_names()


def written(name: str, report: Any = None) -> str:
    report = report or full_report()
    return audit_text(report) if name == "text" else audit_format(name)(report)


def promtool() -> str:
    found = shutil.which("promtool")
    if found is None and os.environ.get("CI"):
        pytest.fail("promtool is not installed (Debian's package prometheus)")
    if found is None:
        pytest.skip("promtool is not installed")
    return found


@pytest.mark.parametrize("name", NAMES)
def test_the_same_report_gives_the_same_bytes(name: str) -> None:
    assert written(name) == written(name)


@pytest.mark.parametrize("name", NAMES)
def test_a_report_is_known_again_so_that_the_next_may_replace_it(name: str, tmp_path: Path) -> None:
    for report in (full_report(), empty_report(complete=True)):
        file = tmp_path / "report"
        file.write_text(written(name, report))
        assert kind_of(file) is FileKind.AUDIT


@pytest.mark.parametrize("name", NAMES)
def test_incomplete_and_empty_never_reads_like_clean(name: str) -> None:
    assert written(name, empty_report(complete=False)) != written(name, empty_report(complete=True))


@pytest.mark.parametrize(
    ("file", "name"),
    [
        ("a.json", "json"),
        ("a.SARIF", "sarif"),
        ("a.sarif.json", "sarif"),
        ("a.xml", "junit"),
        ("a.prom", "prometheus"),
        ("a.jsonl", "ndjson"),
        ("report", "text"),
        ("a.md", "text"),
    ],
)
def test_the_suffix_tells_the_format(file: str, name: str) -> None:
    assert audit_format_of(Path(file)) == name


# SARIF


def sarif_run(report: Any = None) -> dict[str, Any]:
    run: dict[str, Any] = json.loads(written("sarif", report))["runs"][0]
    return run


@pytest.mark.parametrize("report", [full_report(), empty_report(complete=True)], ids=["full", "empty"])
def test_sarif_fits_its_schema(report: Any) -> None:
    schema = json.loads((SCHEMAS / "sarif-2.1.0.json").read_text())
    faults = list(Draft202012Validator(schema).iter_errors(json.loads(written("sarif", report))))
    assert [fault.message for fault in faults] == []


def test_sarif_tells_where_in_logical_locations() -> None:
    run = sarif_run()
    (result,) = [item for item in run["results"] if item["ruleId"] == "VPL001"]
    (where,) = result["locations"][0]["logicalLocations"]
    table = run["logicalLocations"]
    assert table[where["index"]]["fullyQualifiedName"] == where["fullyQualifiedName"]
    kinds = []
    step: dict[str, Any] | None = table[where["index"]]
    while step is not None:
        kinds.append(step["kind"])
        step = table[step["parentIndex"]] if "parentIndex" in step else None
    assert kinds == ["device", "vm", "host", "cluster", "datacenter", "vcenter"]
    assert run["tool"]["driver"]["rules"][result["ruleIndex"]]["id"] == "VPL001"
    assert result["locations"][0]["physicalLocation"] == {
        "artifactLocation": {"uri": "a%20b/waivers.yaml"},
        "region": {"startLine": 12},
    }


def test_sarif_waivers_baseline_and_first_detection() -> None:
    by_rule = {item["ruleId"]: item for item in sarif_run()["results"]}
    assert by_rule["VPL001"]["baselineState"] == "new"
    assert "suppressions" not in by_rule["VPL001"]
    assert by_rule["VPL002"]["suppressions"] == [
        {
            "kind": "external",
            "status": "accepted",
            "justification": "it is so, by design (ops, until 2030-01-01)",
        }
    ]
    assert by_rule["VPL003"]["provenance"] == {"firstDetectionTimeUtc": "2024-06-01T00:00:00Z"}


def test_sarif_says_what_was_not_read_and_not_evaluated() -> None:
    (invocation,) = sarif_run()["invocations"]
    assert invocation["executionSuccessful"] is False
    notes = invocation["toolExecutionNotifications"]
    assert [item["level"] for item in notes if item["descriptor"]["index"] == 0] == ["error"]
    untold = [item["associatedRule"]["id"] for item in notes if item["descriptor"]["index"] == 1]
    assert "VPL003" in untold
    assert sarif_run(empty_report(complete=True))["invocations"] == [
        {"executionSuccessful": True, "toolExecutionNotifications": []}
    ]


# JUnit


@pytest.mark.parametrize(
    "report",
    [full_report(), empty_report(complete=True), empty_report(complete=False)],
    ids=["full", "clean", "incomplete"],
)
def test_junit_fits_the_schema_of_jenkins(report: Any) -> None:
    xmlschema.XMLSchema(str(SCHEMAS / "junit-10.xsd")).validate(written("junit", report))


def junit_cases(report: Any = None) -> dict[str, list[Any]]:
    read = JUnitXml.fromstring(written("junit", report).encode())
    return {case.name: list(case.result) for suite in read for case in suite}


def test_junit_read_by_others() -> None:
    read = JUnitXml.fromstring(written("junit").encode())
    assert (read.failures, read.errors) == (2, 1)
    assert [suite.name for suite in read][:2] == ["esx01", "esx02"]
    cases = junit_cases()
    assert len(cases) == read.tests
    (remote,) = [results for name, results in cases.items() if name.startswith("VPL001 gpu-remote: ")]
    assert isinstance(remote[0], Failure)
    (waived,) = [results for name, results in cases.items() if name.startswith("VPL002 nic-remote: ")]
    assert isinstance(waived[0], Skipped)
    assert waived[0].message == "waived by ops until 2030-01-01: it is so, by design"
    (unread,) = [results for name, results in cases.items() if name.startswith("inventory: ")]
    assert isinstance(unread[0], Error)


def test_junit_with_nothing_found() -> None:
    assert junit_cases(empty_report(complete=True)) == {"no findings": []}
    ((name, results),) = junit_cases(empty_report(complete=False)).items()
    assert name == "inventory: esx02 (host-1002): hardware"
    assert isinstance(results[0], Error)


def test_junit_names_are_told_apart() -> None:
    report = full_report()
    (twice,) = [finding for finding in report.findings if finding.rule == "VPL001"]
    root = ElementTree.fromstring(written("junit", type(report)(**fields(report, findings=(twice, twice)))))
    names = [case.get("name") for case in root.iter("testcase") if "VPL001" in case.get("name", "")]
    assert len(names) == len(set(names)) == 2


def fields(report: Any, **changes: Any) -> dict[str, Any]:
    return {name: getattr(report, name) for name in report.__slots__} | changes


# GitHub


def test_github_annotations_are_one_line_each() -> None:
    lines = written("github").splitlines()
    pattern = re.compile(r"::(error|warning|notice) title=[^:,]*(?:,file=[^:,]*,line=\d+)?::[^\r\n]*")
    assert [line for line in lines if not pattern.fullmatch(line)] == []
    assert lines[0].startswith("::error title=vplacer audit%3A incomplete::esx02 (host-1002)")
    (remote,) = [line for line in lines if "title=VPL001" in line]
    assert ",file=a b/waivers.yaml,line=12::" in remote
    assert "100 %25: \\n <b>&%0A::error::" in remote
    assert not any("VPL002" in line for line in lines)
    assert lines[-1].startswith("::notice title=vplacer audit::Audit: ")


# CSV


def test_csv_read_back() -> None:
    rows = list(csv.DictReader(io.StringIO(written("csv"))))
    assert {row["kind"] for row in rows} == {"finding", "gone", "not-evaluated", "missing"}
    (remote,) = [row for row in rows if (row["kind"], row["rule"]) == ("finding", "VPL001")]
    assert remote["vm"] == f"'{HOSTILE}"
    assert (remote["new"], remote["file"], remote["line"]) == ("yes", "a b/waivers.yaml", "12")
    (waived,) = [row for row in rows if row["waived_by"]]
    assert (waived["rule"], waived["waived_until"]) == ("VPL002", "2030-01-01")
    (gone,) = [row for row in rows if row["kind"] == "gone"]
    assert (gone["text"], gone["vm"]) == ("'+1 GPU was remote", "'@old")


def test_csv_has_no_formula() -> None:
    cells = [cell for row in csv.reader(io.StringIO(written("csv"))) for cell in row]
    assert [cell for cell in cells if cell.startswith(("=", "+", "-", "@", "\t", "\r", "\n"))] == []


# ndjson


def test_ndjson_has_a_head_and_an_end() -> None:
    lines = [json.loads(line) for line in written("ndjson").splitlines()]
    assert lines[0]["type"] == "audit"
    assert lines[0]["format"] == "vplacer-audit"
    report = full_report()
    assert [line["rule"] for line in lines if line["type"] == "finding"] == [f.rule for f in report.findings]
    assert [line["text"] for line in lines if line["type"] == "gone"] == ["+1 GPU was remote"]
    assert [line["object"] for line in lines if line["type"] == "missing"] == ["host-1002"]
    assert any(line["type"] == "not_evaluated" and line["rule"] == "VPL003" for line in lines)
    last = lines[-1]
    assert (last["type"], last["complete"], last["waived"]) == ("summary", False, 1)


# Metrics


def samples(text: str, reader: Any) -> dict[tuple[str, frozenset[tuple[str, str]]], float]:
    found = {}
    for family in reader(text):
        for sample in family.samples:
            key = (sample.name, frozenset(sample.labels.items()) - {("vcenter", full_report().about.name)})
            assert key not in found
            found[key] = sample.value
    return found


def value(found: Any, name: str, **labels: str) -> float:
    ((_, number),) = [
        (key, number)
        for (key, has), number in found.items()
        if key == name and frozenset(labels.items()) <= has
    ]
    return float(number)


@pytest.mark.parametrize("report", [full_report(), empty_report(complete=True)], ids=["full", "empty"])
def test_promtool_finds_no_fault(report: Any) -> None:
    run = subprocess.run(
        [promtool(), "check", "metrics"],
        input=written("prometheus", report).encode(),
        capture_output=True,
        check=False,
    )
    assert (run.returncode, run.stdout, run.stderr) == (0, b"", b"")


def test_metrics_say_what_the_report_says() -> None:
    found = samples(written("prometheus"), read_prometheus)
    assert value(found, "vplacer_audit_complete") == 0
    assert value(found, "vplacer_audit_inventory_timestamp_seconds") == 1735689600
    assert value(found, "vplacer_audit_findings", rule="VPL001", severity="warning") == 1
    assert value(found, "vplacer_audit_findings", rule="VPL001", severity="error") == 0
    assert value(found, "vplacer_audit_findings", rule="VPL002", severity="error") == 0
    assert value(found, "vplacer_audit_waived_findings", rule="VPL002") == 1
    assert value(found, "vplacer_audit_not_evaluated", rule="VPL003") > 0
    oldest = value(found, "vplacer_audit_oldest_finding_timestamp_seconds", rule="VPL003")
    assert oldest == 1717200000
    assert value(found, "vplacer_vm_memory_local_ratio", vm="near") == 0.62
    assert value(found, "vplacer_vm_numa_migrations", vm="near") == 3
    assert value(found, "vplacer_vm_devices", vm="near", kind="gpu", locality="local") == 1
    assert value(found, "vplacer_vm_devices", vm=HOSTILE, kind="gpu", locality="same_socket") == 1
    assert value(found, "vplacer_vm_devices", vm=HOSTILE, kind="nic", locality="remote") == 1
    assert value(found, "vplacer_vm_devices", vm="floats", kind="gpu", locality="unknown") == 1
    assert value(found, "vplacer_host_devices", host="esx01", kind="gpu", locality="local") == 1
    assert value(found, "vplacer_host_devices", host="esx02", kind="nic", locality="remote") == 0
    assert value(found, "vplacer_vm_host_info", vm=HOSTILE, host="esx01") == 1


def test_openmetrics_is_the_same_in_the_other_format() -> None:
    text = written("openmetrics")
    assert text.endswith("# EOF\n")
    assert "# UNIT vplacer_vm_memory_local_ratio ratio\n" in text
    assert samples(text, read_openmetrics) == samples(written("prometheus"), read_prometheus)


def test_no_series_is_named_by_what_changes_each_run() -> None:
    labels = {name for _, has in samples(written("prometheus"), read_prometheus) for name, _ in has}
    known = {"vcenter", "cluster", "host", "vm", "moid", "kind", "locality", "rule", "name", "severity"}
    assert labels <= known
