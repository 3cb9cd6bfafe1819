"""What becomes of running VMs that no request describes: moved off hosts, allowed to move, looked at."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from vplacer.inventory.vcenter import Inventory
from vplacer.inventory.vm import Vm
from vplacer.request.as_today import AsToday, why_held
from vplacer.request.demand import AffinityMode, Demand, LeftAlone, Policy, RequestOptions
from vplacer.request.evacuation import must_leave
from vplacer.request.naming import listed
from vplacer.request.select import Target
from vplacer.topology.host_topology import HostTopology


@dataclass(frozen=True, slots=True)
class Upkeep:
    """What is asked for beside the request.

    ``evacuate``: moids of hosts to be emptied; ``evacuate_off``: of VMs that are off too. ``movable``: moids
    of VMs that may be moved though the request does not name them. ``everyone``: every running VM is a
    demand, to be what it is today.
    """

    evacuate: tuple[str, ...] = ()
    evacuate_off: bool = False
    movable: frozenset[str] = frozenset()
    everyone: bool = False


NO_UPKEEP = Upkeep()


@dataclass(frozen=True, slots=True)
class Derived:
    """Demands of VMs that the request does not name, those left alone, and what to know of them."""

    demands: tuple[Demand, ...] = ()
    left_alone: tuple[LeftAlone, ...] = ()
    notes: tuple[str, ...] = ()


class RunningVms:
    """Applies the upkeep to the targets of a request, and to the VMs it does not name."""

    def __init__(
        self,
        upkeep: Upkeep,
        inventory: Inventory,
        topologies: Mapping[str, HostTopology],
        owner_reason: Callable[[Vm], str | None],
        include_managed: frozenset[str],
    ) -> None:
        self.upkeep = upkeep
        self.inventory = inventory
        self.options = RequestOptions(evacuate=upkeep.evacuate, evacuate_off=upkeep.evacuate_off)
        self.maker = None
        if upkeep != NO_UPKEEP:
            self.maker = AsToday(inventory, topologies, owner_reason, include_managed)

    def adapted(self, target: Target) -> Target | LeftAlone:
        """Return a target of the request with what the upkeep adds, or why its VM is left alone.

        A VM that must leave its host may move, and keeps static cards as such if its entry states nothing.
        """
        vm, entry = target.vm, target.entry
        if vm is None or self.maker is None:
            return target
        placing = entry.placing
        if vm.moid in self.upkeep.movable:
            placing = replace(placing, may_move=True)
        if must_leave(self.options, vm, bool(placing.power_on)):
            today = self.maker.reader.read(vm, Policy.PREFERRED)
            held = why_held(vm, today)
            if held is not None:
                return LeftAlone(vm.moid, vm.name, held)
            placing = replace(placing, may_move=True)
            if today.static and entry.gpus is None and entry.nics is None and placing.affinity is None:
                pinned = replace(placing, affinity=AffinityMode.PIN)
                return replace(target, entry=replace(entry, placing=pinned, own_affinity=AffinityMode.PIN))
        return replace(target, entry=replace(entry, placing=placing))

    def others(self, named: frozenset[str], demands: list[Demand]) -> Derived:
        """Return the demands of VMs that the request does not name; they go before all it asks for.

        Args:
            named: moids of VMs that the request names.
            demands: what it asks for.
        """
        if self.maker is None:
            return Derived()
        priority = 1 + max((demand.priority for demand in demands), default=-1)
        made: list[Demand] = []
        left: list[LeftAlone] = []
        for vm in self.inventory.vms:
            if vm.moid in named or vm.template or not self._concerned(vm):
                continue
            found = self.maker.make(vm, priority)
            if isinstance(found, Demand):
                made.append(found)
                if must_leave(self.options, vm, False):
                    self.maker.remark(vm, found.mode)
            elif must_leave(self.options, vm, False) or vm.moid in self.upkeep.movable:
                left.append(found)
        return Derived(tuple(made), tuple(left), (*self.maker.notes(), *self._stay_notes(named)))

    def _concerned(self, vm: Vm) -> bool:
        if vm.moid in self.upkeep.movable or must_leave(self.options, vm, False):
            return True
        return self.upkeep.everyone and vm.is_on and vm.host is not None

    def _stay_notes(self, named: frozenset[str]) -> list[str]:
        """Name VMs that a host keeps in maintenance mode: templates, and VMs that are off."""
        notes = []
        for moid in self.upkeep.evacuate:
            host = self.inventory.host_by_moid[moid]
            here = [vm for vm in self.inventory.vms_by_host.get(moid, ()) if vm.moid not in named]
            templates = [vm.name for vm in here if vm.template]
            off = [vm.name for vm in here if not vm.template and not must_leave(self.options, vm, False)]
            if templates:
                notes.append(f"templates stay on {host.name}, in maintenance mode too: {listed(templates)}")
            if off:
                notes.append(
                    f"VMs that are off stay on {host.name} (--evacuate-powered-off moves them): {listed(off)}"
                )
            cluster = self.inventory.cluster_by_moid.get(host.cluster or "")
            if cluster is None and any(vm.is_on for vm in here):
                notes.append(f"{host.name} is in no cluster: VMs do not leave it")
            elif cluster is not None and all(
                other.moid in self.upkeep.evacuate
                for other in self.inventory.hosts
                if other.cluster == cluster.moid
            ):
                only = "the only host" if len(self.upkeep.evacuate) == 1 else "among all hosts"
                notes.append(
                    f"{host.name} is {only} of cluster {cluster.name}: VMs do not leave their cluster"
                )
            if host.in_maintenance:
                notes.append(f"{host.name} is in maintenance mode already")
            if not here:
                notes.append(f"{host.name} is empty already")
        return notes
