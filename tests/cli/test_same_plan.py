"""A site gives the same plan, byte for byte, from its simulated vCenter, a recording and a snapshot."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.conftest import Runner
from vplacer.jobs.fixtures import list_fixtures

SITES = [site for site in list_fixtures("sites") if site in list_fixtures("requests")]
LARGE = {"big96"}


@pytest.mark.parametrize("site", [site for site in SITES if site not in LARGE])
def test_three_sources(site: str, folder: Path, vplacer: Runner) -> None:
    assert vplacer(f"lab record {site} -o tape.json.gz").code == 0
    assert vplacer(f"collect --lab {site} -o snapshot.json.gz").code == 0
    plans = {}
    for name, source in (
        ("lab", f"--lab {site}"),
        ("tape", "--replay ./tape.json.gz"),
        ("snapshot", "--from ./snapshot.json.gz"),
    ):
        outcome = vplacer(f"plan {source} -r {site} --now 2026-11-30T08:10:00Z -o {name}.json")
        assert outcome.code == 0, outcome.err
        plans[name] = (folder / f"{name}.json").read_bytes()
    assert plans["tape"] == plans["lab"]
    assert plans["snapshot"] == plans["lab"]


@pytest.mark.parametrize("site", list_fixtures("cassettes"))
def test_the_recording_that_comes_along_is_of_todays_site(site: str, folder: Path, vplacer: Runner) -> None:
    """A site, the simulated vCenter or the collector changed: record again (tests/record_cassettes.py)."""
    lab = vplacer(f"plan --lab {site} -r {site} --now 2026-11-30 --format json")
    tape = vplacer(f"plan --replay {site} -r {site} --now 2026-11-30 --format json")
    assert (lab.code, tape.code) == (0, 0), lab.err + tape.err
    assert tape.out == lab.out


def test_only_created_differs_without_now(folder: Path, vplacer: Runner) -> None:
    import json

    assert vplacer("collect --lab floating -o snapshot.json").code == 0
    lab = json.loads(vplacer("plan --lab floating -r floating --format json").out)
    snapshot = json.loads(vplacer("plan --from ./snapshot.json -r floating --format json").out)
    assert {key for key in lab if lab[key] != snapshot[key]} <= {"created", "sha256"}


def test_a_dry_run_writes_nothing_anywhere(folder: Path, vplacer: Runner) -> None:
    outcome = vplacer("plan --dry-run --lab floating -r floating")
    assert (outcome.code, outcome.err) == (0, "")
    assert list(folder.parent.rglob("*")) == [folder]
