"""vplacer's own collector reads a site back from the lab as it was described."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from tests.sites.chain import collected, comparable
from vplacer.inventory.device_kind import DeviceKind, device_kind
from vplacer.inventory.load import load_inventory_file
from vplacer.inventory.site import Site
from vplacer.inventory.site_load import load_site_text
from vplacer.inventory.snapshot import save_snapshot
from vplacer.inventory.vcenter import Gap
from vplacer.inventory.vm import NetworkBacking
from vplacer.lab.soap.server import LabServer

REPO = Path(__file__).resolve().parents[2]
ODD = REPO / "tests/cases/lab/odd-site.yaml"
BACKINGS = REPO / "tests/cases/lab/backings.yaml"
EXAMPLES = sorted((REPO / "fixtures/sites").glob("*.yaml"))


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda p: p.stem)
def test_example_site_is_read_back(path: Path) -> None:
    site = load_inventory_file(path)
    with LabServer(site) as server:
        read = collected(server)
    assert read.gaps == ()
    assert comparable(read) == comparable(site.inventory)


def test_small_pages_make_no_difference() -> None:
    site = load_inventory_file(EXAMPLES[0])
    with LabServer(site, page_size=2) as server:
        assert comparable(collected(server)) == comparable(site.inventory)


def without_unreadable(site: Site) -> tuple[Site, set[str]]:
    """Leave out of a comparison the hosts and VMs of which a vCenter tells only a part."""
    partly = {gap.object for gap in site.inventory.gaps}
    partly |= {vm.moid for vm in site.inventory.vms if not vm.readable}
    return site, partly


def test_odd_site_is_read_back() -> None:
    site, partly = without_unreadable(load_inventory_file(ODD))
    with LabServer(site, api_version="9.1.0.0") as server:
        read = comparable(collected(server))
    expected = comparable(site.inventory)
    for ours, theirs in ((read.hosts, expected.hosts), (read.vms, expected.vms)):
        assert [o.moid for o in ours] == [t.moid for t in theirs]
        compared = [(o, t) for o, t in zip(ours, theirs, strict=True) if o.moid not in partly]
        assert compared
        for ours_, theirs_ in compared:
            assert ours_ == theirs_
    assert (read.clusters, read.pools, read.datacenters) == (
        expected.clusters, expected.pools, expected.datacenters,
    )  # fmt: skip
    assert (read.datastores, read.networks) == (expected.datastores, expected.networks)
    assert {(g.object, g.path, g.kind) for g in read.gaps} >= {
        (g.object, g.path, g.kind) for g in site.inventory.gaps
    }


def test_every_kind_of_passthrough_device_is_read_in_one_vm() -> None:
    """All backings, two vGPUs, an unknown one: none lost, none a crash.

    terraform-provider-vsphere #1265, #1494 (crashes on vGPU and Dynamic backings), community.vmware
    vmware_guest_vgpu (only the first of several vGPUs was told).
    """
    site = load_inventory_file(BACKINGS)
    with LabServer(site, api_version="9.1.0.0") as server:
        read = collected(server)
    expected = comparable(site.inventory)
    assert (comparable(read).hosts, comparable(read).vms) == (expected.hosts, expected.vms)
    (vm,) = read.vms
    found = [
        (type(device.backing).__name__, device.numa_node)
        for device in vm.devices
        if not isinstance(device.backing, NetworkBacking)
    ]
    assert found == [
        ("StaticBacking", None),
        ("DynamicBacking", -1),
        ("VgpuBacking", 0),
        ("VgpuBacking", 0),
        ("DvxBacking", None),
        ("StaticBacking", None),
        ("UnknownBacking", None),
    ]
    unknown = "a device of type VirtualPCIPassthroughPluginBackingInfo is not known; it is kept as it is"
    assert f"everything: {unknown}" in read.notes
    # 16 vCPUs in all, in 4 sockets (terraform-provider-vsphere #532).
    assert (vm.cpus, vm.cores_per_socket) == (16, 4)


def test_segments_slots_and_empty_node_lists_are_read() -> None:
    """One bus number in several segments; packages that are one NUMA node, whose device list is empty."""
    with LabServer(load_inventory_file(BACKINGS), api_version="9.1.0.0") as server:
        first, silent = collected(server).hosts
    kinds = (DeviceKind.GPU, DeviceKind.NIC)
    cards = [card for card in first.pci_devices if device_kind(card) in kinds]
    assert [(str(card.address), first.node_of(card.address), card.physical_slot) for card in cards] == [
        ("0000:ca:00.0", 1, None),
        ("0001:00:00.0", 0, None),
        ("0002:00:00.0", 1, None),
        ("10000:e1:00.0", 1, 0),
    ]
    assert (silent.package_count, [node.package for node in silent.numa_nodes]) == (2, [None])
    (card,) = [card for card in silent.pci_devices if device_kind(card) in kinds]
    assert silent.node_of(card.address) is None


def test_account_without_rights_sees_the_inventory_as_incomplete() -> None:
    site = load_inventory_file(EXAMPLES[0])
    held = ["System.Anonymous", "System.View"]
    with LabServer(site, privileges=held) as server:
        read = collected(server)
    assert {gap.kind for gap in read.gaps} == {"permission"}
    assert {host.moid for host in site.inventory.hosts} <= {gap.object for gap in read.gaps}


GAPS = """\
format_version: 1
host_kinds:
  g: {cpu: {packages: 1, cores: 8}, memory_gib: 64, devices: [{gpu: L40S, count: 2, node: 0}]}
clusters: [{name: c, hosts: [{kind: g, count: 2, name: "h{n}"}]}]
pools: [{name: gold}]
vms:
  - {name: s, on: h1, cpus: 2, memory_gib: 4, devices: [{dynamic: L40S}]}
gaps:
"""


@pytest.mark.parametrize(
    ("name", "path", "kind", "read_as"),
    [
        ("s", "config.hardware.device", "permission", "permission"),
        ("s", "runtime.powerState", "fault", "fault"),
        ("s", "runtime.host", "disconnected", "disconnected"),
        ("vm-2001", "config.managedBy", "too_old", "fault"),
        ("h1", "runtime.inMaintenanceMode", "permission", "permission"),
        ("h1", "QueryConfigTarget", "permission", "permission"),
        ("c", "configurationEx", "permission", "permission"),
        ("gold", "config.memoryAllocation", "permission", "permission"),
        ("datastore1", "summary.accessible", "permission", "permission"),
    ],
)
def test_a_gap_of_any_object_is_a_gap_for_who_reads_it(name: str, path: str, kind: str, read_as: str) -> None:
    site = load_site_text(f"{GAPS}  - {{object: {name}, path: {path}, kind: {kind}, reason: so}}\n")
    (gap,) = site.inventory.gaps
    with LabServer(site) as server:
        read = collected(server)
    assert [(g.object, g.path, g.kind) for g in read.gaps] == [(gap.object, path, read_as)]


def test_a_gap_of_a_type_is_one_of_each_object() -> None:
    site = load_site_text(f"{GAPS}  - {{object: HostSystem, path: config.graphicsInfo, kind: too_old}}\n")
    with LabServer(site) as server:
        read = collected(server)
    expected = [(host.moid, "config.graphicsInfo") for host in site.inventory.hosts]
    assert [(gap.object, gap.path) for gap in read.gaps] == expected


def test_tags_nobody_may_read() -> None:
    site = load_site_text(GAPS.removesuffix("gaps:\n"))
    about = site.inventory.about
    gap = Gap(about.instance_uuid, "tags", "permission", "no")
    with LabServer(replace(site, inventory=replace(site.inventory, gaps=(gap,)))) as server:
        read = collected(server)
    assert [(g.object, g.path, g.kind) for g in read.gaps] == [(about.instance_uuid, "tags", "permission")]


def test_a_vm_that_holds_a_card_and_is_not_seen_is_a_gap(tmp_path: Path) -> None:
    site = load_site_text(GAPS.removesuffix("gaps:\n"))
    (vm,) = site.inventory.vms
    hidden = replace(site.inventory, vms=())
    with LabServer(replace(site, inventory=hidden)) as server:
        read = collected(server)
    save_snapshot(hidden, tmp_path / "site.json")
    loaded = load_inventory_file(tmp_path / "site.json").inventory
    for inventory in (read, loaded):
        (gap,) = inventory.gaps
        assert (gap.object, gap.path, gap.kind) == (vm.moid, "", "permission")
        assert gap.reason == "it holds cards of h1, but the account cannot see it"
