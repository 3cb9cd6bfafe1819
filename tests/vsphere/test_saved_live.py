"""`govc object.save`, unmodified: the folder tells what the session tells, as far as it can."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.conftest import REPO
from tests.vsphere.compare import Allowed, differences
from tests.witness_programs import read_and_saved_lab, read_and_saved_vcsim
from vplacer.vsphere.collector import CollectOptions
from vplacer.vsphere.saved_reader import collect_folder

pytestmark = pytest.mark.live

ALLOWED = Allowed.load(REPO / "tests/vsphere/cases/folder_differences.yaml")
SITES = sorted(path.stem for path in (REPO / "fixtures/sites").glob("*.yaml") if path.stem != "big96")
Find = Callable[[str], Path]


@pytest.mark.parametrize("site", SITES)
def test_saved_from_the_lab(site: str, witness_bin: Find, tmp_path: Path) -> None:
    folder = tmp_path / "saved"
    live = read_and_saved_lab(witness_bin, REPO / "fixtures/sites" / f"{site}.yaml", folder)
    ALLOWED.check(site, live, collect_folder(folder, CollectOptions()))


def test_every_allowed_difference_has_a_site() -> None:
    assert ALLOWED.sites <= set(SITES)


def test_saved_from_vcsim(witness_bin: Find, tmp_path: Path) -> None:
    folder = tmp_path / "saved"
    live = read_and_saved_vcsim(witness_bin, folder, "-api-version", "8.0.3.0")
    found = set(differences(live, collect_folder(folder, CollectOptions())))
    paths = {path for path, _, _ in found}
    assert paths - {"taken_at"} == {"gaps", "notes"}
    assert {item for path, _, item in found if path == "gaps"} == {
        f"Gap(object='{live.about.instance_uuid}', path='tags', kind='fault', "
        "reason='a folder of govc object.save has no tags')"
    }
