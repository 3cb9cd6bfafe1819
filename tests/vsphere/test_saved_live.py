"""`govc object.save`, unmodified: the folder tells what the session tells, as far as it can."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.conftest import REPO
from tests.credentials import RECORD_PASSWORD, RECORD_USER
from tests.vsphere.compare import Allowed, differences
from tests.witness_programs import connect_options, run_govc, serving
from vplacer.inventory.load import load_inventory_file
from vplacer.lab.soap.server import LabServer
from vplacer.vsphere.address import Address
from vplacer.vsphere.collector import CollectOptions, collect
from vplacer.vsphere.credentials import Credentials
from vplacer.vsphere.saved_reader import collect_folder
from vplacer.vsphere.secret import Secret
from vplacer.vsphere.session import ConnectOptions, Session

pytestmark = pytest.mark.live

ALLOWED = Allowed.load(REPO / "tests/vsphere/cases/folder_differences.yaml")
SITES = sorted(path.stem for path in (REPO / "fixtures/sites").glob("*.yaml") if path.stem != "big96")
Find = Callable[[str], Path]


@pytest.mark.parametrize("site", SITES)
def test_saved_from_the_lab(site: str, witness_bin: Find, tmp_path: Path) -> None:
    folder = tmp_path / "saved"
    with LabServer(load_inventory_file(REPO / "fixtures/sites" / f"{site}.yaml")) as server:
        options = ConnectOptions(Address.parse(server.url), ca_file=server.ca_file)
        account = Credentials(server.username, Secret(server.password), "the lab", "the lab")
        with Session.connect(options, account) as session:
            live = collect(session)
        environment = os.environ | {
            "GOVC_URL": server.url,
            "GOVC_USERNAME": server.username,
            "GOVC_PASSWORD": server.password,
            "GOVC_TLS_CA_CERTS": str(server.ca_file),
            "GOVC_PERSIST_SESSION": "false",
        }
        command = [witness_bin("govc"), "object.save", "-d", str(folder)]
        done = subprocess.run(
            command, env=environment, capture_output=True, text=True, timeout=60, check=False
        )
    assert done.returncode == 0, done.stderr
    ALLOWED.check(site, live, collect_folder(folder, CollectOptions()))


def test_every_allowed_difference_has_a_site() -> None:
    assert ALLOWED.sites <= set(SITES)


def test_saved_from_vcsim(witness_bin: Find, tmp_path: Path) -> None:
    folder = tmp_path / "saved"
    account = Credentials(RECORD_USER, Secret(RECORD_PASSWORD), "a test", "a test")
    with serving(witness_bin("vcsim"), "-api-version", "8.0.3.0") as url:
        with Session.connect(connect_options(url), account) as session:
            live = collect(session)
        assert run_govc(witness_bin("govc"), url, "object.save", "-d", str(folder)).returncode == 0
    found = set(differences(live, collect_folder(folder, CollectOptions())))
    paths = {path for path, _, _ in found}
    assert paths - {"taken_at"} == {"gaps", "notes"}
    assert {item for path, _, item in found if path == "gaps"} == {
        f"Gap(object='{live.about.instance_uuid}', path='tags', kind='fault', "
        "reason='a folder of govc object.save has no tags')"
    }
