"""Do the cards still look as they did when their labels were planned? What moved is named."""

from __future__ import annotations

from collections.abc import Mapping

from vplacer.inventory.vcenter import Inventory
from vplacer.plan.labels.build import NOBODY, holders_of
from vplacer.plan.labels.model import LabelledCard, LabelPlan
from vplacer.plan.model import Fact, ObjectKind
from vplacer.plan.staleness import StaleField
from vplacer.topology.host_topology import HostTopology


def stale_labels(
    plan: LabelPlan, inventory: Inventory, topologies: Mapping[str, HostTopology]
) -> tuple[StaleField, ...]:
    """Compare all that a plan of labels changes with an inventory read now; empty = it still holds.

    Of a card: that it is there with the same ids, on the same node, has the label it had, and no other
    VMs hold it. Cards that have the planned label already are as they should be.
    """
    found = []
    told = inventory.about.instance_uuid
    if told != plan.source.instance_uuid:
        found.append(
            StaleField(
                ObjectKind.VCENTER,
                "vcenter",
                inventory.about.name,
                "instance_uuid",
                plan.source.instance_uuid,
                told,
            )
        )
        return tuple(found)
    for card in plan.changes:
        found += _stale_card(plan, card, inventory, topologies)
    return tuple(found)


def _stale_card(
    plan: LabelPlan, card: LabelledCard, inventory: Inventory, topologies: Mapping[str, HostTopology]
) -> list[StaleField]:
    host = inventory.host_by_moid.get(card.host)
    device = host.device(card.address) if host is not None else None
    if host is None or device is None or host.moid not in topologies:
        return [_stale(plan, card, "exists", True, False)]
    label = (device.passthrough.label or None) if device.passthrough is not None else None
    if str(device.ids) == card.ids and label == card.after:
        return []
    topology = topologies[host.moid]
    held = holders_of(host, topology, inventory.vms_by_host.get(host.moid, ()))
    pairs: tuple[tuple[str, Fact, Fact], ...] = (
        ("ids", card.ids, str(device.ids)),
        ("label", card.before, label),
        ("node", card.node, topology.cpu_node_for(card.address)),
        ("holders", card.holders, held.get(card.address, NOBODY).vms),
    )
    return [_stale(plan, card, name, was, now) for name, was, now in pairs if was != now]


def _stale(plan: LabelPlan, card: LabelledCard, field: str, was: Fact, now: Fact) -> StaleField:
    return StaleField(ObjectKind.HOST, card.host, plan.name(card.host), f"{card.address} {field}", was, now)
