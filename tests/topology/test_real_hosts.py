"""A full HostSystem of a nested ESXi 8.0.3, and many hosts at once."""

from __future__ import annotations

import pickle
import time
from dataclasses import replace
from pathlib import Path

from tests.conftest import REPO
from tests.topology.esxi_dump import load_dump, numa_info, pci_devices
from tests.topology.hosts import make_host
from vplacer.inventory.host import NumaNode
from vplacer.inventory.load import load_inventory_file
from vplacer.topology.build import build_host_topology, build_topologies
from vplacer.topology.levels import Level, NumaRelation, PciePath


def test_nested_esxi(test_data: Path) -> None:
    dump = load_dump(test_data)
    numa = numa_info(dump)
    devices = pci_devices(dump)
    node = numa["numaNode"][0]
    nodes = (NumaNode(node["typeId"], 0, 8, tuple(sorted(node["cpuID"])), node["memorySize"]),)
    host = replace(make_host({"pci": []}), pci_devices=devices, numa_nodes=nodes, package_count=2)
    assert len(devices) == 48
    topology = build_host_topology(host)
    assert topology.gpus == (), "an SVGA adapter is no GPU"
    assert [str(nic.address) for nic in topology.nics] == [
        "0000:04:00.0",
        "0000:0b:00.0",
        "0000:13:00.0",
        "0000:1b:00.0",
    ]
    # One NUMA node, and yet nothing says that the cards are on it.
    assert [nic.node for nic in topology.nics] == [None] * 4
    assert [str(nic.root) for nic in topology.nics] == [
        "0000:00:15.1",
        "0000:00:16.0",
        "0000:00:17.0",
        "0000:00:18.0",
    ]
    relation = topology.relation(topology.nics[0].address, topology.nics[1].address)
    assert (relation.pcie, relation.numa) == (PciePath.PHB, NumaRelation.UNKNOWN)
    assert relation.satisfies(Level.SWITCH) is False
    assert len(topology.assumptions) == 1
    assert topology.assumptions[0].startswith("PHB: 0000:00:15.1, 0000:00:16.0, 0000:00:17.0, 0000:00:18.0")


def test_many_hosts_of_few_kinds_are_built_in_a_moment() -> None:
    site = load_inventory_file(REPO / "fixtures" / "sites" / "nvswitch.yaml")
    # As a collector makes them: equal values that share no objects. A hundred copies are enough for that.
    pickled = pickle.dumps(site.inventory.hosts)
    copies = [host for _ in range(100 // len(site.inventory.hosts)) for host in pickle.loads(pickled)]
    hosts = tuple(replace(copies[i % len(copies)], moid=f"host-{i}") for i in range(2500))
    inventory = replace(site.inventory, hosts=hosts)
    start = time.process_time()
    topologies = build_topologies(inventory, site.overlays)
    seconds = time.process_time() - start
    assert len(topologies) == 2500
    assert len({id(topology) for topology in topologies.values()}) == 2
    assert seconds < 6, f"{seconds:.1f} s; about 1 s is usual"
