"""The simulated vCenter over HTTPS, and the adapter to it, for plans to be carried out."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

from tests.apply.scenes import ALL_CONSENTS
from vplacer.inventory.site import Site
from vplacer.lab.model.machine import MachineOptions
from vplacer.lab.model.tasks import Durations
from vplacer.lab.soap.server import LabServer
from vplacer.vsphere.address import Address
from vplacer.vsphere.credentials import Credentials
from vplacer.vsphere.secret import Secret
from vplacer.vsphere.session import ConnectOptions, Session
from vplacer.vsphere.writer import VCenterPort

QUICK = replace(
    ALL_CONSENTS,
    timing=replace(
        ALL_CONSENTS.timing,
        poll_s=0.03,
        settle_s=0.1,
        reconnect_s=0.02,
        power_on_spacing_s=0.02,
        shutdown_timeout_s=1.0,
    ),
)


def served(site: Site) -> LabServer:
    """Return a simulated vCenter whose tasks take 20 ms."""
    return LabServer(site, options=MachineOptions(durations=Durations.flat(0.02)))


@contextmanager
def adapter(server: LabServer) -> Iterator[VCenterPort]:
    """Log in, verified against the server's CA."""
    where = ConnectOptions(Address(server.host, server.port), ca_file=server.ca_file)
    who = Credentials(server.username, Secret(server.password), "test", "test")
    with Session.connect(where, who) as session:
        yield VCenterPort(session)
