"""`vplacer doctor`: exit codes, formats, the saved report, every source."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.conftest import Runner
from vplacer.jobs.fixtures import fixture_path


def test_text_names_things_and_ends_in_a_summary(vplacer: Runner) -> None:
    outcome = vplacer("doctor --from untold")
    assert outcome.code == 2
    assert "DIFFERS     D12 every GPU and NIC has a node: no NUMA node for 9 cards" in outcome.out
    assert "esx02 0000:04:00.0 10de:1eb8 (gpu)" in outcome.out
    assert "names are real" in outcome.out.splitlines()[0]
    assert outcome.out.splitlines()[-1].startswith("Doctor: ")


@pytest.mark.parametrize(("name", "starts"), [("r.md", "# vplacer doctor\n"), ("r.txt", "vplacer doctor: ")])
def test_the_saved_report_has_no_names(vplacer: Runner, folder: Path, name: str, starts: str) -> None:
    outcome = vplacer(f"doctor --from untold -o {name}")
    text = (folder / name).read_text()
    assert text.startswith(starts)
    assert "names are pseudonyms" in text
    assert "esx02" in outcome.out
    assert "esx" not in text.replace("esxtop", "").replace("esxcli", "")
    assert "host-2 0000:04:00.0 10de:1eb8 (gpu)" in text
    assert "names replaced by pseudonyms" in outcome.err
    assert (folder / name).stat().st_mode & 0o777 == 0o600
    # A report is replaced by a report, other files are not.
    assert vplacer(f"doctor --from untold -o {name}").code == 2
    (folder / name).write_text("my notes")
    assert vplacer(f"doctor --from untold -o {name}").code == 1


def test_real_names_in_a_file_take_a_word(vplacer: Runner, folder: Path) -> None:
    outcome = vplacer("doctor --from untold -o r.json --no-anonymize")
    document = json.loads((folder / "r.json").read_text())
    assert document["anonymous"] is False
    assert "REAL names" in outcome.err
    assert "esx02" in (folder / "r.json").read_text()


def test_json_is_stable(vplacer: Runner) -> None:
    outcome = vplacer("doctor --from a30pairs --format json --anonymize")
    document = json.loads(outcome.out)
    assert outcome.code == 0
    assert (document["format"], document["format_version"]) == ("vplacer-doctor", 1)
    assert document["vcenter"]["name"] == "vcenter-1"
    assert document["source"] == "file"
    outcomes = {check["id"]: check["outcome"] for check in document["checks"]}
    assert (outcomes["D10"], outcomes["D26"]) == ("ok", "not checked")
    assert {verb["outcome"] for verb in document["privileges"]} == {"not checked"}
    assert outcome.out == vplacer("doctor --from a30pairs --format json --anonymize").out


def test_a_simulated_vcenter_has_a_session(vplacer: Runner) -> None:
    outcome = vplacer("doctor --lab a30pairs --for apply --format json")
    document = json.loads(outcome.out)
    verbs = {verb["verb"]: (verb["asked"], verb["outcome"]) for verb in document["privileges"]}
    assert verbs == {
        "read": (False, "ok"),
        "measure": (False, "ok"),
        "plan": (False, "ok"),
        "apply": (True, "ok"),
    }
    assert document["licences"]["found"][0]["has"]["DRS"] == "yes"
    assert [call for call in document["calls"] if call["call"] == "HasPrivilegeOnEntities"]


def test_a_recording_of_the_doctor_is_replayed(vplacer: Runner, folder: Path) -> None:
    live = vplacer("doctor --lab a30pairs --record s.json.gz --format json")
    again = vplacer("doctor --replay s.json.gz --format json")
    assert (live.err, again.err) == ("", "")
    one, other = (json.loads(outcome.out)["checks"] for outcome in (live, again))
    same = [a["id"] for a, b in zip(one, other, strict=True) if a["outcome"] == b["outcome"]]
    # The certificate, and licence editions, are not in a recording.
    assert {check["id"] for check in one} - set(same) <= {"D02", "D29"}


def test_a_recording_of_another_command_is_told_and_no_error(vplacer: Runner) -> None:
    outcome = vplacer(["doctor", "--replay", str(fixture_path("cassettes", "a30pairs"))])
    assert outcome.code == 5
    assert "D10 NUMA nodes list their devices: hosts tell" in outcome.out
    assert "the recorded session has no answer" in outcome.out


def test_the_report_is_not_written_over_an_input(vplacer: Runner, folder: Path) -> None:
    assert vplacer("collect --lab a30pairs -o s.json").code == 0
    assert vplacer("doctor --from s.json -o s.json --force").code == 3


def test_no_connection_is_an_error(vplacer: Runner, folder: Path) -> None:
    (folder / "pw").write_text("x\n")
    (folder / "pw").chmod(0o600)
    assert vplacer("doctor --vcenter 127.0.0.1:1 --username u --password-file pw").code == 1
