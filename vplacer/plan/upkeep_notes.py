"""Whether hosts that were to be emptied are empty after the plan, and whether its limits are kept."""

from __future__ import annotations

from vplacer.constraints.disturbance import disturbance_of
from vplacer.constraints.state import State
from vplacer.constraints.whereabouts import host_of
from vplacer.inventory.vm import Vm
from vplacer.plan.model import EvacuatedHost
from vplacer.request.demand import RequestOptions
from vplacer.request.evacuation import must_leave


def evacuated_hosts(state: State) -> tuple[EvacuatedHost, ...]:
    """Say of each host that was to be emptied whether it is, and who stays."""
    inventory = state.problem.inventory
    found = []
    for moid in state.problem.request.options.evacuate:
        stays = tuple(
            vm.moid
            for vm in inventory.vms_by_host.get(moid, ())
            if host_of(state, vm.moid) == moid and _has_to_leave(state, vm)
        )
        found.append(EvacuatedHost(moid, not stays, stays))
    return tuple(found)


def evacuation_notes(state: State, hosts: tuple[EvacuatedHost, ...]) -> tuple[str, ...]:
    """Return a sentence for each host that was to be emptied."""
    problem = state.problem
    left_alone = {item.vm for item in problem.request.left_alone}
    notes = []
    for item in hosts:
        name = problem.inventory.host_by_moid[item.host].name
        here = [vm for vm in problem.inventory.vms_by_host.get(item.host, ()) if not vm.template]
        leaving = [vm for vm in here if host_of(state, vm.moid) != item.host]
        if item.stays:
            names = ", ".join(
                f"{vm.name} ({'left alone' if vm.moid in left_alone else 'no place elsewhere'})"
                for vm in here
                if vm.moid in item.stays
            )
            notes.append(f"{name} is NOT EMPTY after this plan: {names}")
        elif leaving:
            notes.append(f"{name} can enter maintenance after this plan: {_how(state, leaving)}")
    return tuple(notes)


def over_limit_notes(options: RequestOptions, power_cycles: int) -> tuple[str, ...]:
    """Say that the order of the migrations costs more power cycles than allowed; empty = it does not.

    The solver counts what each VM needs by itself; two migrations that wait for each other's room cost one
    more, since one of them goes switched off.
    """
    most = options.max_power_cycles
    if most is None or power_cycles <= most:
        return ()
    return (
        f"not to be carried out: {power_cycles} power cycles, at most {most} allowed, since migrations would "
        "wait for each other's room",
    )


def _has_to_leave(state: State, vm: Vm) -> bool:
    demand = state.problem.demand_by_id.get(vm.moid)
    return must_leave(state.problem.request.options, vm, demand is not None and demand.power_on)


def _how(state: State, leaving: list[Vm]) -> str:
    changes = [disturbance_of(state.problem, state.placement_by_demand[vm.moid]) for vm in leaving]
    stopped = sum(change.power_cycle for change in changes)
    off = sum(not change.running for change in changes)
    counts = (
        (len(changes) - stopped - off, "while they run"),
        (stopped, "switched off on the way"),
        (off, "off"),
    )
    told = ", ".join(f"{number} {how}" for number, how in counts if number)
    who = "1 VM leaves" if len(leaving) == 1 else f"{len(leaving)} VMs leave"
    return f"{who} it ({told})"
