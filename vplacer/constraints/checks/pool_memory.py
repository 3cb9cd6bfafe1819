"""Resource pools can still reserve the memory that placements need."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from vplacer.constraints.registry import Check
from vplacer.constraints.state import Placement, Problem, State, Violation
from vplacer.constraints.supply import holds_devices
from vplacer.inventory.cluster import ResourcePool
from vplacer.inventory.vm import Vm
from vplacer.request.demand import Demand

ID = "pool-memory"


def check(state: State) -> Iterable[Violation]:
    """Compare what placements reserve, less what their VMs give back, with what each pool has left.

    What a pool cannot take from its own unused reservation it takes from its parent, if it may
    expand; a parent's room is shared by its children (vSphere API: ResourcePool,
    runtime.memory.unreservedForVm).
    """
    inventory = state.problem.inventory
    net: dict[str, int] = defaultdict(int)
    first: dict[str, str] = {}
    for placement in state.placements:
        if placement.stays:
            continue
        demand = state.problem.demand_by_id[placement.demand]
        vm = inventory.vm_by_moid.get(demand.vm or "")
        target = pool_of(state.problem, demand, placement)
        if target is not None:
            net[target.moid] += vm_needs(demand, vm)
            first.setdefault(target.moid, demand.id)
        if vm is not None and vm.is_on and vm.pool is not None:
            net[vm.pool] -= vm_holds(vm)
    for pool, need in _flows(state.problem, net):
        room = pool.memory_unreserved_mib
        if need > 0 and room is not None and need > room:
            text = f"pool {pool.name}: {need} MiB more to reserve, {room} unreserved"
            numbers = (("needed_mib", need), ("unreserved_mib", room))
            yield Violation(ID, first.get(pool.moid, pool.moid), text, numbers=numbers)


def pool_of(problem: Problem, demand: Demand, placement: Placement) -> ResourcePool | None:
    """Return the pool of a placed demand: as asked, the VM's own, else the root pool of the cluster."""
    inventory = problem.inventory
    vm = inventory.vm_by_moid.get(demand.vm or "")
    named = demand.pool or (vm.pool if vm is not None else None)
    if named is not None:
        return inventory.pool_by_moid.get(named)
    cluster = inventory.host_by_moid[placement.host].cluster
    return next((p for p in inventory.pools if p.owner == cluster and p.parent is None), None)


def vm_needs(demand: Demand, vm: Vm | None) -> int:
    """Return the MiB a placed demand reserves."""
    if not demand.power_on:
        return 0
    reserved = demand.memory_mib if demand.memory_reserved else 0
    if not demand.memory_reserved and vm is not None:
        reserved = min(vm.memory_reservation_mib or 0, demand.memory_mib)
    return reserved + demand.overhead_mib


def vm_holds(vm: Vm) -> int:
    """Return the MiB a running VM has reserved."""
    full = holds_devices(vm) or vm.memory_locked_to_max
    reserved = vm.memory_mib if full else (vm.memory_reservation_mib or 0)
    return reserved + (vm.overhead_mib or 0)


def _flows(problem: Problem, net: dict[str, int]) -> Iterable[tuple[ResourcePool, int]]:
    """Yield each pool with what must be reserved in it, children before parents."""
    pools = problem.inventory.pool_by_moid
    depth: dict[str, int] = {}
    for moid in pools:
        above, steps = pools[moid].parent, 0
        while above in pools and steps < len(pools):
            above, steps = pools[above].parent, steps + 1
        depth[moid] = steps
    needs = dict(net)
    for moid in sorted(pools, key=lambda m: -depth[m]):
        pool = pools[moid]
        need = needs.get(moid, 0)
        if not need:
            continue
        yield pool, need
        parent = pools.get(pool.parent or "")
        if parent is None or not pool.memory_expandable:
            continue
        own = max(0, (pool.memory_unreserved_mib or 0) - (parent.memory_unreserved_mib or 0))
        # What is given back goes to the pool's own reservation first: the parent may get nothing.
        needs[parent.moid] = needs.get(parent.moid, 0) + max(0, need - own)


CHECK = Check(ID, "Resource pool memory", "across", check)
