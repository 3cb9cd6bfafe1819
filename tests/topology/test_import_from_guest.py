"""A matrix that was printed in a VM: what it may tell of the host, and of which cards."""

from __future__ import annotations

from dataclasses import replace

import pytest

from vplacer.errors import UsageError
from vplacer.inventory.host import Host
from vplacer.inventory.pci import PciAddress
from vplacer.inventory.site_load import load_site_text
from vplacer.inventory.vm import Vm
from vplacer.topology.importers.facts import QueryFile, ReadOptions
from vplacer.topology.importers.fit import ImportResult, overlay_from_facts
from vplacer.topology.importers.nvidia_smi import read

SITE = """
format_version: 1
host_kinds:
  k:
    cpu: {packages: 2, cores: 8}
    memory_gib: 64
    devices:
      - {gpu: A30, node: 0, address: "0000:17:00.0"}
      - {gpu: A30, node: 0, address: "0000:27:00.0"}
      - {gpu: A30, node: 1, address: "0000:37:00.0"}
      - {gpu: A30, node: 1, address: "0000:47:00.0"}
hosts: [{kind: k}]
vms:
  - {name: one, cpus: 2, memory_gib: 4, devices: [{static: "0000:17:00.0"}]}
  - name: two
    cpus: 2
    memory_gib: 4
    devices: [{static: "0000:37:00.0"}, {static: "0000:47:00.0"}]
  - {name: none, cpus: 2, memory_gib: 4}
"""
PAIR = """\
\tGPU0\tGPU1\tCPU Affinity\tNUMA Affinity
GPU0\t X \tNV4\t0-7\t0
GPU1\tNV4\t X \t0-7\t0
"""
THREE = """\
\tGPU0\tGPU1\tGPU2\tCPU Affinity\tNUMA Affinity
GPU0\t X \tNV4\tPHB\t0-7\t0
GPU1\tNV4\t X \tPHB\t0-7\t0
GPU2\tPHB\tPHB\t X \t0-7\t0
"""


@pytest.fixture(scope="module")
def site() -> tuple[Host, dict[str, Vm]]:
    inventory = load_site_text(SITE).inventory
    return inventory.hosts[0], {vm.name: vm for vm in inventory.vms}


def taken(
    site: tuple[Host, dict[str, Vm]], vm: str | Vm, text: str, gpus: tuple[str, ...] = (), **more: object
) -> ImportResult:
    host, vms = site
    options = ReadOptions(
        gpus=tuple(PciAddress.parse(text) for text in gpus),
        taken_in=vms[vm] if isinstance(vm, str) else vm,
        vms=tuple(vms.values()),
    )
    facts = read(text, "topo.txt", host, replace(options, **more))  # type: ignore[arg-type]
    return overlay_from_facts(facts, host, created="2026-11-01T00:00:00Z", file="topo.txt")


def test_a_pair_needs_no_order_and_brings_links_alone(site: tuple[Host, dict[str, Vm]]) -> None:
    overlay = taken(site, "two", PAIR).overlay
    assert [(str(link.a), str(link.b), link.lanes) for link in overlay.links] == [
        ("0000:37:00.0", "0000:47:00.0", 4)
    ]
    assert {device.numa_node for device in overlay.devices} == {None}
    assert overlay.detail == (
        "file topo.txt; taken in the VM two, all pairs are alike, so their order does not matter"
    )


def test_without_the_vm_the_count_gives_the_guest_away(site: tuple[Host, dict[str, Vm]]) -> None:
    with pytest.raises(UsageError, match="the matrix has 2 GPUs, the host has 4") as caught:
        read(PAIR, "topo.txt", site[0], ReadOptions(order_pci=True))
    assert "--taken-in VM" in str(caught.value)


def test_an_order_that_matters_and_is_not_known_is_refused(site: tuple[Host, dict[str, Vm]]) -> None:
    host, vms = site
    three = replace(vms["two"], devices=(*vms["one"].devices, *vms["two"].devices))
    known = (host, {**vms, "two": three})
    with pytest.raises(UsageError, match="pairs differ in their links"):
        taken(known, "two", THREE)
    given = taken(known, "two", THREE, ("0000:47:00.0", "0000:37:00.0", "0000:17:00.0"))
    assert [(str(link.a), str(link.b)) for link in given.overlay.links] == [("0000:37:00.0", "0000:47:00.0")]
    assert given.overlay.detail == "file topo.txt; taken in the VM two, addresses given (--gpu)"


def test_a_link_that_is_missing_in_a_guest_proves_nothing(site: tuple[Host, dict[str, Vm]]) -> None:
    with pytest.raises(UsageError, match="tells no NUMA node and no link"):
        taken(site, "two", PAIR.replace("NV4", "PHB"))


def test_other_counts_and_vms_are_refused(site: tuple[Host, dict[str, Vm]]) -> None:
    vms = site[1]
    with pytest.raises(UsageError, match="the matrix has 2 GPUs, of the VM's cards 1 are known"):
        taken(site, "one", PAIR)
    with pytest.raises(UsageError, match="the VM has no passthrough device"):
        taken(site, "none", PAIR)
    with pytest.raises(UsageError, match="the VM is not on this host"):
        taken(site, replace(vms["two"], host="host-99"), PAIR)
    with pytest.raises(UsageError, match="--order pci does not go with --taken-in"):
        taken(site, "two", PAIR, order_pci=True)
    query = QueryFile("index, pci.bus_id\n0, 00000000:03:00.0\n", "gpus.csv")
    with pytest.raises(UsageError, match="the query lists 1 GPUs, the matrix 2"):
        taken(site, "two", PAIR, query=query)
