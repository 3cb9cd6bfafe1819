"""What vplacer exports for NCCL reads back as what was imported."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.topology.fact_hosts import host_of_facts
from tests.topology.test_public_files import CREATED, READABLE, facts_of, name
from vplacer.inventory.overlay import OverlayLink
from vplacer.inventory.pci import PciAddress
from vplacer.report.topology_nccl import render_nccl
from vplacer.topology.build import build_host_topology
from vplacer.topology.host_view import view_host
from vplacer.topology.importers.facts import Facts
from vplacer.topology.importers.fit import overlay_from_facts
from vplacer.topology.importers.nccl import read

CASES = [case for case in READABLE if "refused" not in case]


def nodes(facts: Facts, wanted: set[PciAddress]) -> dict[PciAddress, int | None]:
    return {fact.address: fact.node for fact in facts.devices if fact.address in wanted}


@pytest.mark.parametrize("case", CASES, ids=name)
def test_export_and_import_say_the_same(case: dict[str, object], test_data: Path) -> None:
    facts = facts_of(case, test_data)
    host = host_of_facts(facts, nodes_known=False)
    overlay = overlay_from_facts(facts, host, created=CREATED).overlay
    topology = build_host_topology(host, [overlay])
    text = render_nccl(view_host(host, topology))
    again = read(text, "exported.xml")
    shown = {device.address for device in (*topology.gpus, *topology.nics)}
    assert nodes(again, shown) == nodes(facts, shown)
    # Links that the file does not tell may be known from the catalogue. Where no pair has a link, NCCL's
    # format cannot say so: it is read as not known.
    known = tuple(OverlayLink(link.a, link.b, link.lanes) for link in topology.links)
    assert again.links == (known if any(link.lanes for link in known) else ())
    assert not facts.links or again.links == facts.links
    assert overlay_from_facts(again, host, created=CREATED).contradictions == ()
