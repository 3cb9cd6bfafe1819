"""Plans of labels carried out on the simulated vCenter: all of it, after a loss, and not when stale."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from tests.plan.labels.test_cases import plan_of
from tests.plan.labels.test_use import SITE
from vplacer.apply.labels import LabelEnd, LabelOutcome, apply_labels, check_labels
from vplacer.errors import AnswerLost, ApplyStopped, StaleError, VSphereFault
from vplacer.inventory.site import Site
from vplacer.inventory.site_load import load_site_text
from vplacer.inventory.vcenter import Inventory
from vplacer.lab.model.cluster_edit import PassthroughEdit
from vplacer.lab.model.machine import Machine, MachineOptions
from vplacer.lab.model.orders import Call, DropConnection, FailCall, Order, When
from vplacer.lab.model.port import LabPort
from vplacer.lab.model.state import seed_state
from vplacer.plan.labels.model import LabelPlan, LabelScheme, Scheme
from vplacer.topology.build import build_topologies
from vplacer.topology.host_topology import HostTopology

SETS = When(Call.SET_PASSTHROUGH)


class Shop:
    def __init__(self, *orders: Order) -> None:
        self.site: Site = load_site_text(SITE, "site.yaml")
        self.machine = Machine(seed_state(self.site), self.site.overlays, options=MachineOptions())
        for order in orders:
            self.machine.orders.add(order)
        self.port = LabPort(self.machine)
        self.plan: LabelPlan = plan_of(self.site, LabelScheme(Scheme.PAIR))
        self.told: list[str] = []

    def topologies(self, inventory: Inventory) -> Mapping[str, HostTopology]:
        return build_topologies(inventory, self.site.overlays)

    def apply(self) -> LabelOutcome:
        return apply_labels(self.plan, self.port, self.topologies, "vplacer-labels", self.told.append)

    def left(self) -> int:
        labels = {
            (host.moid, device.address): device.passthrough.label
            for host in self.port.read().hosts
            for device in host.pci_devices
            if device.passthrough is not None
        }
        return sum(labels[card.host, card.address] != card.after for card in self.plan.changes)


def test_all_labels_are_set_and_a_second_run_sets_none() -> None:
    shop = Shop()
    assert shop.left() == 12
    done = shop.apply()
    assert [host.end for host in done.hosts] == [LabelEnd.SET, LabelEnd.SET]
    assert done.cards_set == 12
    assert shop.told == ["esx01: 6 labels set", "esx02: 6 labels set"]
    assert shop.left() == 0
    again = shop.apply()
    assert [host.end for host in again.hosts] == [LabelEnd.RIGHT, LabelEnd.RIGHT]
    assert again.cards_set == 0


def test_an_answer_that_is_lost_after_the_change_is_looked_up_not_sent_again() -> None:
    shop = Shop(DropConnection(SETS, carried_out=True))
    done = shop.apply()
    assert [host.end for host in done.hosts] == [LabelEnd.SET, LabelEnd.SET]
    assert shop.left() == 0


def test_an_answer_that_is_lost_before_it_stops() -> None:
    shop = Shop(DropConnection(SETS, carried_out=False))
    with pytest.raises(AnswerLost):
        shop.apply()
    assert shop.left() == 12
    assert shop.apply().cards_set == 12


def test_a_host_that_refuses_stops_after_the_others_and_can_be_gone_on_with() -> None:
    shop = Shop(FailCall(When(Call.SET_PASSTHROUGH, nth=2), "HostConfigFault", "no"))
    with pytest.raises(ApplyStopped, match="esx02: labels were set on esx01, then it stopped"):
        shop.apply()
    assert shop.left() == 6
    done = shop.apply()
    assert [host.end for host in done.hosts] == [LabelEnd.RIGHT, LabelEnd.SET]
    assert shop.left() == 0


def test_the_first_host_that_refuses_is_a_plain_error() -> None:
    shop = Shop(FailCall(SETS, "HostConfigFault", "no"))
    with pytest.raises(VSphereFault, match="HostConfigFault"):
        shop.apply()
    assert shop.left() == 12


def test_a_label_that_somebody_gave_since_is_named_and_nothing_is_changed() -> None:
    shop = Shop()
    card = shop.plan.changes[0]
    shop.machine.set_passthrough(card.host, [PassthroughEdit(card.address, label="mine")])
    with pytest.raises(StaleError, match=r"esx01 .* label: planned for unset, now mine"):
        shop.apply()
    with pytest.raises(StaleError):
        check_labels(shop.plan, shop.port, shop.topologies)
    assert shop.left() == 12
