"""govc and vplacer read the same server, a vcsim or the lab: every fact that both can read is equal."""

from __future__ import annotations

import time
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tests.conftest import REPO
from tests.vsphere.compare import Allowed
from tests.witness.govc_reading import read_folder
from tests.witness_programs import read_and_saved_lab, read_and_saved_vcsim
from vplacer.inventory.vcenter import Inventory
from vplacer.jobs.lab_export import export_site
from vplacer.jobs.world import World

pytestmark = pytest.mark.live

ALLOWED = Allowed.load(REPO / "tests/witness/govc_differences.yaml")
SITES = sorted(
    [
        *(path for path in (REPO / "fixtures/sites").glob("*.yaml") if path.stem != "big96"),
        REPO / "tests/cases/lab/backings.yaml",
    ]
)
WORLD = World(environ={}, clock=lambda: datetime.now(UTC), seconds=time.monotonic, warn=print)
Find = Callable[[str], Path]


def facts(read: Inventory) -> Inventory:
    """Return an inventory without what is said about the reading itself."""
    return replace(read, taken_at="", notes=(), gaps=())


def test_every_allowed_difference_has_a_site() -> None:
    assert ALLOWED.sites <= {"default", *(site.stem for site in SITES)}


def test_default_inventory_of_vcsim(witness_bin: Find, tmp_path: Path) -> None:
    folder = tmp_path / "saved"
    read = read_and_saved_vcsim(witness_bin, folder, "-api-version", "8.0.3.0")
    ALLOWED.check("default", facts(read), read_folder(folder))


@pytest.mark.parametrize("site", SITES, ids=lambda path: path.stem)
def test_exported_site_in_vcsim(site: Path, witness_bin: Find, tmp_path: Path) -> None:
    export_site(str(site), tmp_path / "files", WORLD)
    folder = tmp_path / "saved"
    read = read_and_saved_vcsim(witness_bin, folder, "-load", str(tmp_path / "files"))
    ALLOWED.check(f"{site.stem} in vcsim", facts(read), read_folder(folder))


@pytest.mark.parametrize("site", SITES, ids=lambda path: path.stem)
def test_site_in_the_lab(site: Path, witness_bin: Find, tmp_path: Path) -> None:
    folder = tmp_path / "saved"
    read = read_and_saved_lab(witness_bin, site, folder)
    ALLOWED.check(site.stem, facts(read), read_folder(folder))
    offers = [load_answer(path) for path in folder.glob("EnvironmentBrowser-*/QueryConfigTarget.xml")]
    assert {p.name for host in read.hosts for p in host.vgpu_profiles} == set().union(*(o[0] for o in offers))
    assert {g.name for host in read.hosts for g in host.device_groups} == set().union(*(o[1] for o in offers))


def load_answer(path: Path) -> tuple[set[str], set[str]]:
    """Return the names of vGPU profiles and device groups in an answer of QueryConfigTarget."""
    root = ElementTree.parse(path).getroot()
    profiles = {item.findtext("profileName") or "" for item in root.iter("vgpuProfileInfo")}
    return profiles, {item.findtext("deviceGroupName") or "" for item in root.iter("vendorDeviceGroupInfo")}
