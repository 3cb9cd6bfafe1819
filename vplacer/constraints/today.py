"""Whether an existing VM, as it is today, already is what its demand asks for."""

from __future__ import annotations

from dataclasses import dataclass

from vplacer.constraints.bipartite import assign
from vplacer.constraints.cards import devices_of_host
from vplacer.constraints.holdings import (
    VF,
    VGPU,
    Claim,
    vm_holdings,
)
from vplacer.constraints.state import DeviceAssignment, Placement, Problem
from vplacer.constraints.supply import demand_parts, nodes_with_cores
from vplacer.inventory.gpu_models import gpu_by_ids
from vplacer.inventory.host import Host
from vplacer.inventory.nic_models import nic_by_ids
from vplacer.inventory.pci import PciAddress, PciIds
from vplacer.inventory.vm import (
    DynamicBacking,
    SriovBacking,
    StaticBacking,
    VgpuBacking,
    Vm,
    VmDevice,
)
from vplacer.request.demand import AffinityMode, BoundBy, Demand, GpuAsk, NicAsk
from vplacer.request.evacuation import must_leave


@dataclass(frozen=True, slots=True)
class _Unit:
    """One device of the VM, or one device group, as a request would ask for it.

    ``cards``: the card of each member, with who chose it; None = no card can be named.
    """

    kind: str
    model: str | None
    profile: str | None
    group: str | None
    label: str | None
    sriov: bool
    network: str | None
    cards: tuple[PciAddress, ...] | None
    bound_by: BoundBy


def placement_today(problem: Problem, demand: Demand) -> Placement | None:
    """Return today's place of a VM that already has what its demand asks for, else None.

    Counts, models, CPUs, memory, vNUMA shape, pool, cluster and power are compared; nearness is the
    judge's to check on the placement returned. Where it is not known which card the VM holds, the
    placement names one that it may.
    """
    return problem.derive(_today, demand.id)[0]


def differences_today(problem: Problem, demand: Demand) -> tuple[str, ...]:
    """Return in what a VM differs from its demand today, a sentence each; empty = in nothing."""
    return problem.derive(_today, demand.id)[1]


def why_it_leaves(problem: Problem, demand: Demand) -> str | None:
    """Return that of `differences_today` which says that a VM must leave its host, or None."""
    vm = problem.inventory.vm_by_moid.get(demand.vm or "")
    if vm is None or not must_leave(problem.request.options, vm, demand.power_on):
        return None
    return _emptied(problem.inventory.host_by_moid[vm.host or ""])


def _emptied(host: Host) -> str:
    return f"its host {host.name} is to be emptied"


def has_what_it_asks(problem: Problem, demand: Demand) -> bool:
    """Whether a VM has the size, settings and devices its demand asks for, wherever it is and may be."""
    return problem.derive(_today, demand.id)[2]


def _today(problem: Problem, demand_id: str) -> tuple[Placement | None, tuple[str, ...], bool]:
    demand = problem.demand_by_id[demand_id]
    vm = problem.inventory.vm_by_moid.get(demand.vm or "")
    if vm is None:
        return None, ("the VM does not exist yet",), False
    host = problem.inventory.host_by_moid.get(vm.host or "")
    if host is None or host.moid not in problem.topologies:
        return None, ("the VM is on no known host",), False
    devices, problems = _devices(problem, demand, vm, host)
    found = [*_size_differences(demand, vm, host), *problems]
    asked = not found
    found = [*found[: len(found) - len(problems)], *_place_differences(problem, demand, vm, host), *problems]
    nodes = tuple(node for node in vm.node_affinity if any(n.id == node for n in host.numa_nodes))
    if len(nodes) != len(vm.node_affinity):
        nodes = ()
    if demand.mode is AffinityMode.PIN and not nodes and len(nodes_with_cores(host)) > 1:
        found.append("numa.nodeAffinity is not set")
    if found:
        return None, tuple(found), asked
    return Placement(demand.id, host.moid, nodes, devices, stays=True), (), asked


def _size_differences(demand: Demand, vm: Vm, host: Host) -> list[str]:
    found = []
    if vm.cpus != demand.cpus:
        found.append(f"{vm.cpus} vCPUs instead of {demand.cpus}")
    if vm.memory_mib != demand.memory_mib:
        found.append(f"{vm.memory_mib} MiB of memory instead of {demand.memory_mib}")
    if vm.is_on != demand.power_on:
        found.append(f"it is {vm.power.value}")
    if vm.hardware_version is None or vm.hardware_version < demand.hardware_version:
        found.append(f"hardware version {vm.hardware_version} instead of {demand.hardware_version}")
    if demand.latency_high and vm.latency_sensitivity != "high":
        found.append("latency sensitivity is not high")
    reserved = vm.memory_locked_to_max or (vm.memory_reservation_mib or 0) >= vm.memory_mib
    if demand.memory_reserved and not reserved:
        found.append("its memory is not fully reserved")
    manual = manual_nodes(vm)
    wanted = demand.vnuma_nodes
    if wanted is not None and manual != wanted:
        found.append(f"{manual if manual is not None else 'automatic'} vNUMA nodes instead of {wanted}")
    if wanted is None and manual is not None and manual != demand_parts(demand, host):
        found.append(f"{manual} vNUMA nodes set by hand")
    return found


def manual_nodes(vm: Vm) -> int | None:
    """Return the number of vNUMA nodes set by hand; None = automatic."""
    if vm.vnuma.auto or not vm.vnuma.cores_per_node:
        return None
    return max(1, vm.cpus // vm.vnuma.cores_per_node)


def _place_differences(problem: Problem, demand: Demand, vm: Vm, host: Host) -> list[str]:
    found = []
    if must_leave(problem.request.options, vm, demand.power_on):
        found.append(_emptied(host))
    if demand.hosts and host.moid not in demand.hosts:
        found.append(f"it is on {host.name}")
    if demand.clusters and host.cluster not in demand.clusters:
        found.append("it is in another cluster")
    if demand.pool is not None and vm.pool != demand.pool:
        found.append("it is in another resource pool")
    return found


def _devices(
    problem: Problem, demand: Demand, vm: Vm, host: Host
) -> tuple[tuple[DeviceAssignment, ...], list[str]]:
    """Match what the VM has with the asks, one to one."""
    wrong = _wrong_static(problem, vm, host)
    if wrong:
        return (), wrong
    units = _units(problem, vm, host)
    asks: list[tuple[str, int, GpuAsk | NicAsk]] = [
        *(("gpu", index, gpu) for index, gpu in enumerate(demand.gpus)),
        *(("nic", index, nic) for index, nic in enumerate(demand.nics)),
    ]
    wanted = sum(ask.count for _, _, ask in asks)
    if len(units) != wanted:
        return (), [f"{len(units)} devices instead of {wanted}"]
    columns = assign(len(units), [ask.count for _, _, ask in asks], lambda u, a: _is(units[u], asks[a][2]))
    if columns is None:
        return (), ["its devices are of other kinds than asked for"]
    if demand.mode is AffinityMode.PIN and any(_could_be_static(unit) for unit in units):
        return (), ["its devices are not bound by static DirectPath I/O"]
    found = []
    groups = 0
    for unit, column in zip(units, columns, strict=True):
        kind, index, _ = asks[column]
        if unit.cards is None:
            return (), [f"which card its {unit.model or unit.profile or unit.group} is cannot be told"]
        group = None
        if unit.group is not None:
            group, groups = groups, groups + 1
        label = unit.label if unit.bound_by is BoundBy.LABEL else None
        found += [DeviceAssignment(kind, index, card, unit.bound_by, label, group) for card in unit.cards]
    return tuple(sorted(found, key=lambda d: (d.ask, d.index, d.group or 0, d.address))), []


def _wrong_static(problem: Problem, vm: Vm, host: Host) -> list[str]:
    """Say which static devices keep a VM that is off from starting: their card is not what they name.

    A card that moved or went away, a device id stored in decimal (govmomi #2248), the system id of another
    host. Devices that no request speaks of are left out.
    """
    if vm.is_on:
        return []
    cards = {device.address for device in devices_of_host(problem, host.moid)}
    found = []
    for device in vm.devices:
        backing = device.backing
        if not isinstance(backing, StaticBacking):
            continue
        if backing.address not in cards and (backing.ids is None or _kind_of_ids(backing.ids) is None):
            continue
        card = host.device(backing.address)
        named = backing.ids or "no device id"
        if card is None:
            found.append(f"its static device names {named} at {backing.address}, where the host has nothing")
        elif str(card.ids) != str(named):
            found.append(
                f"its static device names {named} at {backing.address}, where the host has {card.ids}"
            )
        elif card.system_id is not None and backing.system_id not in ("", card.system_id):
            found.append(f"its static device at {backing.address} names another host's system id")
    return found


def _could_be_static(unit: _Unit) -> bool:
    plain = unit.profile is None and unit.group is None and not unit.sriov
    return plain and unit.bound_by is not BoundBy.STATIC


def _is(unit: _Unit, ask: GpuAsk | NicAsk) -> bool:
    if isinstance(ask, NicAsk):
        return (
            unit.kind == "nic"
            and unit.group is None
            and unit.sriov == (ask.kind == "sriov")
            and ask.model in (None, unit.model)
            and ask.label in (None, unit.label)
            and ask.network in (None, unit.network)
        )
    if unit.kind != "gpu" or ask.group != unit.group or ask.profile != unit.profile:
        return False
    return ask.model in (None, unit.model) and ask.label in (None, unit.label)


def _units(problem: Problem, vm: Vm, host: Host) -> list[_Unit]:
    """Return what the VM has, in the order of its devices; devices no ask can express are left out."""
    holdings = {h.device_key: h for h in vm_holdings(problem, vm.moid) if h.device_key is not None}
    namer = _Namer(problem, host, holdings)
    names = {group.key: group.name for group in vm.device_groups}
    units = [
        unit for device in vm.devices if device.group_key is None and (unit := namer.unit(device)) is not None
    ]
    for key, name in sorted(names.items()):
        members = [device for device in vm.devices if device.group_key == key]
        cards = [namer.card(device) for device in members]
        known = tuple(card for card in cards if card is not None)
        named = known if len(known) == len(cards) else None
        units.append(_Unit("gpu", None, None, name, None, False, None, named, BoundBy.PLATFORM))
    return units


class _Namer:
    """Names the card behind each device of one VM, each whole card once."""

    def __init__(self, problem: Problem, host: Host, holdings: dict[int, Claim]) -> None:
        self.devices = devices_of_host(problem, host.moid)
        self.by_address = {device.address: device for device in self.devices}
        self.holdings = holdings
        self.used = {h.address for h in holdings.values() if h.address is not None}

    def card(self, device: VmDevice) -> PciAddress | None:
        """The card held, or one that may be; None where there is none."""
        backing = device.backing
        if isinstance(backing, StaticBacking):
            return backing.address
        holding = self.holdings.get(device.key)
        if holding is not None and holding.address is not None:
            return holding.address
        if holding is not None:
            candidates: tuple[PciAddress, ...] = holding.candidates
        else:
            candidates = self._matching(device)
        shared = (
            holding.kind in (VGPU, VF) if holding is not None else not isinstance(backing, DynamicBacking)
        )
        for candidate in candidates:
            if shared or candidate not in self.used:
                self.used.add(candidate)
                return candidate
        return None

    def _matching(self, device: VmDevice) -> tuple[PciAddress, ...]:
        """Cards a device of a VM that is off may get."""
        match device.backing:
            case DynamicBacking(allowed=allowed, label=label):
                ids = {(one.vendor, one.device) for one in allowed}
                return tuple(
                    d.address
                    for d in self.devices
                    if d.passthrough and (d.ids.vendor, d.ids.device) in ids and label in (None, "", d.label)
                )
            case VgpuBacking():
                return tuple(d.address for d in self.devices if d.vgpu)
            case SriovBacking(physical_function=port):
                ports = tuple(d.address for d in self.devices if d.sriov_free_vfs)
                return (port,) if port is not None else ports
            case _:
                return ()

    def unit(self, device: VmDevice) -> _Unit | None:
        card = self.card(device)
        cards = (card,) if card is not None else None
        held = self.by_address.get(card) if card is not None else None
        match device.backing:
            case VgpuBacking(profile=profile):
                model = held.model if held is not None else None
                return _Unit("gpu", model, profile, None, None, False, None, cards, BoundBy.PLATFORM)
            case SriovBacking(network=network, physical_function=port):
                model = held.model if held is not None else None
                bound_by = BoundBy.STATIC if port is not None else BoundBy.PLATFORM
                return _Unit("nic", model, None, None, None, True, network, cards, bound_by)
            case StaticBacking():
                if held is None:
                    return None
                return _Unit(
                    held.kind, held.model, None, None, held.label, False, None, cards, BoundBy.STATIC
                )
            case DynamicBacking(label=label) as backing:
                named = (held.kind, held.model) if held is not None else _kind_of_allowed(backing)
                if named is None:
                    return None
                bound_by = BoundBy.LABEL if label else BoundBy.PLATFORM
                return _Unit(named[0], named[1], None, None, label or None, False, None, cards, bound_by)
            case _:
                return None


def _kind_of_allowed(backing: DynamicBacking) -> tuple[str, str] | None:
    """Kind and model of a Dynamic device that matches no card of the host, by its first alternative."""
    if not backing.allowed:
        return None
    first = backing.allowed[0]
    return _kind_of_ids(PciIds(first.vendor, first.device, first.sub_vendor, first.sub_device))


def _kind_of_ids(ids: PciIds) -> tuple[str, str] | None:
    gpu = gpu_by_ids(ids)
    if gpu is not None:
        return "gpu", gpu.name
    nic = nic_by_ids(ids)
    return ("nic", nic.name) if nic is not None else None
