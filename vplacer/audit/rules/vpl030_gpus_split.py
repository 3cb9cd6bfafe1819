"""GPUs of one VM lie apart while the host has a better set for it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from itertools import combinations

from vplacer.audit.faults import CERTAINTY, faults
from vplacer.audit.gpu_sets import GpuSet, gpu_sets, numa_spread, others
from vplacer.audit.held import unknown_cards
from vplacer.audit.model import Hit, NotEvaluated, Outcome, Rule, Severity
from vplacer.audit.subject import Subject
from vplacer.audit.words import listed
from vplacer.constraints.nearness import INTERCONNECT
from vplacer.constraints.state import Violation
from vplacer.inventory.device_kind import DeviceKind
from vplacer.inventory.pci import PciAddress
from vplacer.topology.host_topology import HostTopology
from vplacer.topology.levels import NumaRelation


def find(subject: Subject) -> Iterator[Outcome]:
    """Yield VMs with several GPUs for which the host has a nearer set, free or already theirs."""
    judged = {vm.moid: fault for vm, fault in faults(subject, INTERCONNECT)}
    untold: dict[str, str] = {}
    for found in gpu_sets(subject):
        if len(found.cards) > 1:
            yield from _of_set(subject, found, judged, untold)
    for vm, _host, topology in subject.placed:
        if vm.is_on and len(vm.devices) > 1 and len(topology.gpus) > 1:
            unknown = unknown_cards(subject, vm, DeviceKind.GPU)
            if unknown > 1:
                yield NotEvaluated(f"which GPUs it holds is not known ({unknown} devices)", vm=vm.moid)
    for host, why in untold.items():
        yield NotEvaluated(why, host=host)


def _of_set(
    subject: Subject, found: GpuSet, judged: Mapping[str, Violation], untold: dict[str, str]
) -> Iterator[Outcome]:
    topology = subject.topologies[found.host.moid]
    fault = judged.get(found.vm.moid)
    lanes = [topology.lanes(a, b) for a, b in combinations(found.cards, 2)]
    if found.whole and all(lane is not None and lane > 0 for lane in lanes):
        return
    reach = frozenset((*found.cards, *others(subject, found)))
    if found.whole and not topology.nvswitch:
        if None in lanes:
            untold[found.host.moid] = "which of its GPUs NVLink joins is not known: an overlay would tell"
        else:
            better = _joined(topology, found, reach)
            if better:
                yield _hit(found, "are not joined by NVLink", better, "are", fault)
                return
            if fault is not None:
                yield _taken(found, fault)
                return
    yield from _apart(found, topology, reach, fault)


def _joined(topology: HostTopology, found: GpuSet, reach: frozenset[PciAddress]) -> tuple[PciAddress, ...]:
    """Return as many cards, all joined by NVLink, that it could have; of several those it has most of."""
    count, own = len(found.cards), set(found.cards)
    sets = [
        sorted(reach.intersection(group), key=lambda a: (a not in own, a)) for group in topology.nvlink_groups
    ]
    enough = [tuple(sorted(cards[:count])) for cards in sets if len(cards) >= count]
    return max(enough, key=lambda cards: len(own.intersection(cards)), default=())


def _apart(
    found: GpuSet, topology: HostTopology, reach: frozenset[PciAddress], fault: Violation | None
) -> Iterator[Outcome]:
    spread = numa_spread(topology, found.cards)
    if spread is NumaRelation.UNKNOWN:
        yield NotEvaluated("on which pNUMA nodes its GPUs are is not known", vm=found.vm.moid)
    elif spread is NumaRelation.OTHER_SOCKET and not _spans(found, topology):
        better = _together(found, topology, reach, package=True)
        if better:
            yield _hit(
                found, f"are on several sockets ({_nodes(found, topology)})", better, "share one", fault
            )
    elif spread is NumaRelation.SAME_SOCKET and len(found.vm.node_affinity) < 2:
        better = _together(found, topology, reach, package=False)
        if better:
            where = f"are on several nodes of a socket ({_nodes(found, topology)})"
            yield _hit(found, where, better, "share one", fault, Severity.WARNING)


def _spans(found: GpuSet, topology: HostTopology) -> bool:
    """Whether the VM itself is bound to, or needs, several sockets: then its GPUs may be there as well."""
    packages = {node.package for node in topology.nodes if node.id in found.vm.node_affinity}
    if len(packages) > 1:
        return True
    cores: Counter[int | None] = Counter()
    memory: Counter[int | None] = Counter()
    for node in topology.nodes:
        cores[node.package] += node.core_count
        memory[node.package] += (node.memory_bytes or 0) // (1024 * 1024)
    largest = max(cores.values(), default=0), max(memory.values(), default=0)
    return found.vm.cpus > largest[0] or 0 < largest[1] < found.vm.memory_mib


def _together(
    found: GpuSet, topology: HostTopology, reach: frozenset[PciAddress], *, package: bool
) -> tuple[PciAddress, ...]:
    """Return as many cards of one package, or node, that it could have."""
    places: dict[int, list[PciAddress]] = {}
    own = set(found.cards)
    for address in sorted(reach, key=lambda a: (a not in own, a)):
        card = topology.device(address)
        place = None if card is None else (card.package if package else card.node)
        if place is not None:
            places.setdefault(place, []).append(address)
    enough = [tuple(cards[: len(found.cards)]) for cards in places.values() if len(cards) >= len(found.cards)]
    return max(enough, key=lambda cards: len(own.intersection(cards)), default=())


def _nodes(found: GpuSet, topology: HostTopology) -> str:
    nodes = {card.node for address in found.cards if (card := topology.device(address)) is not None}
    return ", ".join(f"pNUMA {node}" for node in sorted(node for node in nodes if node is not None))


def _hit(
    found: GpuSet,
    how: str,
    better: tuple[PciAddress, ...],
    verb: str,
    fault: Violation | None,
    severity: Severity | None = None,
) -> Hit:
    free = [address for address in better if address not in found.cards]
    return Hit(
        f"its {found.model} {listed(map(str, found.cards), 8)} {how}, while {listed(map(str, better), 8)} "
        f"{verb}, "
        f"of which {listed(map(str, free), 8)} {'is' if len(free) == 1 else 'are'} free",
        found.certainty,
        vm=found.vm.moid,
        host=found.host.moid,
        key=found.model,
        severity=severity,
        mendable=fault is not None,
    )


def _taken(found: GpuSet, fault: Violation) -> Hit:
    """What the judge faults: a set of that size is there, and others have of it."""
    return Hit(
        f"its {found.model} {listed(map(str, found.cards), 8)} are not joined by NVLink; the host has a "
        "set of "
        f"{len(found.cards)} that is, and other VMs have of it",
        CERTAINTY[fault.confidence],
        vm=found.vm.moid,
        host=found.host.moid,
        key=found.model,
        severity=Severity.WARNING,
        mendable=True,
    )


RULE = Rule(
    id="VPL030",
    name="gpus-split",
    title="GPUs of one VM lie apart while a better set exists",
    severity=Severity.ERROR,
    cause="The GPUs of a VM exchange data over PCIe and the link between sockets, where two that are "
    "joined by NVLink, or share a socket, would do it many times faster. vSphere chooses Dynamic "
    "DirectPath cards without looking at that, unless a label or a device group says which.",
    evidence="The cards the VM holds, NVLinks from an overlay or the hardware catalogue, and the nodes of "
    "the cards; better is as many cards of the model, free or the VM's own, that are joined by NVLink, or "
    "else on one socket or node. VMs that need or are bound to several sockets are let off. A set that "
    "other VMs hold part of is a warning, and so are nodes of one socket.",
    fix="Give the VM the better set: static DirectPath, a label for each NVLink pair (vplacer labels plan "
    "--scheme pair), or a vendor device group; vplacer plan finds the cheapest way.",
    sample="its A30 0000:17:00.0, 0000:ca:00.0 are not joined by NVLink, while 0000:17:00.0, 0000:18:00.0 "
    "are, of which 0000:18:00.0 is free",
    find=find,
)
