"""Resource pools of the simulated vCenter: what VMs that run leave of each pool's memory.

A pool's unreserved memory is its reservation less what its VMs and children reserve; an expandable pool
adds what its parent has left, a limit caps it (vSphere API: ResourcePoolRuntimeInfo). What the vCenter
told at the beginning and this arithmetic does not explain is kept as a difference.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from vplacer.constraints.checks.pool_memory import vm_holds
from vplacer.inventory.cluster import ResourcePool
from vplacer.inventory.vm import Vm

MEMORY_MIB = "memory_mib"


def vm_takes_mib(vm: Vm) -> int:
    """Return the memory a VM has reserved of its pool and host: none unless it runs."""
    return vm_holds(vm) if vm.is_on and not vm.template else 0


class PoolUse:
    """Sums by pool, kept up to date one VM at a time."""

    def __init__(self, pools: Mapping[str, ResourcePool], vms: Iterable[Vm]) -> None:
        self._pools = pools
        self._used = dict.fromkeys(pools, 0)
        for vm in vms:
            self._add(vm, 1)
        plain = self._unreserved()
        self._apart = {
            moid: None if pool.memory_unreserved_mib is None else pool.memory_unreserved_mib - plain[moid]
            for moid, pool in pools.items()
        }

    def moved(self, before: Vm | None, after: Vm | None) -> bool:
        """Take a change of a VM into account; return whether any pool may have changed."""
        one = (before.pool, vm_takes_mib(before)) if before is not None else (None, 0)
        other = (after.pool, vm_takes_mib(after)) if after is not None else (None, 0)
        if one == other:
            return False
        if before is not None:
            self._add(before, -1)
        if after is not None:
            self._add(after, 1)
        return True

    def renewed(self) -> tuple[ResourcePool, ...]:
        """Return the pools with what they have left now."""
        plain = self._unreserved()
        found = []
        for moid, pool in self._pools.items():
            apart = self._apart[moid]
            left = None if apart is None else plain[moid] + apart
            found.append(replace(pool, memory_unreserved_mib=left))
        return tuple(found)

    def _add(self, vm: Vm, sign: int) -> None:
        if vm.pool in self._used:
            self._used[vm.pool] += sign * vm_takes_mib(vm)

    def _unreserved(self) -> dict[str, int]:
        """What each pool has left by arithmetic alone; parents before children."""
        order = self._by_depth()
        demand = dict(self._used)
        for pool in reversed(order):
            if pool.parent in demand:
                demand[pool.parent] += max(demand[pool.moid], pool.memory_reservation_mib or 0)
        left: dict[str, int] = {}
        for pool in order:
            own = (pool.memory_reservation_mib or 0) - demand[pool.moid]
            if pool.parent in left:
                own = max(0, own)
                if pool.memory_expandable:
                    own += max(0, left[pool.parent])
            if pool.memory_limit_mib is not None and pool.memory_limit_mib >= 0:
                own = min(own, pool.memory_limit_mib - demand[pool.moid])
            left[pool.moid] = own
        return left

    def _by_depth(self) -> list[ResourcePool]:
        def depth(pool: ResourcePool) -> int:
            steps, above = 0, pool.parent
            while above is not None and above in self._pools and steps < len(self._pools):
                above, steps = self._pools[above].parent, steps + 1
            return steps

        return sorted(self._pools.values(), key=depth)
