"""Records the example cassettes again, with the account that the search for leaks knows.

python -m tests.record_cassettes
"""

from __future__ import annotations

import os
import sys
import time
from datetime import UTC, datetime

from tests.conftest import REPO
from tests.credentials import RECORD_PASSWORD, RECORD_USER
from vplacer.jobs.lab import LabAccount, record_site
from vplacer.jobs.overlays import folder_beside
from vplacer.jobs.world import World

SITES = ("a30pairs", "floating", "nvswitch")


def main() -> None:
    world = World(
        environ=os.environ,
        clock=lambda: datetime.now(UTC),
        seconds=time.monotonic,
        warn=lambda text: sys.stderr.write(f"{text}\n"),
    )
    for site in SITES:
        output = REPO / "fixtures" / "cassettes" / f"{site}.json.gz"
        reading = record_site(site, output, world, LabAccount(RECORD_USER, RECORD_PASSWORD))
        assert not reading.inventory.gaps, reading.inventory.gaps
        for path in (output, *folder_beside(output).glob("*")):
            path.chmod(0o644)
        sys.stdout.write(f"{output}: {output.stat().st_size} bytes\n")


if __name__ == "__main__":
    main()
