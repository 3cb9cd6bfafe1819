"""Running the witness programs: vcsim as a server, govc as a client."""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from vplacer.vsphere.address import Address
from vplacer.vsphere.session import ConnectOptions


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
