"""VMs without a GPU fill the NUMA node of a free GPU."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from vplacer.audit.gpu_sets import free_cards, gpu_sets
from vplacer.audit.model import Hit, Outcome, Rule, Severity
from vplacer.audit.subject import Subject
from vplacer.audit.words import listed
from vplacer.constraints.loads import supply_of, vm_consumer
from vplacer.constraints.supply import ZERO, Amount, Seat, holds_gpu_like
from vplacer.inventory.finding import Certainty
from vplacer.inventory.gpu_models import gpu_by_ids
from vplacer.inventory.host import Host
from vplacer.inventory.vm import Vm
from vplacer.topology.values import DeviceTopology


@dataclass(frozen=True, slots=True)
class _Guest:
    """A VM without a GPU, and what it takes of a node; ``measured`` = seen there by esxtop, and not bound."""

    vm: Vm
    amount: Amount
    measured: bool


def find(subject: Subject) -> Iterator[Outcome]:
    """Yield nodes with free GPUs, no room for a VM that would use one, and VMs without a GPU on them."""
    for host in subject.inventory.hosts:
        free = free_cards(subject, host) if subject.topologies[host.moid].gpus else frozenset()
        usable = {device.address for device in subject.cards(host).devices if device.passthrough}
        if not free & usable:
            continue
        guests = _guests(subject, host)
        topology = subject.topologies[host.moid]
        for node, theirs in guests.items():
            gpus = [
                gpu
                for gpu in topology.gpus
                if gpu.address in free & usable and topology.cpu_node_for(gpu.address) == node
            ]
            if gpus:
                yield from _node(subject, host, node, gpus, theirs)


def _node(
    subject: Subject, host: Host, node: int, gpus: list[DeviceTopology], guests: list[_Guest]
) -> Iterator[Hit]:
    need, whose = _need(subject, gpus[0])
    left = _left(subject, host, node)
    theirs = ZERO
    for guest in guests:
        if guest.measured:
            left = left - guest.amount
        theirs = theirs + guest.amount
    room = min(_times(left, need), len(gpus))
    if room == min(_times(left + theirs, need), len(gpus)):
        return
    certainty = Certainty.MEASURED if any(guest.measured for guest in guests) else Certainty.PROVED
    names = listed(f"{guest.vm.name} ({_told(guest.amount)})" for guest in guests)
    have = "is" if len(gpus) == 1 else "are"
    fits = "no VM that would use one fits" if room == 0 else f"only {room} of as many VMs fit"
    yield Hit(
        f"on pNUMA {node}, {len(gpus)} {gpus[0].model or gpus[0].ids} {have} free and {fits} beside what "
        "runs "
        f"there: {_told(left)} are left, {_told(need)} are needed ({whose}), and VMs without a GPU take "
        f"{_told(theirs)}: {names}",
        certainty,
        host=host.moid,
        key=f"node-{node}",
        severity=None if room == 0 else Severity.NOTE,
        numbers=(("node", node), ("free_gpus", len(gpus)), ("usable_gpus", room)),
    )


def _guests(subject: Subject, host: Host) -> Mapping[int, list[_Guest]]:
    """Return the running VMs without a GPU that are bound to a node, or were measured on one, by node."""
    measured = subject.measured(host)
    homes = {} if measured is None else {m.moid: m.home.nodes for m in measured.vms if m.home is not None}
    found: dict[int, list[_Guest]] = {}
    for vm in subject.inventory.vms_by_host.get(host.moid, ()):
        if not vm.is_on or not vm.readable or holds_gpu_like(vm):
            continue
        consumer = vm_consumer(subject.problem, vm.moid)
        if consumer is None:
            continue
        if consumer.seat is Seat.BOUND:
            for node in consumer.nodes:
                found.setdefault(node, []).append(_Guest(vm, consumer.part, measured=False))
        elif len(homes.get(vm.moid, ())) == 1:
            found.setdefault(homes[vm.moid][0], []).append(_Guest(vm, consumer.whole, measured=True))
    return found


def _left(subject: Subject, host: Host, node: int) -> Amount:
    """Return what VMs bound to a node leave of it."""
    supply = next((n.amount for n in supply_of(subject.problem, host.moid).nodes if n.id == node), ZERO)
    for vm in subject.inventory.vms_by_host.get(host.moid, ()):
        consumer = vm_consumer(subject.problem, vm.moid)
        if consumer is not None and consumer.seat is Seat.BOUND:
            supply = supply - _on(consumer.nodes, consumer.part, node)
    return supply


def _on(nodes: tuple[int, ...], part: Amount, node: int) -> Amount:
    """Return what equal parts on nodes take of one of them."""
    times = nodes.count(node)
    return Amount(part.millicores * times, part.memory_mib * times)


def _need(subject: Subject, gpu: DeviceTopology) -> tuple[Amount, str]:
    """Return what a VM with one such GPU takes: the smallest that runs, else a core and the card's memory."""
    smallest = subject.derive(_smallest).get(gpu.model or str(gpu.ids))
    if smallest is not None:
        return smallest[0], f"the smallest VM with one, {smallest[1]}"
    model = gpu_by_ids(gpu.ids)
    memory = (model.memory_mib if model is not None else None) or 1024
    return Amount(1000, memory), "one core, and as much memory as the card"


def _smallest(subject: Subject) -> Mapping[str, tuple[Amount, str]]:
    found: dict[str, tuple[Amount, str]] = {}
    for item in gpu_sets(subject):
        amount = Amount(item.vm.cpus * 1000 // len(item.cards), item.vm.memory_mib // len(item.cards))
        known = found.get(item.model)
        size = (amount.memory_mib, amount.millicores, item.vm.name)
        if known is None or size < (known[0].memory_mib, known[0].millicores, known[1]):
            found[item.model] = (amount, item.vm.name)
    return found


def _times(room: Amount, need: Amount) -> int:
    """Return how often a need fits a room."""
    cores = room.millicores // need.millicores if need.millicores else room.memory_mib
    memory = room.memory_mib // need.memory_mib if need.memory_mib else cores
    return max(0, min(cores, memory))


def _told(amount: Amount) -> str:
    cores = "1 core" if amount.millicores == 1000 else f"{amount.millicores / 1000:g} cores"
    return f"{cores} and {amount.memory_mib / 1024:.4g} GiB"


RULE = Rule(
    id="VPL043",
    name="cpu-vm-on-gpu-node",
    title="VMs without a GPU fill the node of a free GPU",
    severity=Severity.WARNING,
    cause="A VM without a GPU took cores or memory of the node that a GPU is on. The GPU is free, and a VM "
    "that is given it has to live on the other node, far from it.",
    evidence="Cores and memory of the node less what is bound to it (numa.nodeAffinity) and what esxtop "
    "saw there; VMs with GPUs count a core a vCPU, others a quarter, as in a plan. Needed is what the "
    "smallest running VM takes for each GPU of the model, else one core and as much memory as the card "
    "has. A note where fewer VMs fit than GPUs are free, but some do.",
    fix="Move the VMs without a GPU to the other node, or to a host without GPUs, and keep them off with a "
    "VM-host rule (vplacer plan places CPU-only VMs on nodes without GPUs first).",
    sample="on pNUMA 0, 2 A30 are free and no VM that would use one fits beside what runs there: 28 cores "
    "and 4 GiB are left, 8 cores and 64 GiB are needed (the smallest VM with one, infer-1), and VMs "
    "without a GPU take 4 cores and 240 GiB: db-1 (4 cores and 240 GiB)",
    find=find,
)
