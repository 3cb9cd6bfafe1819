"""Pictures of hosts say of each card what the gauges of the metrics say."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from tests.audit.full_report import subject as full_subject
from vplacer.audit.gauges import KINDS, gauges
from vplacer.audit.host_pictures import host_pictures
from vplacer.audit.subject import Subject
from vplacer.inventory.device_kind import DeviceKind
from vplacer.inventory.load import load_inventory_file
from vplacer.topology.levels import NumaRelation

SITES = sorted((Path(__file__).resolve().parents[2] / "fixtures" / "sites").glob("*.yaml"))
WORDS = {
    NumaRelation.SAME_NODE: "local",
    NumaRelation.SAME_SOCKET: "same_socket",
    NumaRelation.OTHER_SOCKET: "remote",
}


def compare(subject: Subject) -> None:
    told = {vm.moid: vm.devices for vm in gauges(subject).vms}
    pictures = host_pictures(subject)
    assert [picture.moid for picture in pictures] == [host.moid for host in subject.inventory.hosts]
    for picture in pictures:
        for vm in picture.vms:
            if not vm.place.is_on:
                continue
            mine = [(card, h) for card in picture.cards for h in card.holders if h.vm == vm.place.moid]
            assert vm.cards == tuple((card.label, holder.relation) for card, holder in mine)
            for kind in KINDS:
                drawn = Counter(holder.relation for card, holder in mine if card.kind is kind and holder.now)
                counts = told.get(vm.place.moid, {}).get(kind)
                for relation, word in WORDS.items():
                    assert drawn[relation] == (getattr(counts, word) if counts is not None else 0)


@pytest.mark.parametrize("path", SITES, ids=lambda path: path.stem)
def test_the_example_sites(path: Path) -> None:
    site = load_inventory_file(path)
    compare(Subject(site.inventory, site.overlays))


def test_far_cards() -> None:
    compare(full_subject())


def test_no_card_is_free_that_a_vm_may_hold() -> None:
    site = load_inventory_file(next(path for path in SITES if path.stem == "a30pairs"))
    subject = Subject(site.inventory, site.overlays)
    for host, picture in zip(subject.inventory.hosts, host_pictures(subject), strict=True):
        free = {card.address for card in subject.use(host).use.free}
        shown = {
            card.address
            for card in picture.cards
            if card.kind is DeviceKind.GPU
            and card.unusable is None
            and not card.maybe_held
            and not any(holder.now for holder in card.holders)
        }
        assert shown == {
            address
            for address in free
            if address in {c.address for c in picture.cards if c.kind is DeviceKind.GPU}
        }
