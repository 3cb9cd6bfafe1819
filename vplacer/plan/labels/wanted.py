"""Which label each card of a host should have by a scheme, or why it can have none."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from vplacer.inventory.host import Host
from vplacer.inventory.pci import PciAddress
from vplacer.plan.labels.model import LabelScheme, Scheme
from vplacer.topology.assignable import AssignableDevice, assignable_devices
from vplacer.topology.host_topology import HostTopology
from vplacer.topology.nvlink_sets import nvlink_sets


@dataclass(frozen=True, slots=True)
class Wanted:
    """A card and the label it should have; ``label`` None = it can have none, ``why`` says it."""

    card: AssignableDevice
    node: int | None
    label: str | None
    why: str | None = None


def wanted_labels(host: Host, topology: HostTopology, scheme: LabelScheme) -> tuple[Wanted, ...]:
    """Return the GPUs of a host and the NICs that can be passed through, with their labels.

    Cards of a group are told apart by numbers in the order of their addresses, node by node, so that hosts
    that are alike get the same labels. A NIC that the host itself uses is left out without a word.
    """
    cards = [card for card in assignable_devices(host, topology) if card.kind == "gpu" or card.passthrough]
    places = _places(topology, cards, scheme.scheme)
    found = []
    for card in cards:
        node = topology.cpu_node_for(card.address)
        why = _why_no_label(host, card, node)
        place = places.get(card.address, "")
        if why is None and not place.startswith("-") and place:
            why = place
        prefix = scheme.prefix if card.kind == "gpu" else scheme.nic_prefix
        found.append(Wanted(card, node, None if why is not None else f"{prefix}-n{node}{place}", why))
    return tuple(found)


def is_ours(label: str, scheme: LabelScheme) -> bool:
    """Whether a label is one that these schemes give: it may be changed without being asked to."""
    prefixes = "|".join(re.escape(prefix) for prefix in (scheme.prefix, scheme.nic_prefix))
    return re.fullmatch(rf"(?:{prefixes})-n\d+(?:-[ps]\d+)?", label) is not None


def _why_no_label(host: Host, card: AssignableDevice, node: int | None) -> str | None:
    device = host.device(card.address)
    state = device.passthrough if device is not None else None
    if host.capability.assign_label is False:
        return "the host cannot take labels (capability assignHwPciConfigSupported)"
    if card.vgpu and not card.passthrough:
        return "it is shared as vGPUs, which no label steers"
    if state is None or not (state.active or state.enabled):
        return "passthrough is off: switch it on first"
    if node is None:
        return "its NUMA node is not known: import it (vplacer topology import), or read it with --esxcli"
    return None


def _places(
    topology: HostTopology, cards: Sequence[AssignableDevice], scheme: Scheme
) -> Mapping[PciAddress, str]:
    """Return what follows the node in the labels ("-p0"), or a sentence why a card has no such place.

    A card that is in no pair, or behind no switch, has the label of its node: nothing follows.
    """
    match scheme:
        case Scheme.NODE:
            return {}
        case Scheme.PAIR:
            return _pairs(topology, cards)
        case Scheme.SWITCH:
            return _switches(topology, cards)


def _pairs(topology: HostTopology, cards: Sequence[AssignableDevice]) -> dict[PciAddress, str]:
    gpus = [card.address for card in cards if card.kind == "gpu"]
    found: dict[PciAddress, str] = {}
    for one in gpus:
        if any(topology.lanes(one, other) is None for other in gpus if other != one):
            found[one] = "which GPUs NVLink joins to it is not known: import it (vplacer topology import)"
    numbers: dict[int, int] = {}
    for item in nvlink_sets(topology.gpus, topology.links):
        members = [address for address in item.gpus if address in gpus and address not in found]
        nodes = {topology.cpu_node_for(address) for address in members}
        if topology.nvswitch or item.switched:
            why = "NVSwitch joins it to all others, so there are no pairs: use --scheme node"
        elif len(nodes) != 1:
            why = "NVLink joins it to a GPU of another NUMA node, and a label names one: use --scheme node"
        else:
            why = None
        node = next(iter(nodes)) if len(nodes) == 1 else None
        if why is not None or node is None:
            found |= dict.fromkeys(members, why or "")
            continue
        found |= {address: f"-p{numbers.setdefault(node, 0)}" for address in members}
        numbers[node] += 1
    return found


def _switches(topology: HostTopology, cards: Sequence[AssignableDevice]) -> dict[PciAddress, str]:
    order: dict[int | None, list[PciAddress]] = {}
    place: dict[PciAddress, tuple[int | None, PciAddress]] = {}
    for card in cards:
        device = topology.device(card.address)
        if device is not None and device.switch is not None:
            node = topology.cpu_node_for(card.address)
            place[card.address] = (node, device.switch)
            known = order.setdefault(node, [])
            if device.switch not in known:
                known.append(device.switch)
    return {address: f"-s{sorted(order[node]).index(switch)}" for address, (node, switch) in place.items()}
