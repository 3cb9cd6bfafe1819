"""The example requests resolve on the sites of their names."""

from __future__ import annotations

import pytest

from tests.conftest import REPO
from vplacer.inventory.load import load_inventory_file
from vplacer.request.load import load_request
from vplacer.request.resolve import resolve
from vplacer.topology.build import build_topologies

REQUESTS = sorted(path.stem for path in (REPO / "fixtures" / "requests").glob("*.yaml"))


@pytest.mark.parametrize("name", REQUESTS)
def test_resolves(name: str) -> None:
    site = load_inventory_file(REPO / "fixtures" / "sites" / f"{name.removesuffix('-nofit')}.yaml")
    request = load_request(REPO / "fixtures" / "requests" / f"{name}.yaml")
    found = resolve(request, site.inventory, build_topologies(site.inventory, site.overlays))
    assert found.demands
    assert found.left_alone == ()
    assert len({demand.id for demand in found.demands}) == len(found.demands)


def test_the_large_one_asks_for_400() -> None:
    assert (
        sum(len(entry.names) for entry in load_request(REPO / "fixtures/requests/big96.yaml").entries) == 400
    )
