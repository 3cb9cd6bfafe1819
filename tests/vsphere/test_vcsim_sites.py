"""The same site served by the lab and, exported, by vcsim: what vplacer reads must be equal."""

from __future__ import annotations

import dataclasses
import os
import re
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.conftest import REPO
from tests.credentials import RECORD_PASSWORD, RECORD_USER
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

ALLOWED: list[dict[str, str]] = yaml.safe_load(
    (REPO / "tests/vsphere/cases/vcsim_differences.yaml").read_text(encoding="utf-8")
)
# big96 shows size, not other facts, and would take half of the time of this module.
SITES = sorted(path.stem for path in (REPO / "fixtures/sites").glob("*.yaml") if path.stem != "big96")
WORLD = World(environ=os.environ, clock=lambda: datetime.now(UTC), seconds=time.monotonic, warn=print)
Find = Callable[[str], Path]
Difference = tuple[str, str, str]


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


def differences(lab: Any, vcsim: Any, path: str = "") -> Iterator[Difference]:
    """Yield path (list keys left out), value in the lab, value in vcsim of every leaf that differs."""
    if dataclasses.is_dataclass(lab) and type(lab) is type(vcsim):
        for field in dataclasses.fields(lab):
            inner = f"{path}.{field.name}" if path else field.name
            yield from differences(getattr(lab, field.name), getattr(vcsim, field.name), inner)
    elif path in ("gaps", "notes"):
        yield from ((path, repr(item), "") for item in lab if item not in vcsim)
        yield from ((path, "", repr(item)) for item in vcsim if item not in lab)
    elif isinstance(lab, tuple) and isinstance(vcsim, tuple) and len(lab) == len(vcsim):
        for one, other in zip(lab, vcsim, strict=True):
            yield from differences(one, other, f"{path}[]")
    elif lab != vcsim:
        yield path, repr(lab), repr(vcsim)


def allowance(found: Difference) -> int | None:
    path, lab, vcsim = found
    for number, entry in enumerate(ALLOWED):
        fits = re.fullmatch(entry.get("lab", ".*"), lab) and re.fullmatch(entry["vcsim"], vcsim)
        if entry["path"] == path and fits:
            return number
    return None


@pytest.mark.parametrize("site", SITES)
def test_reads_the_same_from_vcsim_as_from_the_lab(site: str, witness_bin: Find, tmp_path: Path) -> None:
    path = REPO / "fixtures/sites" / f"{site}.yaml"
    export_site(str(path), tmp_path / "files", WORLD)
    with serving(witness_bin("vcsim"), "-load", str(tmp_path / "files")) as url:
        vcsim = read_vcsim(url)
    found = list(differences(read_lab(path), vcsim))
    unexplained = [item for item in found if allowance(item) is None]
    assert unexplained == []
    used = {allowance(item) for item in found}
    unused = [
        entry for number, entry in enumerate(ALLOWED) if entry["seen_in"] == site and number not in used
    ]
    assert unused == [], "these differences no longer occur: take them out"


def test_every_allowed_difference_has_a_site() -> None:
    assert {entry["seen_in"] for entry in ALLOWED} <= set(SITES)
    assert all(entry["why"] for entry in ALLOWED)


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
