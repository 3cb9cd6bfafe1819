"""Fill a site with running VMs at random, seeded: bound and floating GPU VMs, floating CPU-only VMs."""

from __future__ import annotations

import random
from dataclasses import replace

from vplacer.constraints.holdings import assignable_devices
from vplacer.constraints.supply import MIB
from vplacer.inventory.host import ConnectionState, Host
from vplacer.inventory.vcenter import Inventory
from vplacer.inventory.vm import Ownership, StaticBacking, Vm, VmDevice, VmPower, VnumaConfig
from vplacer.topology.host_topology import HostTopology


def fill(inventory: Inventory, topologies: dict[str, HostTopology], *, share: float, seed: int) -> Inventory:
    """Return the inventory with about ``share`` of each host's cores taken by random VMs."""
    chooser = random.Random(seed)
    vms = list(inventory.vms)
    for host in inventory.hosts:
        vms += _fill_host(host, topologies[host.moid], share, chooser, len(vms))
    return replace(inventory, vms=tuple(vms))


def _fill_host(
    host: Host, topology: HostTopology, share: float, chooser: random.Random, start: int
) -> list[Vm]:
    found: list[Vm] = []
    cores = {node.id: node.core_count for node in host.numa_nodes}
    memory = {node.id: (node.memory_bytes or 0) // MIB for node in host.numa_nodes}
    gpus = {node.id: [] for node in host.numa_nodes}
    for card in assignable_devices(host, topology):
        if card.kind == "gpu" and card.node is not None:
            gpus[card.node].append(card)
    target = sum(cores.values()) * (1 - share)
    while sum(cores.values()) > target:
        node = chooser.choice(sorted(cores))
        count = chooser.choice([0, 0, 1, 1, 2]) if gpus[node] else 0
        count = min(count, len(gpus[node]))
        cpus = chooser.randint(2, 8) if not count else count * chooser.randint(4, 10)
        mib = 1024 * chooser.randint(8, 48) * max(1, count)
        if cpus > cores[node] or mib > memory[node] * 0.9:
            cores[node] -= 1
            continue
        cores[node] -= cpus
        memory[node] -= mib
        cards = [gpus[node].pop(chooser.randrange(len(gpus[node]))) for _ in range(count)]
        bound = bool(count) and chooser.random() < 0.5
        found.append(_vm(host, start + len(found), cpus, mib, cards, node if bound else None))
    return found


def _vm(host: Host, number: int, cpus: int, mib: int, cards: list, node: int | None) -> Vm:
    devices = tuple(
        VmDevice(
            13_000 + at,
            f"PCI device {at}",
            StaticBacking(card.address, f"{card.ids.device:x}", card.ids.vendor, "bench"),
        )
        for at, card in enumerate(cards)
    )
    return Vm(
        moid=f"vm-{900_000 + number}",
        name=f"fill-{number:05}",
        instance_uuid=None,
        datacenter=host.datacenter,
        folder="vm/fill",
        host=host.moid,
        pool=None,
        power=VmPower.ON,
        connection=ConnectionState.CONNECTED,
        template=False,
        readable=True,
        hardware_version=20,
        change_version="1",
        cpus=cpus,
        cores_per_socket=None,
        cores_per_socket_auto=True,
        simultaneous_threads=None,
        memory_mib=mib,
        memory_reservation_mib=mib if cards else 0,
        memory_limit_mib=None,
        memory_locked_to_max=bool(cards),
        cpu_reservation_mhz=0,
        overhead_mib=100,
        latency_sensitivity="normal",
        cpu_hot_add=False,
        memory_hot_add=False,
        firmware="efi",
        guest_id="otherLinux64Guest",
        vnuma=VnumaConfig(None, True, None),
        cpu_affinity=(),
        devices=devices,
        device_groups=(),
        extra_config=(("numa.nodeAffinity", str(node)),) if node is not None else (),
        datastores=(),
        networks=(),
        snapshot_count=0,
        linked_clone=None,
        ownership=Ownership(),
    )
