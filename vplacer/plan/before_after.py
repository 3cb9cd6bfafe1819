"""The hosts that a plan touches, before and after it, as pictures: made of the plan alone."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from vplacer.inventory.device_kind import DeviceKind
from vplacer.inventory.finding import Certainty
from vplacer.inventory.gpu_models import AMD, NVIDIA, gpu_by_ids
from vplacer.inventory.host import ConnectionState
from vplacer.inventory.moids import moid_order
from vplacer.inventory.nic_models import nic_by_ids
from vplacer.inventory.pci import PciAddress, PciIds
from vplacer.inventory.vm import VmPower
from vplacer.plan.changes import Power
from vplacer.plan.model import Fact, ObjectKind, Observed, Plan, PlannedAsk, PlannedDevice, VmPlan
from vplacer.plan.observed import EXTRA_PREFIX
from vplacer.plan.observed_read import (
    ObservedCard,
    ObservedNode,
    ObservedWish,
    observed_cards,
    observed_holdings,
    observed_nodes,
)
from vplacer.plan.settings import NODE_AFFINITY
from vplacer.request.demand import BoundBy
from vplacer.topology.describe import HostState
from vplacer.topology.host_picture import (
    HostPicture,
    PictureCard,
    PictureHolder,
    PictureNode,
    PictureVm,
    farthest,
)
from vplacer.topology.levels import NumaRelation
from vplacer.topology.vm_places import HeldDevices, Home, VmPlace


class Part(StrEnum):
    """What a VM does on a host."""

    NEW = "new"
    LEAVES = "leaves"
    ARRIVES = "arrives"
    CHANGES = "changes"


@dataclass(frozen=True, slots=True)
class HostChange:
    """A host before and after; ``parts``: what changed VMs do on it, by id (of the demand, for a new one)."""

    before: HostPicture
    after: HostPicture
    parts: Mapping[str, Part]


@dataclass(frozen=True, slots=True)
class _Holding:
    """A card that a VM has. ``relation`` None = by the nodes of both."""

    address: PciAddress
    how: str = ""
    certainty: Certainty = Certainty.PROVED
    relation: NumaRelation | None = None


@dataclass(frozen=True, slots=True)
class _Seat:
    """A VM on a host."""

    vm: str
    name: str
    host: str
    power: str
    nodes: tuple[int, ...]
    cpus: int | None
    memory_mib: int | None
    held: tuple[_Holding, ...] = field(default=())
    untold: tuple[ObservedWish, ...] = ()


def host_changes(plan: Plan) -> tuple[HostChange, ...]:
    """Return the hosts on which a VM changes, comes or goes, in the order of their ids.

    A card that vSphere will choose is shown as the one that the plan was checked with, and said to be such.
    """
    planned = {vm.vm or vm.demand: vm for vm in plan.vms}
    seats = {seen.id: _today(seen) for seen in plan.observed if _is_seat(seen)}
    before = {vm: seat for vm, seat in seats.items() if vm not in planned or planned[vm].host_before}
    after = dict(before)
    for vm, item in planned.items():
        after[vm] = _planned(plan, vm, item, seats.get(vm))
        if vm in before and not item.changed:
            before[vm] = after[vm]
    changed = {vm: item for vm, item in planned.items() if item.changed}
    hosts = {seen.id: seen for seen in plan.observed if seen.kind is ObjectKind.HOST}
    touched = {host for item in changed.values() for host in (item.host_before, item.host_after) if host}
    return tuple(
        HostChange(
            before=_picture(plan, hosts[host], before.values()),
            after=_picture(plan, hosts[host], after.values()),
            parts={vm: part for vm, item in changed.items() if (part := _part(item, host)) is not None},
        )
        for host in sorted(touched & set(hosts), key=moid_order)
    )


def _is_seat(seen: Observed) -> bool:
    return seen.kind is ObjectKind.VM and dict(seen.fields).get("template") is not True


def _part(item: VmPlan, host: str) -> Part | None:
    if item.host_before == item.host_after == host:
        return Part.CHANGES
    if item.host_before == host:
        return Part.LEAVES
    if item.host_after == host:
        return Part.ARRIVES if item.vm is not None else Part.NEW
    return None


def _today(seen: Observed) -> _Seat:
    fields = dict(seen.fields)
    named, untold = observed_holdings(fields.get("devices"))
    return _Seat(
        vm=seen.id,
        name=seen.name,
        host=_text(fields.get("host")),
        power=_text(fields.get("power")),
        nodes=_nodes(fields.get(EXTRA_PREFIX + NODE_AFFINITY)),
        cpus=_number(fields.get("cpus")),
        memory_mib=_number(fields.get("memory_mib")),
        held=tuple(_Holding(address) for address in named),
        untold=untold,
    )


def _planned(plan: Plan, vm: str, item: VmPlan, today: _Seat | None) -> _Seat:
    powers = [
        change.after for step in item.steps if isinstance(change := plan.step_by_id[step].change, Power)
    ]
    power = str(powers[-1] if powers else today.power if today is not None else VmPower.OFF)
    held = tuple(_holding(ask, device) for ask in item.asks for device in ask.devices)
    return _Seat(vm, item.name, item.host_after, power, item.nodes, item.cpus, item.memory_mib, held)


def _holding(ask: PlannedAsk, device: PlannedDevice) -> _Holding:
    if device.settled:
        return _Holding(device.address)
    how = f"any of label {device.label}" if device.bound_by is BoundBy.LABEL else "vSphere's choice"
    relation = ask.numa if ask.fixed else NumaRelation.UNKNOWN
    return _Holding(device.address, how, Certainty.UNKNOWN, relation)


def _picture(plan: Plan, host: Observed, seats: Iterable[_Seat]) -> HostPicture:
    fields = dict(host.fields)
    nodes = observed_nodes(fields.get("numa_nodes"))
    here = [seat for seat in seats if seat.host == host.id]
    cards = _cards(observed_cards(fields.get("cards")), nodes, here)
    here.sort(key=lambda seat: (seat.power != VmPower.ON, seat.name, seat.vm))
    return HostPicture(
        moid=host.id,
        name=host.name,
        cluster=plan.name(_text(fields.get("cluster"))) or None,
        hardware="",
        state=HostState(
            ConnectionState(_text(fields.get("connection"))),
            fields.get("maintenance") is True,
            fields.get("quarantine") is True,
            None,
        ),
        nodes=tuple(PictureNode(n.id, n.package, n.cores, n.memory_bytes) for n in nodes),
        cards=cards,
        vms=tuple(_vm(seat, nodes, cards) for seat in here),
    )


def _cards(
    cards: Iterable[ObservedCard], nodes: tuple[ObservedNode, ...], seats: Iterable[_Seat]
) -> tuple[PictureCard, ...]:
    found = []
    counts = {DeviceKind.GPU: 0, DeviceKind.NIC: 0}
    seats, cards = tuple(seats), tuple(cards)
    running = [seat for seat in seats if seat.power == VmPower.ON]
    untold = [wish for seat in running for wish in seat.untold]
    unsettled = {held.address for seat in running for held in seat.held if held.how}
    open_ids = {card.ids for card in cards if card.address in unsettled}
    for card in cards:
        gpu, nic = gpu_by_ids(card.ids), nic_by_ids(card.ids)
        kind = DeviceKind.GPU if _is_gpu(card.ids) else DeviceKind.NIC
        holders = tuple(
            PictureHolder(
                vm=seat.vm,
                name=seat.name,
                relation=held.relation or _relation(card.node, _home(seat, nodes), nodes),
                now=seat.power == VmPower.ON,
                how=held.how,
                certainty=held.certainty,
            )
            for seat in seats
            for held in seat.held
            if held.address == card.address
        )
        found.append(
            PictureCard(
                label=f"{'NIC' if kind is DeviceKind.NIC else 'GPU'}{counts[kind]}",
                kind=kind,
                name=gpu.name if gpu is not None else nic.name if nic is not None else str(card.ids),
                address=card.address,
                node=card.node,
                unusable=None if card.passthrough else "no passthrough",
                holders=holders,
                maybe_held=card.passthrough and (card.ids in open_ids or _may_be(card, kind, untold)),
            )
        )
        counts[kind] += 1
    return tuple(found)


def _may_be(card: ObservedCard, kind: DeviceKind, untold: Iterable[ObservedWish]) -> bool:
    """Whether a card may be one of those that VMs hold and nobody tells which."""
    ids = (card.ids.vendor, card.ids.device)
    return any(
        ids in wish.ids if wish.ids else (kind is DeviceKind.NIC) == (wish.kind == "sriov") for wish in untold
    )


def _is_gpu(ids: PciIds) -> bool:
    """Whether a card is a GPU. A plan keeps GPUs and NICs without their class: the ids tell which."""
    return gpu_by_ids(ids) is not None or (ids.vendor in (NVIDIA, AMD) and nic_by_ids(ids) is None)


def _vm(seat: _Seat, nodes: tuple[ObservedNode, ...], cards: Iterable[PictureCard]) -> PictureVm:
    home = _home(seat, nodes)
    mine = [(card.label, holder) for card in cards for holder in card.holders if holder.vm == seat.vm]
    place = VmPlace(
        moid=seat.vm,
        name=seat.name,
        power=seat.power,
        home=Home.FIXED if home else Home.FLOATING,
        nodes=home,
        why="",
        measured_at=None,
        local_percent=None,
        cpus=seat.cpus,
        memory_mib=seat.memory_mib,
        held=HeldDevices(),
    )
    return PictureVm(
        place=place,
        cards=tuple((label, holder.relation) for label, holder in mine),
        untold=len(seat.untold),
        farthest=farthest(holder.relation for _, holder in mine if holder.now),
    )


def _home(seat: _Seat, nodes: tuple[ObservedNode, ...]) -> tuple[int, ...]:
    """Return the nodes that a VM is on; empty = it floats. Of one node with cores all are."""
    if seat.nodes:
        return seat.nodes
    with_cores = [node.id for node in nodes if node.cores != 0]
    return tuple(with_cores) if len(with_cores) == 1 else ()


def _relation(card: int | None, home: tuple[int, ...], nodes: tuple[ObservedNode, ...]) -> NumaRelation:
    """Return how far a card's node is from the nearest of a VM's; unknown for a node without cores."""
    if card is None or not home:
        return NumaRelation.UNKNOWN
    if card in home:
        return NumaRelation.SAME_NODE
    known = {node.id: node for node in nodes}
    packages = [known[node].package if node in known else None for node in (card, *home)]
    if None in packages or known[card].cores == 0:
        return NumaRelation.UNKNOWN
    return NumaRelation.SAME_SOCKET if packages[0] in packages[1:] else NumaRelation.OTHER_SOCKET


def _nodes(fact: Fact) -> tuple[int, ...]:
    words = fact.split(",") if isinstance(fact, str) else []
    return tuple(int(word) for word in words if word.strip().isdecimal())


def _text(fact: Fact) -> str:
    return fact if isinstance(fact, str) else ""


def _number(fact: Fact) -> int | None:
    return fact if isinstance(fact, int) and not isinstance(fact, bool) else None
