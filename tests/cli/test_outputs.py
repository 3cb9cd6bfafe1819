"""What an output may replace: a file of its own kind, never one that is read."""

from __future__ import annotations

import gzip
import shutil
from pathlib import Path

import pytest

from tests.cli.conftest import Runner
from vplacer.jobs.fixtures import fixture_path

COMMANDS = {
    "plan": "plan --from site.json -r request.yaml -o {}",
    "snapshot": "collect --from tape.json --allow-incomplete -o {}".replace("--from", "--replay"),
    "recording": "lab record site.yaml -o {}",
    "record option": "collect --lab site.yaml -o other.json --record {}",
}
OWN_KIND = {
    "plan": "plan.json",
    "snapshot": "site.json",
    "recording": "tape.json",
    "record option": "tape.json",
}


@pytest.fixture
def files(folder: Path, vplacer: Runner) -> Path:
    """Fill the folder with one file of each kind."""
    shutil.copy(fixture_path("sites", "floating"), folder / "site.yaml")
    shutil.copy(fixture_path("requests", "floating"), folder / "request.yaml")
    assert vplacer("collect --lab site.yaml -o site.json --record tape.json").code == 0
    assert vplacer("plan --from site.json -r request.yaml -o plan.json").code == 0
    (folder / "notes.txt").write_text("my notes")
    (folder / "strange.json").write_text('{"format": "another-tool"}')
    (folder / "empty").touch()
    return folder


@pytest.mark.parametrize("name", COMMANDS)
@pytest.mark.parametrize("target", ["plan.json", "site.json", "tape.json", "notes.txt", "strange.json"])
def test_other_kinds_are_replaced_only_by_force(
    name: str, target: str, files: Path, vplacer: Runner, monkeypatch: pytest.MonkeyPatch
) -> None:
    command = COMMANDS[name].format(f"copy-{target}")
    shutil.copy(files / target, files / f"copy-{target}")
    before = (files / f"copy-{target}").read_bytes()
    outcome = vplacer(command)
    if target == OWN_KIND[name]:
        assert outcome.code == 0, outcome.err
        return
    assert (outcome.code, outcome.out) == (1, "")
    assert f"copy-{target}: exists already and is not a " in outcome.err
    assert "--force replaces the file" in outcome.err
    assert (files / f"copy-{target}").read_bytes() == before
    forced = vplacer(f"{command} --force")
    assert forced.code == 0, forced.err
    assert (files / f"copy-{target}").read_bytes() != before


@pytest.mark.parametrize("name", COMMANDS)
def test_an_empty_file_counts_as_none(name: str, files: Path, vplacer: Runner) -> None:
    outcome = vplacer(COMMANDS[name].format("empty"))
    assert outcome.code == 0, outcome.err
    assert (files / "empty").stat().st_size > 0


@pytest.mark.parametrize(
    "command",
    [
        "plan --from site.json -r request.yaml -o request.yaml",
        "plan --from site.json -r request.yaml -o site.json",
        "plan --from site.json -r request.yaml -o link.json",
        "plan --replay tape.json -r request.yaml -o tape.json",
        "plan --lab site.yaml -r request.yaml --record request.yaml",
        "plan --lab site.yaml -r request.yaml --since plan.json --record plan.json",
        "plan --from site.json -r request.yaml --overlays ov -o ov/esx01.json",
        "collect --from site.json -o site.json",
        "collect --replay tape.json -o tape.json",
        "collect --lab site.yaml -o x.json --record site.yaml",
        "lab record site.yaml -o site.yaml",
        "request init --from site.yaml -o site.yaml",
    ],
)
def test_what_is_read_is_never_replaced(command: str, files: Path, vplacer: Runner) -> None:
    (files / "link.json").symlink_to("site.json")
    (files / "ov").mkdir()
    (files / "ov" / "esx01.json").write_text('{"format_version": 1, "host": "esx01", "sources": []}')
    before = {path: path.read_bytes() for path in files.rglob("*") if path.is_file()}
    outcome = vplacer(f"{command} --force")
    assert (outcome.code, outcome.out) == (3, ""), outcome.err
    assert "is read by this command, and would be overwritten by its output" in outcome.err
    assert {path: path.read_bytes() for path in files.rglob("*") if path.is_file()} == before


def test_a_state_does_not_replace_the_site(files: Path, vplacer: Runner) -> None:
    outcome = vplacer("lab serve site.yaml --state site.yaml")
    assert outcome.code == 3
    assert "is read by this command" in outcome.err


@pytest.mark.parametrize(
    "command",
    [
        "plan --lab site.yaml -r request.yaml -o new.json --record ./new.json",
        "collect --lab site.yaml -o new.json --record new.json",
        "request init --lab site.yaml -o new.json --record new.json",
    ],
)
def test_two_outputs_need_two_files(command: str, files: Path, vplacer: Runner) -> None:
    outcome = vplacer(command)
    assert outcome.code == 3
    assert "new.json: two outputs go into one file" in outcome.err
    assert not (files / "new.json").exists()


def test_the_plan_of_since_may_be_replaced(files: Path, vplacer: Runner) -> None:
    outcome = vplacer("plan --from site.json -r request.yaml --since plan.json -o plan.json")
    assert outcome.code == 0, outcome.err


def test_overlays_that_are_read_are_not_written_again(folder: Path, vplacer: Runner) -> None:
    assert vplacer("collect --from a30pairs -o site.json").code == 0
    (overlay,) = (folder / "site.overlays").glob("esx01*.json")
    overlay.write_text(overlay.read_text().replace("\n", "\n\n"))
    before = overlay.read_bytes()
    assert vplacer("collect --from site.json -o site.json.gz").code == 0
    assert overlay.read_bytes() == before


def test_show_says_what_a_file_is_instead(files: Path, vplacer: Runner) -> None:
    (files / "plan.json.gz").write_bytes(gzip.compress((files / "plan.json").read_bytes()))
    for name, text in (
        ("site.json", "site.json: is a snapshot, not a saved plan"),
        ("tape.json", "tape.json: is a recorded session, not a saved plan"),
        ("plan.json.gz", "plan.json.gz: is compressed\n  next: unpack it with gunzip"),
    ):
        outcome = vplacer(f"show {name}")
        assert (outcome.code, outcome.out) == (3, "")
        assert text in outcome.err
