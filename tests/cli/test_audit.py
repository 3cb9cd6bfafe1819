"""`vplacer audit`: output files and exit codes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml

from tests.audit.full_report import SITE
from tests.cli.conftest import Runner


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
        outcome = vplacer(f"audit --from site.yaml -o {name}")
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
    outcome = vplacer("audit --from site.yaml --waivers w.yaml -v")
    assert outcome.code == 0
    assert "waived by me until 2025-01-01: a lab" in outcome.out
    assert "VPL090" not in outcome.out
    Path("w.yaml").write_text(WAIVERS % "2024-12-31")
    outcome = vplacer("audit --from site.yaml --waivers w.yaml --format github")
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
    first = vplacer("audit --from site.yaml --history h.db --format json")
    assert first.code == 2
    found = json.loads(first.out)["findings"]
    assert {item["first_seen"] for item in found} == {"2025-01-01T00:00:00Z"}
    Path("site.yaml").write_text(
        yaml.safe_dump(
            {"format_version": 1, "taken_at": "2025-02-01T00:00:00Z", **SITE, "vms": SITE["vms"][:1]}
        )
    )
    second = vplacer("audit --from site.yaml --history h.db")
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
    third = vplacer("audit --from site.yaml --history h.db")
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
