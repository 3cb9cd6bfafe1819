"""Running the witness programs: vcsim as a server, govc as a client."""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.credentials import RECORD_PASSWORD, RECORD_USER
from vplacer.inventory.load import load_inventory_file
from vplacer.inventory.vcenter import Inventory
from vplacer.lab.soap.server import LabServer
from vplacer.vsphere.address import Address
from vplacer.vsphere.collector import collect
from vplacer.vsphere.credentials import Credentials
from vplacer.vsphere.secret import Secret
from vplacer.vsphere.session import ConnectOptions, Session


@contextmanager
def serving(vcsim: Path, *options: str) -> Iterator[str]:
    """Run vcsim and yield its URL; it must stop by itself, with exit 0, when its input ends."""
    with tempfile.TemporaryDirectory(prefix="vcsim-test-") as scratch:
        process = subprocess.Popen(
            [vcsim, "-stdinexit", *options],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=os.environ | {"TMPDIR": scratch},
        )
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            yield process.stdout.readline().strip().removeprefix("export GOVC_URL=")
            process.stdin.close()
            assert process.wait(timeout=20) == 0
        finally:
            process.kill()
            process.wait()
            process.stdout.close()


def connect_options(url: str) -> ConnectOptions:
    """Return how to connect to a vcsim, whose certificate nobody vouches for."""
    port = int(url.rpartition(":")[2].removesuffix("/sdk"))
    return ConnectOptions(Address("127.0.0.1", port), insecure=True)


def run_govc(govc: Path, url: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run govc against a vcsim; the URL holds the account."""
    environment = os.environ | {"GOVC_URL": url, "GOVC_INSECURE": "1", "GOVC_PERSIST_SESSION": "false"}
    return subprocess.run(
        [govc, *arguments], env=environment, capture_output=True, text=True, timeout=60, check=False
    )


def lab_environment(server: LabServer) -> dict[str, str]:
    """Return the environment in which govc talks to a lab, its certificate verified."""
    return os.environ | {
        "GOVC_URL": server.url,
        "GOVC_USERNAME": server.username,
        "GOVC_PASSWORD": server.password,
        "GOVC_TLS_CA_CERTS": str(server.ca_file),
        "GOVC_PERSIST_SESSION": "false",
    }


def read_and_saved_lab(find: Callable[[str], Path], site: Path, folder: Path) -> Inventory:
    """Serve a site in the lab, read it, and have govc save it into a folder."""
    with LabServer(load_inventory_file(site)) as server:
        options = ConnectOptions(Address.parse(server.url), ca_file=server.ca_file)
        account = Credentials(server.username, Secret(server.password), "the lab", "the lab")
        with Session.connect(options, account) as session:
            read = collect(session)
        done = subprocess.run(
            [find("govc"), "object.save", "-d", str(folder)],
            env=lab_environment(server),
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
    assert done.returncode == 0, done.stderr
    return read


def read_and_saved_vcsim(find: Callable[[str], Path], folder: Path, *options: str) -> Inventory:
    """Run vcsim, read it, and have govc save it into a folder."""
    account = Credentials(RECORD_USER, Secret(RECORD_PASSWORD), "a test", "a test")
    with serving(find("vcsim"), *options) as url:
        with Session.connect(connect_options(url), account) as session:
            read = collect(session)
        done = run_govc(find("govc"), url, "object.save", "-d", str(folder))
    assert done.returncode == 0, done.stderr
    return read
