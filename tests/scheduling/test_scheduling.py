"""What docs/scheduling holds is valid where a tool can tell, and the script runs."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import kubernetes_validate
import pytest
import yaml

from tests.conftest import REPO, missing

FOLDER = REPO / "docs" / "scheduling"
SCRIPT = FOLDER / "vplacer-audit.sh"


def _tool(name: str) -> str:
    """Return a program's path. Those of a virtual environment stand beside its Python."""
    found = shutil.which(name, path=f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    if found is None:
        missing(f"{name} is not installed")
    return found


def _run(*command: str | Path, code: int = 0, **kwargs: Any) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(
        [str(part) for part in command], capture_output=True, text=True, check=False, **kwargs
    )
    assert done.returncode == code, f"{done.returncode}\n{done.stdout}\n{done.stderr}"
    return done


# The script


def _audited(tmp_path: Path, code: int, **environ: str) -> subprocess.CompletedProcess[str]:
    """Run the script with a `vplacer` on its path that is this checkout."""
    shim = tmp_path / "bin" / "vplacer"
    shim.parent.mkdir(exist_ok=True)
    shim.write_text(f'#!/bin/sh\nexec {sys.executable} -m vplacer "$@"\n')
    shim.chmod(0o755)
    path = f"{shim.parent}{os.pathsep}{os.environ['PATH']}"
    home = {"HOME": str(tmp_path), "PATH": path, "PYTHONPATH": str(REPO)}
    return _run("sh", SCRIPT, code=code, env={**home, **environ})


def test_script_writes_every_report_and_ends_with_the_code_of_the_audit(tmp_path: Path) -> None:
    state, metrics = tmp_path / "state", tmp_path / "metrics"
    state.mkdir()
    metrics.mkdir()
    site = tmp_path / "far.yaml"
    site.write_text(_FAR)
    done = _audited(
        tmp_path, 2, VPLACER_LAB=str(site), VPLACER_AUDIT_STATE=str(state), VPLACER_METRICS_DIR=str(metrics)
    )
    assert "VPL001" in done.stdout
    assert json.loads((state / "audit.json").read_text())["summary"]["error"] == 1
    assert 'locality="remote"' in (metrics / "vplacer.prom").read_text()
    assert (state / "audit.sqlite").is_file()


def test_script_tells_of_a_vcenter_that_does_not_answer(tmp_path: Path) -> None:
    password = tmp_path / "password"
    password.write_text("secret-of-test")
    done = _audited(
        tmp_path,
        1,
        VPLACER_VCENTER="127.0.0.1:9",
        VPLACER_USERNAME="audit",
        VPLACER_PASSWORD_FILE=str(password),
        STATE_DIRECTORY=str(tmp_path),
    )
    assert "127.0.0.1" in done.stderr
    assert "secret-of-test" not in done.stdout + done.stderr
    assert not (tmp_path / "audit.json").exists()


_FAR = """
format_version: 1
host_kinds:
  two: {cpu: {packages: 2, cores: 16}, memory_gib: 128, devices: [{gpu: A30, node: 0}]}
clusters: [{name: c, hosts: [{kind: two}]}]
vms:
  - {name: far, on: esx01, cpus: 4, memory_gib: 16, node_affinity: [1], devices: [{static: gpu0}]}
"""


def test_script_is_clean_shell() -> None:
    _run(_tool("shellcheck"), "--shell=sh", "--severity=style", SCRIPT)


# Schedulers


def test_systemd_units_are_valid(tmp_path: Path) -> None:
    """The script must be there for `systemd-analyze verify`; it stands in the root that is looked at."""
    analyze = _tool("systemd-analyze")
    for unit in (FOLDER / "systemd").iterdir():
        text = unit.read_text().replace("/usr/local/bin/vplacer-audit.sh", "/bin/true")
        (tmp_path / unit.name).write_text(text)
    units = sorted(tmp_path.glob("vplacer-audit.*"))
    assert len(units) == 2
    done = _run(analyze, "verify", "--man=no", *units)
    assert "vplacer-audit" not in done.stderr, done.stderr


def test_systemd_service_takes_findings_for_done_and_holds_no_secret() -> None:
    text = (FOLDER / "systemd" / "vplacer-audit.service").read_text()
    assert "SuccessExitStatus=2\n" in text
    assert not re.search(r"PASSWORD=(?!%d)", text)


def test_systemd_service_is_hardened() -> None:
    """`systemd-analyze security` counts what a service may do: 0 is nothing, 10 everything."""
    done = subprocess.run(
        [_tool("systemd-analyze"), "security", "--offline=true", "--threshold=25", "vplacer-audit.service"],
        env={**os.environ, "SYSTEMD_UNIT_PATH": f"{FOLDER / 'systemd'}:"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_crontab_is_one() -> None:
    lines = [line for line in (FOLDER / "crontab").read_text().splitlines() if line and line[0] != "#"]
    jobs = [line for line in lines if not re.match(r"[A-Z_]+=", line)]
    assert len(jobs) == 1
    assert re.fullmatch(r"[0-5]?\d (1?\d|2[0-3]) \* \* \* /usr/local/bin/vplacer-audit\.sh", jobs[0])
    assert not any(line.startswith("VPLACER_PASSWORD=") for line in lines)


def test_kubernetes_objects_are_valid() -> None:
    documents = list(yaml.safe_load_all((FOLDER / "kubernetes" / "cronjob.yaml").read_text()))
    assert [item["kind"] for item in documents] == ["ConfigMap", "PersistentVolumeClaim", "CronJob"]
    for document in documents:
        kubernetes_validate.validate(document, kubernetes_validate.latest_version(), strict=True)


@pytest.mark.parametrize(
    ("file", "schema"), [("github", "vendor.github-workflows"), ("gitlab", "vendor.gitlab-ci")]
)
def test_ci_jobs_are_valid(file: str, schema: str) -> None:
    _run(_tool("check-jsonschema"), "--builtin-schema", schema, FOLDER / "ci" / f"{file}.yaml")


# Monitoring


def test_alerts_fire_when_they_should() -> None:
    rules = FOLDER / "prometheus" / "vplacer-alerts.yaml"
    _run(_tool("promtool"), "check", "rules", "--lint=all", "--lint-fatal", rules)
    _run(_tool("promtool"), "test", "rules", "alerts.test.yaml", cwd=Path(__file__).parent)


def test_dashboard_and_alerts_ask_for_metrics_that_are_written(tmp_path: Path) -> None:
    dashboard = json.loads((FOLDER / "grafana" / "vplacer.json").read_text())
    queries = [target["expr"] for panel in dashboard["panels"] for target in panel["targets"]]
    assert len(queries) >= 10
    alerts = yaml.safe_load((FOLDER / "prometheus" / "vplacer-alerts.yaml").read_text())
    queries += [rule["expr"] for group in alerts["groups"] for rule in group["rules"]]
    source = (REPO / "vplacer" / "report" / "audit_metrics.py").read_text()
    written = set(re.findall(r'"(vplacer_\w+)"', source))
    units = {f"{name}_{unit}" for name in written for unit in ("seconds", "ratio")}
    asked = {name for query in queries for name in re.findall(r"vplacer_\w+", query)}
    assert asked <= written | units
    # Every query is PromQL: a rules file of them is checked.
    recorded = [
        {"record": f"q:{i}", "expr": query.replace("$vcenter", ".*")} for i, query in enumerate(queries)
    ]
    file = tmp_path / "queries.yaml"
    file.write_text(yaml.safe_dump({"groups": [{"name": "queries", "rules": recorded}]}))
    _run(_tool("promtool"), "check", "rules", "--lint=none", file)
