"""Fixtures are found by kind and name, in a checkout and in a wheel alike."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conftest import REPO
from vplacer.errors import UnknownObjectError
from vplacer.jobs import fixtures


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the root of a made-up checkout with two sites."""
    (tmp_path / "vplacer").mkdir()
    (tmp_path / "pyproject.toml").write_text("")
    sites = tmp_path / "fixtures" / "sites"
    sites.mkdir(parents=True)
    for name in ("b.yaml", "a30-pairs.yaml", "README.md", ".b.yaml.swp", ".hidden.yaml"):
        (sites / name).write_text("")
    monkeypatch.setattr(fixtures.resources, "files", lambda _: tmp_path / "vplacer")
    return tmp_path


def test_names_are_sorted_and_bare(checkout: Path) -> None:
    assert fixtures.list_fixtures("sites") == ["a30-pairs", "b"]
    assert fixtures.list_fixtures("cassettes") == []
    assert fixtures.fixture_path("sites", "b") == checkout / "fixtures" / "sites" / "b.yaml"


def test_unknown_name_lists_those_there_are(checkout: Path) -> None:
    with pytest.raises(UnknownObjectError) as caught:
        fixtures.fixture_path("sites", "a30-pair")
    assert caught.value.render().splitlines() == [
        "a30-pair: no example site has this name",
        "  next: did you mean a30-pairs? choose one of: a30-pairs, b",
    ]


@pytest.mark.parametrize("name", ["../sites/b", "b.yaml", "", "/etc/passwd"])
def test_a_path_is_no_name(checkout: Path, name: str) -> None:
    with pytest.raises(UnknownObjectError):
        fixtures.fixture_path("sites", name)


def test_a_stray_folder_beside_an_installed_package_is_not_used(checkout: Path) -> None:
    (checkout / "pyproject.toml").unlink()
    installed = checkout / "vplacer" / "fixtures"
    installed.mkdir()
    assert fixtures.fixtures_root() == installed


def test_this_checkout_serves_its_own_folder() -> None:
    assert fixtures.fixtures_root() == REPO / "fixtures"


@pytest.mark.parametrize("kind", ["sites", "requests", "cassettes"])
def test_every_file_in_the_folder_is_listed(kind: fixtures.FixtureKind) -> None:
    names = fixtures.list_fixtures(kind)
    present = {path for path in (REPO / "fixtures" / kind).glob("*") if path.is_file()}
    assert {fixtures.fixture_path(kind, name) for name in names} == present
