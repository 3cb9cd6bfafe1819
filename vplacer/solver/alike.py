"""What trials have found out, kept by what they depend on: hosts and demands that are alike share it.

A site of thousands of hosts has few kinds of host, and few states that a kind is left in.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field, fields, replace

from vplacer.constraints.labels import scope_of
from vplacer.constraints.state import Problem
from vplacer.constraints.unread import unread_on_host
from vplacer.inventory.host import Host, PciDevice
from vplacer.request.demand import Demand
from vplacer.solver.host_state import HostState
from vplacer.solver.instance import Rejection
from vplacer.solver.option import Option

_OWN = frozenset({"moid", "name", "uuid", "bindings", "cluster", "pci_devices", "pnics"})
"""What tells hosts apart and decides nothing by itself."""


@dataclass
class Memo:
    """Answers by the number of a demand and the number of a host or of its state.

    ``emptied``: hosts, by moid, without one of their VMs.
    """

    filtered: dict[tuple[int, int], Rejection | None] = field(default_factory=dict)
    seated: dict[tuple[int, int], Option | Rejection] = field(default_factory=dict)
    emptied: dict[tuple[str, str | None], HostState] = field(default_factory=dict)
    _numbers: dict[Hashable, int] = field(default_factory=dict)
    _known: dict[int, tuple[object, int]] = field(default_factory=dict)

    def demand(self, demand: Demand) -> int:
        """Number a demand; those that differ in their name alone are one."""
        known = self._found(demand)
        if known is not None:
            return known
        return self._number(demand, replace(demand, id="", name="", source=None))

    def ruled(self, problem: Problem, demand: Demand) -> int:
        """Number a demand as filters see it: VM-host rules name demands."""
        named = any(demand.id in rule.vms for rule in problem.request.rules.on_hosts)
        return self._key((self.demand(demand), demand.id if named else ""))

    def host(self, problem: Problem, moid: str, demand: Demand) -> int:
        """Number a host as filters see it: one that is named by a rule, a demand or a VM is like no other."""
        if problem.inventory.gaps:
            return self._key(("host", moid))
        named = moid in demand.hosts or any(moid in rule.hosts for rule in problem.request.rules.on_hosts)
        vm = problem.inventory.vm_by_moid.get(demand.vm or "")
        host = problem.inventory.host_by_moid[moid]
        cluster = problem.inventory.cluster_by_moid.get(host.cluster or "")
        failover = cluster.admission if cluster is not None else None
        hidden = any(binding.vm not in problem.inventory.vm_by_moid for binding in host.bindings)
        special = named or hidden or (vm is not None and vm.host == moid)
        special = special or (failover is not None and moid in failover.dedicated)
        # Of what could not be read the filter tells a host's own.
        special = special or unread_on_host(problem, host) is not None
        if special:
            return self._key(("host", moid))
        return self._key((self._host(host), id(problem.topologies[moid])))

    def state(self, state: HostState) -> int:
        """Number the state of a host."""
        known = self._found(state)
        if known is not None:
            return known
        host = state.host
        key = (
            scope_of(host),
            host.version,
            host.cpu_hz,
            host.core_count,
            host.thread_count,
            host.hyperthreading_active,
            host.numa_nodes,
            host.vgpu_profiles,
            host.vgpu_types,
            host.device_groups,
            id(state.topology),
            state.supply.nodes,
            state.supply.total,
            state.room,
            state.items,
            state.divisible,
            state.total_room,
            state.cells,
            state.scarce,
            state.vgpu_held,
        )
        return self._number(state, key)

    def _host(self, host: Host) -> int:
        known = self._found(host)
        if known is not None:
            return known
        own = [getattr(host, item.name) for item in fields(host) if item.name not in _OWN]
        own.append(tuple(_without_serials(device) for device in host.pci_devices))
        own.append(tuple(replace(pnic, mac=None) for pnic in host.pnics))
        return self._number(host, (scope_of(host), tuple(own)))

    def _found(self, thing: object) -> int | None:
        """Return the number of this very object, if it has one; kept objects keep their identity."""
        known = self._known.get(id(thing))
        return known[1] if known is not None else None

    def _number(self, thing: object, key: Hashable) -> int:
        number = self._key(key)
        self._known[id(thing)] = (thing, number)
        return number

    def _key(self, key: Hashable) -> int:
        return self._numbers.setdefault(key, len(self._numbers))


def _without_serials(device: PciDevice) -> PciDevice:
    graphics = replace(device.graphics, vms=()) if device.graphics is not None else None
    return replace(device, system_id=None, graphics=graphics)
