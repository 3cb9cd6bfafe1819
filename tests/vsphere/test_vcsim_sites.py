"""The same site served by the lab and, exported, by vcsim: what vplacer reads must be equal."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tests.conftest import REPO
from tests.credentials import RECORD_PASSWORD, RECORD_USER
from tests.vsphere.compare import Allowed
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

ALLOWED = Allowed.load(REPO / "tests/vsphere/cases/vcsim_differences.yaml")
# big96 shows size, not other facts, and would take half of the time of this module.
SITES = sorted(
    [
        *(path for path in (REPO / "fixtures/sites").glob("*.yaml") if path.stem != "big96"),
        *(REPO / "tests/cases/lab").glob("*.yaml"),
    ]
)
WORLD = World(environ=os.environ, clock=lambda: datetime.now(UTC), seconds=time.monotonic, warn=print)
Find = Callable[[str], Path]


def read_lab(site: Path) -> Inventory:
    with LabServer(load_inventory_file(site)) as server:
        options = ConnectOptions(Address.parse(server.url), ca_file=server.ca_file)
        credentials = Credentials(server.username, Secret(server.password), "the lab", "the lab")
        with Session.connect(options, credentials) as session:
            return collect(session)


def read_vcsim(url: str) -> Inventory:
    credentials = Credentials(RECORD_USER, Secret(RECORD_PASSWORD), "a test", "a test")
    with Session.connect(connect_options(url), credentials) as session:
        return collect(session)


@pytest.mark.parametrize("site", SITES, ids=lambda path: path.stem)
def test_reads_the_same_from_vcsim_as_from_the_lab(site: Path, witness_bin: Find, tmp_path: Path) -> None:
    export_site(str(site), tmp_path / "files", WORLD)
    with serving(witness_bin("vcsim"), "-load", str(tmp_path / "files")) as url:
        vcsim = read_vcsim(url)
    ALLOWED.check(site.stem, read_lab(site), vcsim)


def test_every_allowed_difference_has_a_site() -> None:
    assert ALLOWED.sites <= {site.stem for site in SITES}


def test_clients_can_change_an_exported_site(witness_bin: Find, tmp_path: Path) -> None:
    """What vcsim's own code reads of an object without asking must be there, or it dies."""
    export_site("nvswitch", tmp_path / "files", WORLD)
    govc = witness_bin("govc")
    with serving(witness_bin("vcsim"), "-load", str(tmp_path / "files")) as url:

        def run(*arguments: str) -> str:
            done = run_govc(govc, url, *arguments)
            assert done.returncode == 0, (arguments, done.stderr)
            return done.stdout

        host, vm = run("find", "/", "-type", "h").split()[0], run("find", "/", "-type", "m").split()[0]
        run("vm.clone", "-vm", vm, "-on=false", "-host", host, "copy")
        run("vm.change", "-vm", "copy", "-c", "8", "-m", "4096", "-e", "numa.nodeAffinity=1")
        assert "H100" in run("device.pci.ls", "-vm", "copy")
        run("vm.power", "-on", "copy")
        run("vm.migrate", "-host", host, "copy")
        run("vm.create", "-on=false", "-host", host, "-ds", "vsan", "-net", "vm-frontend", "new")
        run("object.save", "-d", str(tmp_path / "saved"))
        names = run("find", "/", "-type", "m")
    with serving(witness_bin("vcsim"), "-load", str(tmp_path / "saved")) as url:
        assert run_govc(govc, url, "find", "/", "-type", "m").stdout == names
