from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.lab.clients import connected
from tests.lab.small_site import small_site
from vplacer.lab.soap.server import LabServer
from vplacer.lab.soap.vcenter import Site


@pytest.fixture
def site() -> Site:
    return small_site()


@pytest.fixture
def server(site: Site) -> Iterator[LabServer]:
    with LabServer(site) as running:
        yield running


@pytest.fixture
def service(server: LabServer) -> Iterator[Any]:
    with connected(server) as client:
        yield client
