"""The executor against the simulated vCenter over HTTPS, through the adapter: also as a process to be killed.

``python -m tests.apply.https URL CA_FILE PLAN MODE`` applies a plan, or goes on with it, and exits with the
outcome's code.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from tests.apply.scenes import ALL_CONSENTS
from vplacer.apply.clock import MachineClock
from vplacer.apply.journal import journal_path
from vplacer.apply.options import Timing
from vplacer.apply.outcome import Outcome
from vplacer.apply.run import apply_plan, resume, roll_back
from vplacer.inventory.overlay import Overlay
from vplacer.plan.plan_file import load_plan
from vplacer.vsphere.address import Address
from vplacer.vsphere.credentials import Credentials
from vplacer.vsphere.secret import Secret
from vplacer.vsphere.session import ConnectOptions, Session
from vplacer.vsphere.writer import VCenterPort

SPEED = 200.0
OPTIONS = replace(
    ALL_CONSENTS,
    timing=Timing(
        shutdown_timeout_s=20.0,
        poll_s=0.05,
        settle_s=0.3,
        reconnect_s=0.1,
        power_on_spacing_s=0.0,
    ),
)


@contextmanager
def connected(url: str, ca_file: str, user: str, password: str) -> Iterator[VCenterPort]:
    """Log in and out."""
    connect = ConnectOptions(Address.parse(url), ca_file=Path(ca_file), read_timeout_s=20)
    account = Credentials(user, Secret(password), "the lab", "the lab")
    with Session.connect(connect, account) as session:
        yield VCenterPort(session)


def work(mode: str, plan: Path, port: VCenterPort, overlays: tuple[Overlay, ...] = ()) -> Outcome:
    """Apply a plan file, go on with it or take it back."""
    loaded, journal, folder = load_plan(plan), journal_path(plan), plan.parent
    clock = MachineClock()
    if mode == "apply":
        return apply_plan(loaded, port, OPTIONS, journal, clock, overlays=overlays, lock_folder=folder)
    if mode == "resume":
        return resume(loaded, port, OPTIONS, journal, clock, overlays=overlays, lock_folder=folder)
    return roll_back(loaded, port, OPTIONS, journal, clock, lock_folder=folder)


def main() -> int:
    url, ca_file, plan, mode = sys.argv[1:]
    user, password = os.environ["LAB_USER"], os.environ["LAB_PASSWORD"]
    with connected(url, ca_file, user, password) as port:
        return work(mode, Path(plan), port).exit_code


if __name__ == "__main__":
    sys.exit(main())
