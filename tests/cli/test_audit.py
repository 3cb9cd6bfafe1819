"""`vplacer audit`: output files and exit codes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml

from tests.audit.full_report import SITE
from tests.cli.conftest import Runner
from vplacer.jobs.fixtures import fixture_path

AUDIT = "audit --from site.yaml --select VPL001 --select VPL002"
"""Of these rules alone, whatever others find."""


@pytest.fixture
def site(folder: Path) -> Path:
    """Write a site with a GPU and a NIC that are remote."""
    path = folder / "site.yaml"
    path.write_text(yaml.safe_dump({"format_version": 1, **SITE}))
    return path


@pytest.mark.usefixtures("site")
@pytest.mark.parametrize(
    ("name", "begins", "mode"),
    [
        ("a.txt", "vplacer audit: ", 0o600),
        ("a.json", "{", 0o600),
        ("a.ndjson", '{"type": "audit"', 0o600),
        ("a.sarif", '{\n  "$schema"', 0o600),
        ("a.xml", "<?xml", 0o600),
        ("a.csv", "kind,rule", 0o600),
        ("a.prom", "# HELP vplacer_", 0o644),
    ],
)
def test_the_suffix_chooses_the_format_and_the_next_run_replaces_the_file(
    name: str, begins: str, mode: int, vplacer: Runner
) -> None:
    for _ in range(2):
        outcome = vplacer(f"{AUDIT} -o {name}")
        assert (outcome.code, outcome.out) == (2, "")
        assert Path(name).read_text().startswith(begins)
        assert Path(name).stat().st_mode & 0o777 == mode
    Path(name).write_text("my notes")
    outcome = vplacer(f"audit --from site.yaml -o {name}")
    assert outcome.code == 1
    assert Path(name).read_text() == "my notes"


@pytest.mark.usefixtures("site")
def test_the_option_beats_the_suffix(vplacer: Runner) -> None:
    assert vplacer("audit --from site.yaml -o a.txt --format json").code == 2
    assert json.loads(Path("a.txt").read_text())["format"] == "vplacer-audit"


WAIVERS = """version: 1
waivers:
  - {rule: "*", host: esx01, reason: a lab, owner: me, expires: %s}
"""


@pytest.mark.usefixtures("site")
def test_what_is_waived_counts_no_more_until_the_waiver_ends(vplacer: Runner) -> None:
    Path("w.yaml").write_text(WAIVERS % "2025-01-01")
    outcome = vplacer(f"{AUDIT} --select VPL090 --waivers w.yaml -v")
    assert outcome.code == 0
    assert "waived by me until 2025-01-01: a lab" in outcome.out
    assert "VPL090" not in outcome.out
    Path("w.yaml").write_text(WAIVERS % "2024-12-31")
    outcome = vplacer(f"{AUDIT} --select VPL090 --waivers w.yaml --format github")
    assert outcome.code == 2
    assert "::warning title=VPL090 A waiver has expired,file=w.yaml,line=3::" in outcome.out


@pytest.mark.usefixtures("site")
def test_bad_waivers_are_told_by_line_before_anything_is_read(vplacer: Runner) -> None:
    Path("w.yaml").write_text(WAIVERS % "soon")
    outcome = vplacer("audit --from nowhere.yaml --waivers w.yaml")
    assert (outcome.code, outcome.out) == (3, "")
    assert "w.yaml:3:" in outcome.err
    outcome = vplacer("audit --from site.yaml --select waiver-expired")
    assert outcome.code == 3
    assert "VPL090 waiver-expired has nothing to look at without --waivers" in outcome.err
    before = Path("w.yaml").read_text()
    assert vplacer("audit --from site.yaml --waivers w.yaml -o w.yaml --force").code == 3
    assert Path("w.yaml").read_text() == before


def test_the_schema_of_waivers(vplacer: Runner) -> None:
    assert json.loads(vplacer("schema waivers").out)["title"] == "vplacer waivers"


@pytest.mark.usefixtures("site")
def test_history_and_trend(vplacer: Runner) -> None:
    first = vplacer(f"{AUDIT} --history h.db --format json")
    assert first.code == 2
    found = json.loads(first.out)["findings"]
    assert {item["first_seen"] for item in found} == {"2025-01-01T00:00:00Z"}
    Path("site.yaml").write_text(
        yaml.safe_dump(
            {"format_version": 1, "taken_at": "2025-02-01T00:00:00Z", **SITE, "vms": SITE["vms"][:1]}
        )
    )
    second = vplacer(f"{AUDIT} --history h.db")
    assert second.code == 0
    assert "Since the audit of 2025-01-01T00:00:00Z: 0 new, 0 still there, 2 gone" in second.out
    assert "Gone since then\n  VPL001 c / esx01 / hostile" in second.out
    trend = vplacer("audit --trend --history h.db")
    assert (trend.code, trend.out.splitlines()[0]) == (0, "vplacer audit trend: site, 2 audits")
    for _ in range(2):
        assert vplacer("audit --trend --history h.db -o t.csv").code == 0
        assert vplacer("audit --trend --history h.db -o t.json").code == 0
    assert len(Path("t.csv").read_text().splitlines()) == 3
    Path("site.yaml").write_text(yaml.safe_dump({"format_version": 1, **SITE}))
    third = vplacer(f"{AUDIT} --history h.db")
    assert "Warning: h.db has an audit of 2025-02-01T00:00:00Z, later than this inventory" in third.err


@pytest.mark.usefixtures("site")
@pytest.mark.parametrize(
    ("command", "says"),
    [
        ("audit --trend", "--trend shows a history"),
        (
            "audit --trend --history h.db --from site.yaml",
            "--trend reads the history alone, and --from nothing",
        ),
        ("audit --trend --history h.db --format sarif", "--trend is shown as text, json, csv, not sarif"),
        ("audit --trend --history h.db", "h.db: there is no such file"),
        ("audit --from site.yaml --history-days 3", "--history-days goes with --history only"),
        ("audit --from site.yaml --history site.yaml", "is read by this command"),
        ("audit --from site.yaml --history notes", "notes: not a history of audits"),
        ("audit --from site.yaml --history h.db -o h.db", "two outputs go into one file"),
        (
            "audit --from site.yaml --summary --format json",
            "--summary shortens the text; json is always whole",
        ),
    ],
)
def test_options_that_make_no_sense(command: str, says: str, vplacer: Runner) -> None:
    Path("notes").write_text("my notes, which are longer than the head of a database " * 10)
    outcome = vplacer(command)
    assert (outcome.code, outcome.out) == (3, "")
    assert says in outcome.err
    assert not Path("h.db").exists()


def _edited(site: str, *changes: tuple[str, str]) -> None:
    for old, new in changes:
        assert old in site
        site = site.replace(old, new)
    Path("site.yaml").write_text(site)


def test_since_a_plan(folder: Path, vplacer: Runner) -> None:
    site = fixture_path("sites", "floating").read_text()
    _edited(site)
    assert vplacer("plan --from site.yaml -r floating -o plan.json --no-rehearsal").code == 0
    still = vplacer("audit --from site.yaml --since plan.json --select VPL092 --format json")
    assert (still.code, json.loads(still.out)["findings"]) == (0, [])
    # What the plan itself would have changed is no drift; what it rested on is.
    _edited(
        site,
        ("power: off, cpus: 20", "power: off, cpus: 18"),
        ("name: float-2, on: esx01, cpus: 14", "name: float-2, on: esx01, cpus: 12"),
    )
    moved = vplacer("audit --from site.yaml --since plan.json --select VPL092 --format json")
    assert moved.code == 0
    (finding,) = json.loads(moved.out)["findings"]
    assert (finding["rule"], finding["places"][-1]["name"]) == ("VPL092", "float-2")
    assert "cpus: 14 -> 12" in finding["text"]
    before = Path("plan.json").read_bytes()
    assert vplacer("audit --from site.yaml --since plan.json -o plan.json --force").code == 3
    assert Path("plan.json").read_bytes() == before


@pytest.mark.usefixtures("site")
def test_since_an_earlier_audit(vplacer: Runner) -> None:
    vplacer(f"{AUDIT} -o last.json")
    gone = {**SITE, "vms": [SITE["vms"][0], {**SITE["vms"][1], "node_affinity": [1]}, SITE["vms"][2]]}
    Path("site.yaml").write_text(
        yaml.safe_dump({"format_version": 1, "taken_at": "2025-02-01T00:00:00Z", **gone})
    )
    outcome = vplacer(f"{AUDIT} --since last.json")
    assert "Since the audit of 2025-01-01T00:00:00Z: 0 new, 1 still there, 1 gone" in outcome.out
    left_out = vplacer("audit --from site.yaml --select VPL002 --since last.json -o last.json")
    assert left_out.code == 2
    report = json.loads(Path("last.json").read_text())
    assert [(item["rule"], item["new"], item["first_seen"]) for item in report["findings"]] == [
        ("VPL002", False, "2025-01-01T00:00:00Z")
    ]
    assert report["gone"] == []
    again = vplacer(f"{AUDIT} --since last.json --format json")
    assert {item["rule"]: item["new"] for item in json.loads(again.out)["findings"]}["VPL002"] is False
    Path("site.yaml").write_text(yaml.safe_dump({"format_version": 1, **SITE}))
    earlier = vplacer(f"{AUDIT} --since last.json")
    assert (earlier.code, earlier.out) == (3, "")
    assert "last.json: is an audit of 2025-02-01T00:00:00Z, later than this inventory" in earlier.err


@pytest.mark.usefixtures("site")
@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("my notes", "is neither a saved plan nor a report of an audit"),
        ('{"format": "vplacer-snapshot"}', "is a snapshot, neither a saved plan nor a report of an audit"),
        ('{"format": "vplacer-audit", "format_version": 1}', "is damaged: KeyError: 'taken_at'"),
        ('{"format": "vplacer-audit", "format_version": 9}', "format 9 is newer than this version reads"),
        ("kind,rule,name,severity,confidence,vcenter,\n", "other:1:1: not valid JSON"),
    ],
)
def test_since_something_else(content: str, says: str, vplacer: Runner) -> None:
    Path("other").write_text(content)
    outcome = vplacer("audit --from site.yaml --since other")
    assert (outcome.code, outcome.out) == (3, "")
    assert says in outcome.err
