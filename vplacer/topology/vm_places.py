"""Which VM sits where on a host: its home NUMA node as far as it is known, and the devices it holds."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum

from vplacer.inventory.host import Host
from vplacer.inventory.measured import MeasuredHome
from vplacer.inventory.vm import Vm
from vplacer.topology.host_topology import HostTopology


class Home(StrEnum):
    """How a VM's home is known.

    FIXED: an affinity binds it, or only one node of the host has cores. MEASURED: it was seen there, and
    ESXi may have moved it since. FLOATING: ESXi may run it on any node. UNREAD: vCenter did not give
    the VM's configuration.
    """

    FIXED = "fixed"
    MEASURED = "measured"
    FLOATING = "floating"
    UNREAD = "unread"


@dataclass(frozen=True, slots=True)
class HeldDevices:
    """What a VM holds: labels of devices, addresses of those without a label.

    now: it holds at present. at_power_on: it will claim when it is switched on. untold: number of devices
    it holds of which vCenter does not say which. unsettled: number of devices it will claim when it is
    switched on, of which it is not settled which.
    """

    now: tuple[str, ...] = ()
    at_power_on: tuple[str, ...] = ()
    untold: int = 0
    unsettled: int = 0


@dataclass(frozen=True, slots=True)
class VmPlace:
    """One VM of a host.

    power: poweredOn | poweredOff | suspended.
    nodes: pNUMA nodes of its home; empty where it floats.
    why: what the home rests on.
    measured_at, local_percent: where the home is measured, when (ISO 8601 UTC), and how much of its
        memory was on it.
    cpus, memory_mib: None where the configuration could not be read.
    held: the devices it holds.
    """

    moid: str
    name: str
    power: str
    home: Home
    nodes: tuple[int, ...]
    why: str
    measured_at: str | None
    local_percent: int | None
    cpus: int | None
    memory_mib: int | None
    held: HeldDevices

    @property
    def is_on(self) -> bool:
        """Whether the VM runs."""
        return self.power == "poweredOn"


def vm_places(
    host: Host,
    topology: HostTopology,
    vms: Iterable[Vm],
    held: Mapping[str, HeldDevices],
    measured: Mapping[str, MeasuredHome],
) -> tuple[VmPlace, ...]:
    """Say where the VMs of a host sit, running ones first, then by name. Templates never run: left out.

    Args:
        host: the host.
        topology: its topology.
        vms: the VMs registered on it.
        held: by managed object id of a VM, the devices it holds.
        measured: by managed object id of a VM, where it was seen.
    """
    found = []
    for vm in vms:
        if vm.template:
            continue
        home, nodes, why = _home(host, topology, vm, measured.get(vm.moid))
        seen = measured[vm.moid] if home is Home.MEASURED else None
        found.append(
            VmPlace(
                moid=vm.moid,
                name=vm.name,
                power=str(vm.power),
                home=home,
                nodes=nodes,
                why=why,
                measured_at=None if seen is None else seen.at,
                local_percent=_percent(seen),
                cpus=vm.cpus if vm.readable else None,
                memory_mib=vm.memory_mib if vm.readable else None,
                held=held.get(vm.moid, HeldDevices()),
            )
        )
    return tuple(sorted(found, key=lambda place: (not place.is_on, _counted(place.name), place.moid)))


def _percent(seen: MeasuredHome | None) -> int | None:
    return None if seen is None or seen.locality_percent is None else seen.locality_percent.median


def _counted(name: str) -> list[tuple[str, int]]:
    """Return a key that puts web-2 before web-10."""
    parts = re.split(r"([0-9]{1,18})", name)
    return list(zip(parts[::2], (*map(int, parts[1::2]), -1), strict=True))


def _home(
    host: Host, topology: HostTopology, vm: Vm, measured: MeasuredHome | None
) -> tuple[Home, tuple[int, ...], str]:
    if not vm.readable:
        return Home.UNREAD, (), "vCenter did not give its configuration"
    known = {node.id for node in topology.nodes}
    wanted = vm.node_affinity
    if wanted and set(wanted) <= known:
        return Home.FIXED, wanted, f"numa.nodeAffinity {','.join(map(str, wanted))}"
    bound = tuple(node.id for node in topology.nodes if not set(node.thread_ids).isdisjoint(vm.cpu_affinity))
    if bound:
        return Home.FIXED, bound, "CPU affinity"
    with_cores = [node.id for node in topology.nodes if node.core_count > 0]
    if len(with_cores) == 1:
        return Home.FIXED, (with_cores[0],), "the only pNUMA node with cores"
    if measured is not None and vm.is_on and measured.nodes and set(measured.nodes) <= known:
        return Home.MEASURED, measured.nodes, f"measured {measured.at}"
    if wanted:
        lost = ",".join(str(node) for node in wanted if node not in known)
        return Home.FLOATING, (), f"numa.nodeAffinity names pNUMA {lost}, which {host.name} does not have"
    return Home.FLOATING, (), "no affinity"
