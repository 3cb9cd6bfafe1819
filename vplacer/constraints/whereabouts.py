"""On which host each VM is in a state, for the rules between VMs."""

from __future__ import annotations

from vplacer.constraints.state import State


def host_of(state: State, vm: str) -> str | None:
    """Return the host of a demand or VM in a state; None = it is nowhere."""
    return state.derive(_hosts).get(vm)


def _hosts(state: State) -> dict[str, str]:
    found = {
        vm.moid: vm.host for vm in state.problem.inventory.vms if vm.host is not None and not vm.template
    }
    found.update({placement.demand: placement.host for placement in state.placements})
    return found


def placed_anew(state: State, vm: str) -> bool:
    """Whether a VM is made or changed by the state: only then a rule broken with it is its doing."""
    placement = state.placement_by_demand.get(vm)
    return placement is not None and not placement.stays


def name_of(state: State, vm: str) -> str:
    """Return the name of a demand or VM."""
    demand = state.problem.demand_by_id.get(vm)
    if demand is not None:
        return demand.name
    found = state.problem.inventory.vm_by_moid.get(vm)
    return found.name if found is not None else vm
