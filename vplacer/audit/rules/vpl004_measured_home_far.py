"""Measured: a VM is at home on another NUMA node than its GPU or NIC."""

from __future__ import annotations

from collections.abc import Iterator

from vplacer.audit.held import HeldCard, OpenDevice, held_cards, open_devices
from vplacer.audit.measured_vms import measured_vms
from vplacer.audit.model import Hit, NotEvaluated, Outcome, Rule, Severity
from vplacer.audit.node_room import on_several_nodes
from vplacer.audit.remote_cards import FAR_WORDS, relation_of_all
from vplacer.audit.subject import Subject
from vplacer.constraints.locality import card_relation
from vplacer.constraints.supply import holds_devices
from vplacer.inventory.device_kind import DeviceKind
from vplacer.inventory.finding import Certainty
from vplacer.inventory.measured import MeasuredHome
from vplacer.inventory.vm import Vm
from vplacer.topology.levels import NumaRelation

_KINDS = (DeviceKind.GPU, DeviceKind.NIC)


def find(subject: Subject) -> Iterator[Outcome]:
    """Yield cards that are on no node where their running VM was measured to be.

    A card that is remote from the nodes its VM is bound to is left to the rules on that.
    """
    hosts = {
        vm.host for vm, host, _ in subject.placed if vm.is_on and holds_devices(vm) and on_several_nodes(host)
    }
    for item in measured_vms(subject):
        if isinstance(item, NotEvaluated):
            about = subject.inventory.vm_by_moid.get(item.vm or "")
            if item.host in hosts or (about is not None and about.host in hosts and holds_devices(about)):
                yield item
        elif item[0].host in hosts and holds_devices(item[0]):
            yield from _of_vm(subject, *item)


def _of_vm(subject: Subject, vm: Vm, home: MeasuredHome) -> Iterator[Outcome]:
    held = [card for kind in _KINDS for card in held_cards(subject, vm, kind)]
    unsure = dict.fromkeys(device for kind in _KINDS for device in open_devices(subject, vm, kind))
    if not held and not unsure:
        return
    if not home.nodes:
        told = f": the host tells '{home.nodes_told}'" if home.nodes_told else ""
        yield NotEvaluated(f"its home nodes were not told in a form that is understood{told}", vm=vm.moid)
        return
    for card in held:
        yield from _of_card(subject, vm, home, card)
    for device in unsure:
        yield from _of_open(subject, vm, home, device)


def _of_card(subject: Subject, vm: Vm, home: MeasuredHome, held: HeldCard) -> Iterator[Outcome]:
    topology = subject.topologies[vm.host or ""]
    relation = card_relation(topology, held.card.address, home.nodes)
    node = topology.cpu_node_for(held.card.address)
    if relation is NumaRelation.UNKNOWN or node is None:
        yield NotEvaluated(f"on which pNUMA node its {held.name} is, is not known", vm=vm.moid)
        return
    bound = vm.node_affinity
    if relation is NumaRelation.SAME_NODE or (
        bound and card_relation(topology, held.card.address, bound) is not NumaRelation.SAME_NODE
    ):
        return
    yield _hit(
        vm,
        home,
        f"its {held.name} is on pNUMA {node}",
        relation,
        Certainty.MEASURED if held.certainty is Certainty.PROVED else held.certainty,
        str(held.card.address),
    )


def _of_open(subject: Subject, vm: Vm, home: MeasuredHome, device: OpenDevice) -> Iterator[Outcome]:
    """Tell of a device of which only the cards it may be are known: all of them far, or nothing."""
    topology = subject.topologies[vm.host or ""]
    relation = relation_of_all(topology, device.cards, home.nodes)
    bound = vm.node_affinity
    name = device.label or "device"
    if relation is NumaRelation.UNKNOWN:
        yield NotEvaluated(f"which card its {name} is, is not known", vm=vm.moid)
    elif relation is not NumaRelation.SAME_NODE and not (
        bound and relation_of_all(topology, device.cards, bound) is not NumaRelation.SAME_NODE
    ):
        text = f"its {name}, whichever of {len(device.cards)} cards it is, is elsewhere"
        yield _hit(vm, home, text, relation, Certainty.MEASURED, device.label)


def _hit(
    vm: Vm, home: MeasuredHome, what: str, relation: NumaRelation, certainty: Certainty, device: str | None
) -> Hit:
    homes = ", ".join(f"pNUMA {node}" for node in home.nodes)
    return Hit(
        f"it is at home on {homes}, and {what}, {FAR_WORDS[relation]} (measured {home.at})",
        certainty,
        vm=vm.moid,
        host=vm.host,
        device=device,
        severity=Severity.ERROR if relation is NumaRelation.OTHER_SOCKET else Severity.WARNING,
        numbers=(("home_node", home.nodes[0]),),
    )


RULE = Rule(
    id="VPL004",
    name="measured-home-far",
    title="Measured home node is not the device's",
    severity=Severity.ERROR,
    cause="Nothing binds the VM to the node of its GPU or NIC, and the host's NUMA scheduler took another "
    "one. Each copy between memory and device crosses the link between sockets (or between nodes of a "
    "socket), for as long as the VM stays there.",
    evidence="The home nodes in the last sample of esxtop (NHN), and the pNUMA node of the GPU or NIC that "
    "the VM holds now. On another socket it is an error, on another node of the same socket a warning. A VM "
    "bound to a node that is not the device's is told by gpu-remote and nic-remote instead.",
    fix="Set numa.nodeAffinity to the device's node and power-cycle the VM: vplacer plan with a request for "
    "the VM (affinity: pin or label) writes it and sees to it that the node has room.",
    sample="it is at home on pNUMA 1, and its GPU A30 0000:3b:00.0 is on pNUMA 0, on another socket "
    "(measured 2026-03-01T02:00:00Z)",
    find=find,
)
