"""What govmomi's simulator cannot express of a site, said in sentences for whoever exports it.

Each is a fact about the simulator (govmomi: simulator/*.go), found by reading an exported site back.
"""

from __future__ import annotations

from collections.abc import Iterator

from vplacer.inventory.cluster import Cluster
from vplacer.inventory.host import Host
from vplacer.inventory.vm import Vm
from vplacer.lab.model.state import LabState
from vplacer.lab.soap.views.world import ComputeUnit, World


def simulator_limits(state: LabState) -> tuple[str, ...]:
    """Return what a client of the simulator will find different from what the site says."""
    return tuple(_limits(World(state)))


def _limits(world: World) -> Iterator[str]:
    inventory = world.inventory
    yield "time: vcsim tells the present time, not the site's"
    for unit in world.units:
        yield from _mixed(unit)
    if any(host.limits for host in inventory.hosts):
        yield "limits of hardware versions: vcsim answers for the newest one, whichever is asked for"
    entities: tuple[Cluster | Host | Vm, ...] = (*inventory.clusters, *inventory.hosts, *inventory.vms)
    tagged = [item for item in entities if item.tags]
    if tagged:
        yield f"tags: vcsim loads none; {_count(len(tagged), 'object')} of the site carry some"
    if inventory.gaps:
        yield f"what cannot be read: {_count(len(inventory.gaps), 'gap')} of the site can be read in vcsim"
    if any(world.state.home(vm) is not None for vm in inventory.vms):
        yield "measured NUMA homes of running VMs: vcsim has no esxtop service"
    unknown = [store.name for store in inventory.datastores if store.accessible is None]
    if unknown:
        yield f"datastores of unknown state count as not accessible: {', '.join(unknown)}"
    bare = [host.name for host in inventory.hosts if any(n.memory_bytes == 0 for n in host.numa_nodes)]
    if bare:
        yield f"NUMA nodes without memory: vcsim leaves their size out ({', '.join(bare)})"


def _mixed(unit: ComputeUnit) -> Iterator[str]:
    """An environment browser keeps one answer for all hosts: the union, as for the whole cluster."""
    differing = [
        words
        for words, seen in (
            ("vGPU profiles", {host.vgpu_profiles for host in unit.hosts}),
            ("device groups", {host.device_groups for host in unit.hosts}),
            ("system ids of devices", {_system_ids(host) for host in unit.hosts}),
        )
        if len(seen) > 1
    ]
    if differing:
        yield f"cluster {unit.name}: each host seems to offer what any of them does ({', '.join(differing)})"


def _system_ids(host: Host) -> frozenset[str]:
    return frozenset(device.system_id for device in host.pci_devices if device.system_id is not None)


def _count(number: int, word: str) -> str:
    return f"{number} {word}" if number == 1 else f"{number} {word}s"
