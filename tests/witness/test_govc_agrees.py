"""govc and vplacer read the same server, a vcsim or the lab: every fact that both can read is equal."""

from __future__ import annotations

import os
import subprocess
import time
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tests.conftest import REPO
from tests.credentials import RECORD_PASSWORD, RECORD_USER
from tests.vsphere.compare import Allowed
from tests.witness.govc_reading import read_folder
from tests.witness_programs import connect_options, run_govc, serving
from vplacer.inventory.load import load_inventory_file
from vplacer.inventory.vcenter import Inventory
from vplacer.jobs.lab_export import export_site
from vplacer.jobs.world import World
from vplacer.lab.soap.server import LabServer
from vplacer.vsphere.address import Address
from vplacer.vsphere.collector import collect
from vplacer.vsphere.credentials import Credentials
from vplacer.vsphere.secret import Secret
from vplacer.vsphere.session import ConnectOptions, Session

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
Both = tuple[Inventory, Path]


def of_vcsim(find: Find, folder: Path, *options: str) -> Both:
    account = Credentials(RECORD_USER, Secret(RECORD_PASSWORD), "a test", "a test")
    with serving(find("vcsim"), *options) as url:
        with Session.connect(connect_options(url), account) as session:
            read = collect(session)
        done = run_govc(find("govc"), url, "object.save", "-d", str(folder))
    assert done.returncode == 0, done.stderr
    return read, folder


def of_lab(find: Find, folder: Path, site: Path) -> Both:
    with LabServer(load_inventory_file(site)) as server:
        options = ConnectOptions(Address.parse(server.url), ca_file=server.ca_file)
        account = Credentials(server.username, Secret(server.password), "the lab", "the lab")
        with Session.connect(options, account) as session:
            read = collect(session)
        environment = os.environ | {
            "GOVC_URL": server.url,
            "GOVC_USERNAME": server.username,
            "GOVC_PASSWORD": server.password,
            "GOVC_TLS_CA_CERTS": str(server.ca_file),
            "GOVC_PERSIST_SESSION": "false",
        }
        command = [find("govc"), "object.save", "-d", str(folder)]
        done = subprocess.run(
            command, env=environment, capture_output=True, text=True, timeout=60, check=False
        )
    assert done.returncode == 0, done.stderr
    return read, folder


def facts(read: Inventory) -> Inventory:
    """Return an inventory without what is said about the reading itself."""
    return replace(read, taken_at="", notes=(), gaps=())


def test_every_allowed_difference_has_a_site() -> None:
    assert ALLOWED.sites <= {"default", *(site.stem for site in SITES)}


def test_default_inventory_of_vcsim(witness_bin: Find, tmp_path: Path) -> None:
    read, folder = of_vcsim(witness_bin, tmp_path / "saved", "-api-version", "8.0.3.0")
    ALLOWED.check("default", facts(read), read_folder(folder))


@pytest.mark.parametrize("site", SITES, ids=lambda path: path.stem)
def test_exported_site_in_vcsim(site: Path, witness_bin: Find, tmp_path: Path) -> None:
    export_site(str(site), tmp_path / "files", WORLD)
    read, folder = of_vcsim(witness_bin, tmp_path / "saved", "-load", str(tmp_path / "files"))
    ALLOWED.check(f"{site.stem} in vcsim", facts(read), read_folder(folder))


@pytest.mark.parametrize("site", SITES, ids=lambda path: path.stem)
def test_site_in_the_lab(site: Path, witness_bin: Find, tmp_path: Path) -> None:
    read, folder = of_lab(witness_bin, tmp_path / "saved", site)
    ALLOWED.check(site.stem, facts(read), read_folder(folder))
    offers = [load_answer(path) for path in folder.glob("EnvironmentBrowser-*/QueryConfigTarget.xml")]
    assert {p.name for host in read.hosts for p in host.vgpu_profiles} == set().union(*(o[0] for o in offers))
    assert {g.name for host in read.hosts for g in host.device_groups} == set().union(*(o[1] for o in offers))


def load_answer(path: Path) -> tuple[set[str], set[str]]:
    """Return the names of vGPU profiles and device groups in an answer of QueryConfigTarget."""
    root = ElementTree.parse(path).getroot()
    profiles = {item.findtext("profileName") or "" for item in root.iter("vgpuProfileInfo")}
    return profiles, {item.findtext("deviceGroupName") or "" for item in root.iter("vendorDeviceGroupInfo")}
