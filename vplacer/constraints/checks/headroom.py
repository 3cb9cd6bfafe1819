"""After the loss of the largest hosts, what remains is enough in sum."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from fractions import Fraction

from vplacer.constraints.cards import devices_of_host
from vplacer.constraints.costs import SOFTER_RULE
from vplacer.constraints.holdings import PASSTHROUGH, VGPU, vm_holdings
from vplacer.constraints.loads import load_of, load_today, supply_of
from vplacer.constraints.registry import Check, Relaxation
from vplacer.constraints.state import Problem, State, Violation
from vplacer.constraints.steering import ask_of
from vplacer.inventory.host import ConnectionState, Host, HostPower
from vplacer.request.demand import Demand, GpuAsk
from vplacer.topology.assignable import AssignableDevice
from vplacer.topology.vgpu_room import profile_shape

ID = "headroom"

CORES = "millicores"
MEMORY = "MiB of memory"
GPUS = " GPUs"
"""Names of the resources; the model stands before the last."""


def check(state: State) -> Iterable[Violation]:
    """Compare, per cluster, what VMs take with what is left without the N largest hosts.

    Cores, memory and GPUs of each model are summed, and the largest hosts are taken away for each of
    them apart: necessary for a restart of all VMs, not sufficient. What is short today may stay so,
    and not get worse.
    """
    lost = state.problem.request.options.headroom_hosts
    if lost <= 0:
        return
    inventory = state.problem.inventory
    touched = {inventory.host_by_moid[p.host].cluster for p in state.placements if not p.stays}
    for cluster in inventory.clusters:
        if cluster.moid not in touched:
            continue
        hosts = [host for host in inventory.hosts if host.cluster == cluster.moid]
        usable = [host for host in hosts if counts(host)]
        for what, used, before, rooms in _resources(state, hosts, usable):
            room = sum(sorted(rooms, reverse=True)[lost:])
            if used > room and used > before:
                largest = "its largest host" if lost == 1 else f"its {lost} largest hosts"
                text = f"cluster {cluster.name}: {used} {what} taken, {room} left without {largest}"
                numbers = (("used", used), ("left", room))
                yield Violation(ID, cluster.moid, text, numbers=numbers)


def counts(host: Host) -> bool:
    """Whether a host's resources can be counted on."""
    return (
        host.connection is ConnectionState.CONNECTED
        and host.power in (HostPower.ON, HostPower.STANDBY)
        and host.in_maintenance is False
    )


def resources_today(
    problem: Problem, hosts: list[Host], usable: list[Host]
) -> Iterable[tuple[str, int, list[int]]]:
    """Yield each resource of some hosts: its name, what is taken today, and what each host has."""
    for what, _, before, rooms in _resources(State(problem, ()), hosts, usable):
        yield what, before, rooms


def _resources(
    state: State, hosts: list[Host], usable: list[Host]
) -> Iterable[tuple[str, int, int, list[int]]]:
    """Yield each resource: its name, what is taken, what is taken today, and what each host has."""
    problem = state.problem
    now = [load_of(state, host.moid).whole for host in hosts]
    old = [load_today(problem, host.moid).whole for host in hosts]
    supplies = [supply_of(problem, host.moid).total for host in usable]
    yield (
        CORES,
        sum(load.millicores for load in now),
        sum(load.millicores for load in old),
        [supply.millicores for supply in supplies],
    )
    yield (
        MEMORY,
        sum(load.memory_mib for load in now),
        sum(load.memory_mib for load in old),
        [supply.memory_mib for supply in supplies],
    )
    used: Counter[str] = Counter()
    before: Counter[str] = Counter()
    for host in hosts:
        used.update(_gpus_used(state, host))
        before.update(_whole(problem.derive(_gpus_today, host.moid)))
    offered = {
        _model(device)
        for host in hosts
        for device in devices_of_host(problem, host.moid)
        if device.kind == "gpu"
    }
    for model in sorted(used.keys() | offered):
        rooms = [
            sum(
                1
                for device in devices_of_host(problem, host.moid)
                if device.kind == "gpu" and _model(device) == model and device.unusable is None
            )
            for host in usable
        ]
        yield f"{model}{GPUS}", used[model], before[model], rooms


_Shares = Mapping[str, Fraction]


def _model(device: AssignableDevice) -> str:
    return device.model or "unknown"


def _whole(shares: _Shares) -> Counter[str]:
    """Round shares of cards down: necessary cards."""
    return Counter({model: int(share) for model, share in shares.items()})


def _gpus_today(problem: Problem, host: str) -> _Shares:
    return _held(problem, host, [vm.moid for vm in problem.inventory.vms_by_host.get(host, ())])


def _held(problem: Problem, moid: str, vms: Iterable[str]) -> dict[str, Fraction]:
    """GPUs of each model that VMs hold on a host, a vGPU as its share of a card."""
    host = problem.inventory.host_by_moid[moid]
    devices = {device.address: device for device in devices_of_host(problem, moid)}
    found: dict[str, Fraction] = {}
    for vm in vms:
        for holding in vm_holdings(problem, vm):
            address = holding.address or next(iter(holding.candidates), None)
            device = devices.get(address) if address is not None else None
            if device is None or device.kind != "gpu" or holding.kind not in (PASSTHROUGH, VGPU):
                continue
            share = Fraction(1) if holding.kind == PASSTHROUGH else _share(host, holding.profile)
            found[_model(device)] = found.get(_model(device), Fraction(0)) + share
    return found


def _share(host: Host, profile: str | None) -> Fraction:
    shape = profile_shape(host, profile) if profile is not None else None
    return Fraction(1, shape.per_card_max) if shape is not None and shape.per_card_max else Fraction(1)


def _gpus_used(state: State, host: Host) -> Counter[str]:
    problem = state.problem
    standing = [vm.moid for vm in state.standing_by_host.get(host.moid, ())]
    found = _held(problem, host.moid, standing)
    devices = {device.address: device for device in devices_of_host(problem, host.moid)}
    for placement in state.placements_by_host.get(host.moid, ()):
        demand = problem.demand_by_id[placement.demand]
        for assignment in placement.devices:
            device = devices.get(assignment.address)
            ask = ask_of(demand, assignment)
            if device is None or device.kind != "gpu" or not isinstance(ask, GpuAsk):
                continue
            share = _share(host, ask.profile) if ask.profile is not None else Fraction(1)
            found[_model(device)] = found.get(_model(device), Fraction(0)) + share
    return _whole(found)


def relax(_problem: Problem, demand: Demand) -> tuple[Relaxation, ...]:
    """Less headroom would do."""
    return (Relaxation("ask for less headroom", SOFTER_RULE, demand.id, "headroom.hosts", "0"),)


CHECK = Check(ID, "Headroom for host failures", "across", check, relax=relax)
