"""Records the sessions with vcsim that tests/vsphere/test_vcsim_tapes.py replays. Needs vcsim:

VPLACER_WITNESS_BIN=build/witness python -m tests.record_vcsim_tapes
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

from tests.conftest import REPO
from tests.credentials import RECORD_PASSWORD, RECORD_USER
from tests.witness_programs import connect_options, serving
from vplacer.inventory.vcenter import Inventory
from vplacer.jobs.lab_export import export_site
from vplacer.jobs.world import World
from vplacer.vsphere.cassettes import recording
from vplacer.vsphere.collector import CollectOptions, collect
from vplacer.vsphere.credentials import Credentials
from vplacer.vsphere.secret import Secret
from vplacer.vsphere.session import ConnectOptions, Session

FOLDER = REPO / "tests/vsphere/tapes"
SITES = ("vgpu",)
"""Exported sites that are recorded, beside the default inventory."""
ACCOUNT = Credentials(RECORD_USER, Secret(RECORD_PASSWORD), "a test", "a test")
_WORLD = World(environ={}, clock=lambda: datetime.now(UTC), seconds=time.monotonic, warn=print)


def tape_of(name: str) -> Path:
    """Return the file of a recording: of ``default``, or of an exported site."""
    return FOLDER / f"vcsim-{name}.json.gz"


@contextmanager
def vcsim_of(program: Path, name: str) -> Iterator[ConnectOptions]:
    """Serve the default inventory, or an exported site."""
    with tempfile.TemporaryDirectory(prefix="vcsim-files-") as scratch:
        options = ["-api-version", "8.0.3.0"]
        if name != "default":
            export_site(name, Path(scratch) / "files", _WORLD)
            options = ["-load", str(Path(scratch) / "files")]
        with serving(program, *options) as url:
            yield connect_options(url)


def read(connect: ConnectOptions) -> Inventory:
    """Read a server as it is recorded: by one worker."""
    with Session.connect(connect, ACCOUNT) as session:
        return collect(session, CollectOptions(workers=1))


def main() -> None:
    program = Path(os.environ.get("VPLACER_WITNESS_BIN") or REPO / "build/witness") / "vcsim"
    FOLDER.mkdir(exist_ok=True)
    for name in ("default", *SITES):
        with vcsim_of(program, name) as connect, recording(tape_of(name), ACCOUNT):
            read(connect)
        tape_of(name).chmod(0o644)
        sys.stdout.write(f"{tape_of(name)}: {tape_of(name).stat().st_size} bytes\n")


if __name__ == "__main__":
    main()
