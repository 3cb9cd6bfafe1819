"""Running VMs as HA restarts them: just as they are configured, or why it does not restart them."""

from __future__ import annotations

from dataclasses import dataclass, replace

from vplacer.constraints.supply import holds_devices, holds_gpu_like
from vplacer.constraints.today import manual_nodes
from vplacer.inventory.vcenter import Inventory
from vplacer.inventory.vm import SriovBacking, StaticBacking, Vm
from vplacer.request.demand import AffinityMode, Demand, Policy
from vplacer.request.today import DeviceReader


@dataclass(frozen=True, slots=True)
class Restart:
    """A VM that must find a place, and what it needs.

    ``requested``: of the request, with all that it asks; else a VM that runs, as it is.
    """

    demand: Demand
    requested: bool = False


class RestartMaker:
    """Says of the VMs of one inventory how HA restarts them."""

    def __init__(self, inventory: Inventory, priority: int) -> None:
        self.inventory = inventory
        self.priority = priority
        self.reader = DeviceReader(inventory)

    def make(self, vm: Vm) -> Restart | str | None:
        """Return what a running VM needs elsewhere, or why HA does not restart it; None = not its business.

        Agent VMs (vCLS and others of ESX) belong to their host and are made anew. No wish for nearness
        counts: HA reconfigures nothing, and a VM that runs far from its card runs.
        """
        if not vm.is_on or vm.template or vm.ownership.is_agent or vm.name.startswith("vCLS-"):
            return None
        reason = self._never(vm)
        if reason is not None:
            return reason
        devices = self.reader.read(vm, Policy.NONE)
        if devices.others:
            return f"whether another host has what it holds cannot be told: {', '.join(devices.others)}"
        host = self.inventory.host_by_moid.get(vm.host or "")
        locked = vm.memory_locked_to_max or (vm.memory_reservation_mib or 0) >= vm.memory_mib
        whole_cores = vm.latency_sensitivity == "high" or (holds_gpu_like(vm) and not devices.gpus)
        cluster = host.cluster if host is not None else None
        demand = Demand(
            id=vm.moid,
            name=vm.name,
            vm=None,
            template=None,
            clusters=(cluster,) if cluster is not None else (),
            hosts=(),
            cpus=vm.cpus,
            memory_mib=vm.memory_mib,
            vnuma_nodes=manual_nodes(vm),
            gpus=devices.gpus,
            nics=devices.nics,
            priority=self.priority,
            weight_milli=1000,
            mode=AffinityMode.HINT,
            may_move=True,
            pool=vm.pool,
            datastores=vm.datastores,
            networks=vm.networks,
            hardware_version=vm.hardware_version or 0,
            prefer_ht=vm.prefers_threads,
            latency_high=whole_cores,
            memory_reserved=bool(holds_devices(vm) or locked),
            cpu_reservation_mhz=vm.cpu_reservation_mhz or 0,
            overhead_mib=vm.overhead_mib or 0,
            mode_stated=True,
            kept_nodes=vm.node_affinity,
        )
        return Restart(demand)

    def _never(self, vm: Vm) -> str | None:
        host = self.inventory.host_by_moid.get(vm.host or "")
        cluster = self.inventory.cluster_by_moid.get(host.cluster or "") if host is not None else None
        if cluster is None:
            return "its host is in no cluster, so HA restarts nothing"
        if cluster.ha_enabled is None:
            return f"whether HA is on in cluster {cluster.name} was not told"
        if not cluster.ha_enabled:
            return f"HA is off in cluster {cluster.name}"
        if not vm.readable:
            return "vCenter cannot read its configuration"
        for device in vm.devices:
            match device.backing:
                case StaticBacking(address=address):
                    return f"bound to {address} of its host (static DirectPath I/O)"
                case SriovBacking(physical_function=port) if port is not None:
                    return f"bound to the port {port} of its host (SR-IOV)"
                case _:
                    pass
        return None


def requested(demand: Demand) -> Restart:
    """Return a VM of a request that does not run today: it must find a place as well."""
    return Restart(replace(demand, vm=None, may_move=True), requested=True)
