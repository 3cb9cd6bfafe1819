"""Runs the doctor's reading and checks on a simulated vCenter, over SOAP."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import datetime

from vplacer.doctor.model import CheckResult, Evidence
from vplacer.doctor.observed import Observed, Transport, Untold
from vplacer.doctor.run import run_checks
from vplacer.errors import VplacerError
from vplacer.lab.soap.server import LabServer
from vplacer.vsphere.address import Address
from vplacer.vsphere.checkup.observe import Client, observe
from vplacer.vsphere.collector import collect
from vplacer.vsphere.credentials import Credentials
from vplacer.vsphere.retrieve import SessionReader
from vplacer.vsphere.secret import Secret
from vplacer.vsphere.session import ConnectOptions, Session


def open_session(server: LabServer) -> Session:
    credentials = Credentials(server.username, Secret(server.password), "a test", "a test")
    return Session.connect(ConnectOptions(Address.parse(server.url), ca_file=server.ca_file), credentials)


def read(
    server: LabServer, now: Callable[[], datetime] | Untold | None = None
) -> tuple[Observed, Evidence, dict[str, CheckResult]]:
    """Observe, collect and check, as the job does."""
    client = Client(
        now=server.vcenter.now if now is None else now,
        seconds=time.monotonic,
        transport=Transport("verified", "a test"),
    )
    with open_session(server) as session:
        observed = observe(SessionReader(session), session.content, client, lambda _what: None)
        try:
            inventory = collect(session)
        except VplacerError as error:
            evidence = Evidence(Untold(error.what), observed)
        else:
            evidence = Evidence(inventory, observed)
    return observed, evidence, {result.id: result for result in run_checks(evidence)}
