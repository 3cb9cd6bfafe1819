"""The devices a placed VM must have, from the assignments of its placement."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from vplacer.constraints.state import DeviceAssignment, Placement
from vplacer.errors import InternalError, InventoryIncomplete
from vplacer.inventory.device_kind import DeviceKind, device_kind
from vplacer.inventory.gpu_models import gpu_by_ids
from vplacer.inventory.host import DeviceGroupType, GroupComponent, Host, PciDevice
from vplacer.inventory.pci import PciAddress, PciIds
from vplacer.inventory.vm import (
    AllowedDevice,
    Backing,
    DynamicBacking,
    SriovBacking,
    StaticBacking,
    UnknownBacking,
    VgpuBacking,
)
from vplacer.plan.changes import GroupRef
from vplacer.request.demand import BoundBy, Demand, GpuAsk, NicAsk


@dataclass(frozen=True, slots=True)
class WantedDevice:
    """One device: its backing, the cards it may be, and its place in a group.

    ``witness`` is the card of the assignment; None for a member of a group that has none of its own.
    ``vnode``: vNUMA node to tell the guest, None = tell nothing.
    """

    ref: str
    ask: str
    index: int
    backing: Backing
    witness: PciAddress | None
    bound_by: BoundBy
    vnode: int | None = None
    group: GroupRef | None = None
    sequence: int | None = None


@dataclass(frozen=True, slots=True)
class WantedDevices:
    """All devices of a placement, those of device groups last, and the groups."""

    devices: tuple[WantedDevice, ...]
    groups: tuple[GroupRef, ...]


def device_refs(placement: Placement) -> tuple[str, ...]:
    """Return for each assignment of a placement, in its order, the name of its device in the plan."""
    counts: Counter[str] = Counter()
    refs = []
    for assignment in placement.devices:
        refs.append(f"{assignment.ask}{counts[assignment.ask]}")
        counts[assignment.ask] += 1
    return tuple(refs)


def wanted_devices(
    demand: Demand, placement: Placement, host: Host, vnodes: tuple[int | None, ...]
) -> WantedDevices:
    """Return the devices of a placement. ``vnodes``: for each assignment the vNUMA node to tell.

    Raises:
        InventoryIncomplete: the host does not tell what a static backing needs.
        InternalError: an assignment answers no ask, or names a card or group the host has not.
    """
    made: list[WantedDevice] = []
    grouped: dict[tuple[int, int | None], list[tuple[DeviceAssignment, int | None, str]]] = {}
    for assignment, vnode, ref in zip(placement.devices, vnodes, device_refs(placement), strict=True):
        ask = _ask(demand, assignment)
        if isinstance(ask, GpuAsk) and ask.group is not None:
            key = (assignment.index, assignment.group)
            grouped.setdefault(key, []).append((assignment, vnode, ref))
            continue
        backing = _backing(ask, assignment, host)
        made.append(
            WantedDevice(
                ref, assignment.ask, assignment.index, backing, assignment.address, assignment.bound_by, vnode
            )
        )
    groups: list[GroupRef] = []
    for (index, _), members in sorted(grouped.items(), key=lambda item: (item[0][0], item[0][1] or 0)):
        name = demand.gpus[index].group or ""
        group = GroupRef(f"group{len(groups)}", name)
        groups.append(group)
        made.extend(_members(demand, host, group, index, members))
    return WantedDevices(tuple(made), tuple(groups))


def _ask(demand: Demand, assignment: DeviceAssignment) -> GpuAsk | NicAsk:
    asks: tuple[GpuAsk | NicAsk, ...] = demand.gpus if assignment.ask == "gpu" else demand.nics
    if not 0 <= assignment.index < len(asks):
        raise InternalError("a placement has a device nobody asked for", obj=demand.name, why=str(assignment))
    return asks[assignment.index]


def _card(host: Host, address: PciAddress) -> PciDevice:
    device = host.device(address)
    if device is None:
        raise InternalError("a placement names a card the host has not", obj=host.name, why=str(address))
    return device


def _backing(ask: GpuAsk | NicAsk, assignment: DeviceAssignment, host: Host) -> Backing:
    if isinstance(ask, GpuAsk) and ask.profile is not None:
        return VgpuBacking(ask.profile)
    card = _card(host, assignment.address)
    if isinstance(ask, NicAsk) and ask.kind == "sriov":
        port = card.address if assignment.bound_by is not BoundBy.PLATFORM else None
        return SriovBacking(port, None, ask.network)
    if assignment.bound_by is BoundBy.STATIC:
        return static_backing(host, card)
    label = assignment.label if assignment.label is not None else ask.label
    return DynamicBacking((allowed_for(card.ids),), label)


def static_backing(host: Host, card: PciDevice) -> StaticBacking:
    """Return the static backing of a card; the device id in hexadecimal, as hosts need it (govmomi #2248).

    Raises:
        InventoryIncomplete: the host does not tell the card's system id.
    """
    if card.system_id is None:
        raise InventoryIncomplete(
            f"the host does not tell the system id of {card.address}",
            obj=host.name,
            why="it is missing from the host's list of devices for passthrough (ConfigTarget.pciPassthrough)",
            hint="check that passthrough of the card is active, or use affinity 'label' or 'hint'",
        )
    return StaticBacking(
        card.address, format(card.ids.device, "x"), card.ids.vendor, card.system_id, card.device_name
    )


def allowed_for(ids: PciIds) -> AllowedDevice:
    """Return what a Dynamic backing should allow: the card's ids, so that it fits on other hosts too.

    The subsystem ids name the server's maker and would tie the VM to it; they are stated only where
    nothing else tells the model.
    """
    model = gpu_by_ids(ids)
    if model is not None and model.sub_devices:
        return AllowedDevice(ids.vendor, ids.device, ids.sub_vendor, ids.sub_device)
    return AllowedDevice(ids.vendor, ids.device)


def _members(
    demand: Demand,
    host: Host,
    group: GroupRef,
    index: int,
    members: list[tuple[DeviceAssignment, int | None, str]],
) -> list[WantedDevice]:
    """Return all components of a device group; a group is chosen whole, whatever was assigned."""
    offered = next((item for item in host.device_groups if item.name == group.name), None)
    if offered is None:
        raise InternalError(
            "a placement names a device group the host has not", obj=host.name, why=group.name
        )
    waiting = sorted(members, key=lambda member: member[0].address)
    made = []
    for position, component in enumerate(offered.components):
        match = _take(waiting, component, host)
        witness, vnode, ref = match or (None, None, f"{group.ref}.{position}")
        sequence = component.sequence_id if component.sequence_id is not None else position
        backing = _component_backing(component, demand)
        made.append(
            WantedDevice(ref, "gpu", index, backing, witness, BoundBy.PLATFORM, vnode, group, sequence)
        )
    return made


def _take(
    waiting: list[tuple[DeviceAssignment, int | None, str]], component: GroupComponent, host: Host
) -> tuple[PciAddress, int | None, str] | None:
    """Take the first assignment whose card is of the component's kind."""
    wants_nic = component.kind in ("sriovNic", "dvx")
    for item in waiting:
        assignment, vnode, ref = item
        card = host.device(assignment.address)
        if card is not None and (device_kind(card) is DeviceKind.NIC) == wants_nic:
            waiting.remove(item)
            return assignment.address, vnode, ref
    return None


def _component_backing(component: GroupComponent, demand: Demand) -> Backing:
    match component.kind:
        case "nvidiaVgpu" if component.profile is not None:
            return VgpuBacking(component.profile)
        case "pciPassthru" if component.allowed:
            allowed = tuple(
                AllowedDevice(ids.vendor, ids.device, ids.sub_vendor, ids.sub_device)
                for ids in component.allowed
            )
            return DynamicBacking(allowed)
        case "sriovNic":
            return SriovBacking(None, None, group_network(demand))
        case kind:
            return UnknownBacking(kind)


def group_network(demand: Demand) -> str | None:
    """Return the network for the virtual functions of a device group: the only one it can mean."""
    named = [ask.network for ask in demand.nics if ask.network is not None]
    known = named or list(demand.networks)
    return known[0] if len(set(known)) == 1 else None


def needs_network(group: DeviceGroupType) -> bool:
    """Whether a member of a device group needs a network that the user chooses."""
    return any(component.kind == "sriovNic" for component in group.components)
