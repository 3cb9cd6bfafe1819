from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.lab.clients import connected
from tests.lab.small_site import small_site
from vplacer.lab.soap.server import LabServer
from vplacer.lab.soap.vcenter import ServedSite


@pytest.fixture
def site() -> ServedSite:
    return small_site()


@pytest.fixture
def server(site: ServedSite) -> Iterator[LabServer]:
    with LabServer(site) as running:
        yield running


@pytest.fixture
def service(server: LabServer) -> Iterator[Any]:
    with connected(server) as client:
        yield client
