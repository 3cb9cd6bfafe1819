"""Naming files and examples, and finding out whether a result can be written."""

from __future__ import annotations

from pathlib import Path

import pytest

from vplacer.errors import OutputError, UnknownObjectError
from vplacer.jobs.fixtures import file_or_fixture, fixture_path
from vplacer.jobs.lab import list_sites
from vplacer.jobs.lab_state import load_state, save_state
from vplacer.jobs.output_file import check_writable
from vplacer.jobs.source import load_site


def test_a_name_is_an_example(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert file_or_fixture("sites", "floating") == fixture_path("sites", "floating")


def test_a_file_of_that_name_goes_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "floating").write_text("mine")
    assert file_or_fixture("sites", "floating") == Path("floating")


@pytest.mark.parametrize("text", ["./floating", "a/floating", "floating.yaml", "floating.json.gz"])
def test_a_folder_or_a_suffix_makes_it_a_path(
    text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert file_or_fixture("sites", text) == Path(text)


def test_a_name_of_neither_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UnknownObjectError, match="did you mean floating"):
        file_or_fixture("sites", "flaoting")


def test_checking_a_path_leaves_nothing(tmp_path: Path) -> None:
    check_writable(tmp_path / "out.json")
    assert list(tmp_path.iterdir()) == []
    check_writable(Path("/dev/null"))


@pytest.mark.parametrize("name", [".", "nowhere/out.json", "file/out.json"])
def test_a_path_that_cannot_be_written_is_refused(name: str, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(OutputError, match="cannot be written"):
        check_writable(tmp_path / name)


def test_requests_are_listed_with_their_site() -> None:
    sites = {site.name: site for site in list_sites()}
    assert "nvswitch" in sites["nvswitch"].requests
    assert "nvswitch-nofit" in sites["nvswitch"].requests
    assert all(site.about.endswith(".") for site in sites.values()), "each says what it shows"
    assert all(name.startswith(site.name) for site in sites.values() for name in site.requests)


def test_a_lab_state_keeps_the_whole_site(tmp_path: Path) -> None:
    """A snapshot would lose where floating VMs are, which cards they hold, and the NVLinks."""
    site = load_site(fixture_path("sites", "a30pairs"))
    assert site.extras.homes
    assert site.overlays
    save_state(site, tmp_path / "state.json")
    assert load_state(tmp_path / "state.json") == site
