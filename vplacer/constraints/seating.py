"""What of a running VM's nodes, cards and labels a place would keep."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from vplacer.constraints.state import Placement
from vplacer.inventory.pci import PciAddress
from vplacer.inventory.vm import DynamicBacking, StaticBacking, Vm
from vplacer.request.demand import BoundBy, Demand


@dataclass(frozen=True, slots=True)
class Seating:
    """Nodes (empty = floating), static whole cards as (how many, of which), and labels, one a card."""

    nodes: tuple[int, ...]
    static: tuple[tuple[int, frozenset[PciAddress]], ...]
    labels: tuple[str, ...]


def seating_of_placement(demand: Demand, placement: Placement) -> Seating:
    """Return what a placement takes."""
    whole = [
        item for item in placement.devices if item.ask == "gpu" or demand.nics[item.index].kind != "sriov"
    ]
    static = tuple((1, frozenset({item.address})) for item in whole if item.bound_by is BoundBy.STATIC)
    labels = tuple(item.label or "" for item in whole if item.bound_by is BoundBy.LABEL)
    return Seating(placement.nodes, static, labels)


def static_cards(vm: Vm | None) -> frozenset[PciAddress]:
    """Return the cards that static DirectPath I/O binds to a VM."""
    devices = vm.devices if vm is not None else ()
    return frozenset(
        device.backing.address for device in devices if isinstance(device.backing, StaticBacking)
    )


def reseated(vm: Vm | None, seating: Seating) -> bool:
    """Whether a running VM would keep fewer of its cards and labels than it could, or leave its nodes.

    A VM that grows keeps its nodes when it adds others, one that shrinks when it stays on some of them.
    Cards the platform chooses are nobody's to keep.
    """
    if vm is None or not vm.is_on:
        return False
    today, after = set(vm.node_affinity), set(seating.nodes)
    if today and after and not (today <= after or after <= today):
        return True
    own = static_cards(vm)
    taken = sum(count for count, _ in seating.static)
    if _kept(own, seating) < min(len(own), taken):
        return True
    labels = _labels(vm)
    same = (labels & Counter(seating.labels)).total()
    return same < min(labels.total(), len(seating.labels))


def same_seat(vm: Vm, seating: Seating) -> bool:
    """Whether a VM would have just the nodes, static cards and labels it has."""
    own = static_cards(vm)
    taken = sum(count for count, _ in seating.static)
    return (
        vm.node_affinity == tuple(sorted(seating.nodes))
        and len(own) == taken == _kept(own, seating)
        and _labels(vm) == Counter(seating.labels)
    )


def _kept(own: frozenset[PciAddress], seating: Seating) -> int:
    return sum(min(count, len(own & cards)) for count, cards in seating.static)


def _labels(vm: Vm) -> Counter[str]:
    return Counter(
        device.backing.label
        for device in vm.devices
        if isinstance(device.backing, DynamicBacking) and device.backing.label and device.group_key is None
    )
