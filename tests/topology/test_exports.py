"""What is printed and exported of a host and of a whole site."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from dataclasses import replace
from functools import cache
from pathlib import Path

import networkx as nx
import pytest

from tests.conftest import REPO
from tests.hash_seeds import outputs_by_hash_seed
from tests.topology.hosts import address, make_host, make_overlay
from tests.topology.use_hosts import make_use_host, make_vms
from vplacer.inventory.host import DeviceBinding, Host
from vplacer.inventory.load import load_inventory_file
from vplacer.inventory.site import Site
from vplacer.inventory.site_load import load_site_text
from vplacer.inventory.vm import DynamicBacking, VmPower
from vplacer.report.topology_dot import render_dot
from vplacer.report.topology_graphml import render_graphml
from vplacer.report.topology_json import render_json, topology_document
from vplacer.report.topology_matrix import render_matrix
from vplacer.report.topology_tree import render_tree
from vplacer.topology.build import TopologyCache, build_host_topology, build_topologies
from vplacer.topology.describe import HostDescription, describe_host, ranges
from vplacer.topology.graph import host_graph, vcenter_graph
from vplacer.topology.importers.smi_matrix import parse_matrix

HARD = REPO / "tests" / "cases" / "sites" / "inventory"
GOLDEN = Path(__file__).parent / "golden"
UPDATE = "VPLACER_UPDATE_GOLDEN"
SHOWN = [("a30pairs", "esx01"), ("a30pairs", "esx07"), ("nvswitch", "esx01"), ("nvswitch", "esx03")]


@cache
def site(name: str) -> Site:
    return load_inventory_file(REPO / "fixtures" / "sites" / f"{name}.yaml")


def described(site_name: str, host_name: str) -> HostDescription:
    inventory = site(site_name).inventory
    host = next(host for host in inventory.hosts if host.name == host_name)
    topology = build_topologies(inventory, site(site_name).overlays)[host.moid]
    return describe_host(host, topology, inventory.vms_by_host.get(host.moid, ()))


def compare(name: str, text: str) -> None:
    """Compare with a kept output; to take over a wanted change, run with VPLACER_UPDATE_GOLDEN=1."""
    file = GOLDEN / name
    if os.environ.get(UPDATE):
        file.write_text(text, encoding="utf-8")
    assert text == file.read_text(encoding="utf-8"), f"differs from {file.name}; {UPDATE}=1 takes it over"


@pytest.mark.parametrize(("site_name", "host_name"), SHOWN)
def test_tree(site_name: str, host_name: str) -> None:
    compare(f"{site_name}-{host_name}.tree.txt", render_tree(described(site_name, host_name)))


@pytest.mark.parametrize(("site_name", "host_name"), SHOWN)
def test_matrix(site_name: str, host_name: str) -> None:
    text = render_matrix(described(site_name, host_name))
    compare(f"{site_name}-{host_name}.matrix.txt", text)


def test_json() -> None:
    compare("a30pairs-esx01.json", render_json(described("a30pairs", "esx01")))


def test_dot() -> None:
    inventory = site("a30pairs").inventory
    host = inventory.hosts[0]
    topology = build_topologies(inventory, site("a30pairs").overlays)[host.moid]
    compare("a30pairs-esx01.dot", render_dot(host_graph(host, topology, inventory.vms_by_host[host.moid])))


def test_the_matrix_of_an_nvswitch_host_says_what_nvidia_smi_says() -> None:
    """The words and cells of a real HGX H100 with one NIC a switch (NVIDIA/nccl #1264)."""
    matrix = parse_matrix(render_matrix(described("nvswitch", "esx01")))
    gpus = [row.label for row in matrix.gpu_rows]
    assert gpus == [f"GPU{number}" for number in range(8)]
    assert {matrix.word(a, b) for a in gpus for b in gpus if a != b} == {"NV18"}
    assert matrix.word("GPU0", "NIC0") == "PIX"
    assert [row.numa_node for row in matrix.gpu_rows] == [0, 0, 0, 0, 1, 1, 1, 1]


UNKNOWN_HOST = {
    "nodes": [{"id": 0, "package": 0, "devices": ["17:00.0"]}, {"id": 1}],
    "labels": {"17:00.0": "gpu-n0"},
    "dependent": {"27:00.0": "26:01.0"},
    "pnics": {"37:00.0": "vmnic3"},
    "pci": [
        "15:01.0 bridge",
        "16:00.0 bridge < 15:01.0",
        "16:10.0 bridge < 16:00.0",
        "16:14.0 bridge < 16:00.0",
        "17:00.0 A30 < 16:10.0",
        "18:00.0 A30 < 16:14.0",
        "26:01.0 bridge",
        "27:00.0 A30 < 26:01.0",
        "27:00.1 hba < 26:01.0",
        "37:00.0 nic",
    ],
}


def test_unknown_is_printed_as_unknown() -> None:
    host = make_host(UNKNOWN_HOST)
    description = describe_host(host, build_host_topology(host))
    compare("unknown.tree.txt", render_tree(description))
    compare("unknown.matrix.txt", render_matrix(description))
    document = topology_document(description)
    nodes = [device["node"] for device in document["devices"]]
    assert nodes == [0, None, None, None]
    assert document["relations"][1] == {
        "a": "GPU0",
        "b": "GPU2",
        "pcie": "none",
        "numa": "unknown",
        "nvlinks": None,
        "nearest": "any",
        "word": "?",
    }


def test_a_host_without_cards_prints_too() -> None:
    host = make_host({"pci": ["00:1c.0 bridge"]})
    description = describe_host(host, build_host_topology(host))
    assert render_matrix(description) == "esx1: no GPU and no NIC is listed\n"
    assert render_tree(description) == (
        "esx1  Example Server 1  NUMA nodes not told\n"
        "CPU: INT8, BF16, AMX: the host does not tell its CPU features\n"
    )


def test_json_has_every_relation_once_and_reads_back() -> None:
    description = described("nvswitch", "esx01")
    document = json.loads(render_json(description))
    labels = [device["label"] for device in document["devices"]]
    pairs = {frozenset((pair["a"], pair["b"])) for pair in document["relations"]}
    assert len(document["relations"]) == len(pairs) == len(labels) * (len(labels) - 1) // 2
    assert document["format"] == "vplacer-topology"
    assert document["format_version"] == 1


@pytest.mark.parametrize("name", ["a30pairs", "nvswitch"])
def test_graph_of_a_vcenter_is_one_tree_with_links_and_holders(name: str) -> None:
    inventory = site(name).inventory
    graph = vcenter_graph(inventory, build_topologies(inventory, site(name).overlays))
    contained = nx.Graph(edge for edge in graph.edges if graph.edges[edge]["type"] in ("contains", "runs_on"))
    assert nx.is_connected(graph)
    assert set(contained) == set(graph)
    assert nx.is_tree(contained)
    assert not [key for key, data in graph.nodes(data=True) if None in data.values()]
    held = {(a, b) for a, b, data in graph.edges(data=True) if data["type"] == "holds"}
    assert held, "the site has VMs that hold cards"
    vms = {f"vm:{vm.moid}" for vm in inventory.vms}
    assert vms == {key for key in graph if key.startswith("vm:")}


def test_graph_distances_follow_the_hardware() -> None:
    inventory = site("a30pairs").inventory
    host = inventory.hosts[0]
    topology = build_topologies(inventory, site("a30pairs").overlays)[host.moid]
    graph = host_graph(host, topology)
    tree = nx.Graph(edge for edge in graph.edges if graph.edges[edge]["type"] == "contains")
    one, two, other = (f"device:{host.moid}/{topology.gpus[index].address}" for index in (0, 1, 2))
    assert graph.edges[one, two] == {"type": "nvlink", "lanes": 4}
    near = nx.shortest_path(tree, one, two)
    far = nx.shortest_path(tree, one, other)
    assert [tree_node.split(":")[0] for tree_node in near] == [
        "device",
        "bridge",
        "bridge",
        "bridge",
        "device",
    ]
    assert f"host:{host.moid}" in far
    assert graph.nodes[one]["numa_node"] == 0
    assert (
        "numa_node"
        not in host_graph(make_host(UNKNOWN_HOST), topology_of(UNKNOWN_HOST)).nodes[
            "device:host-1/0000:18:00.0"
        ]
    )


def topology_of(spec: dict[str, object]) -> object:
    return build_host_topology(make_host(spec))


def test_a_bridge_over_cards_of_unknown_node_hangs_on_the_host() -> None:
    host = make_host(UNKNOWN_HOST)
    graph = host_graph(host, build_host_topology(host))
    assert graph.has_edge("host:host-1", "bridge:host-1/0000:15:01.0")
    assert graph.has_edge("host:host-1", "device:host-1/0000:37:00.0")
    assert not graph.has_edge("node:host-1/0", "bridge:host-1/0000:15:01.0")


def test_graphml_reads_back_with_all_attributes() -> None:
    inventory = site("a30pairs").inventory
    graph = vcenter_graph(inventory, build_topologies(inventory, site("a30pairs").overlays))
    text = render_graphml(graph)
    read = nx.read_graphml(io.BytesIO(text.encode()))
    assert dict(read.nodes(data=True)) == dict(graph.nodes(data=True))
    assert {frozenset(edge) for edge in read.edges} == {frozenset(edge) for edge in graph.edges}
    lanes = [data["lanes"] for *_, data in read.edges(data=True) if data["type"] == "nvlink"]
    assert lanes
    assert set(lanes) == {4}


def test_exports_do_not_depend_on_the_hash_seed() -> None:
    code = (
        "import hashlib, sys\n"
        "from tests.topology import test_exports as t\n"
        "inv = t.site('nvswitch').inventory\n"
        "topologies = t.build_topologies(inv, t.site('nvswitch').overlays)\n"
        "graph = t.vcenter_graph(inv, topologies)\n"
        "text = t.render_graphml(graph) + t.render_dot(graph)\n"
        "text += t.render_json(t.described('nvswitch', 'esx01'))\n"
        "print(hashlib.sha256(text.encode()).hexdigest())\n"
    )
    assert len(outputs_by_hash_seed(code)) == 1


def test_networkx_is_imported_only_for_a_graph() -> None:
    code = (
        "import sys, vplacer.topology.graph, vplacer.topology.build, vplacer.report.topology_dot, "
        "vplacer.report.topology_graphml; assert 'networkx' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], cwd=REPO, check=True)


def test_ranges() -> None:
    assert ranges([3, 1, 0, 2, 7, 9, 8]) == "0-3,7-9"
    assert ranges([5]) == "5"
    assert ranges([]) == ""


def bound(host: Host, at: str | None) -> Host:
    binding = DeviceBinding("instance-1", "vm-9", address(at) if at else None)
    return replace(host, bindings=(binding,))


def test_a_binding_tells_the_holder_only_with_an_address() -> None:
    host = make_host(UNKNOWN_HOST)
    topology = build_host_topology(host)
    opaque = describe_host(bound(host, None), topology)
    assert [line.holders for line in opaque.devices] == [(), (), (), ()]
    told = describe_host(bound(host, "27:00.0"), topology)
    assert [[holder.moid for holder in line.holders] for line in told.devices] == [[], [], ["vm-9"], []]


CLAIMS = """
format_version: 1
host_kinds:
  k:
    cpu: {packages: 1, cores: 8}
    memory_gib: 64
    devices:
      - {gpu: A30, node: 0, address: "0000:17:00.0", passthrough: none}
      - {gpu: A30, node: 0, address: "0000:18:00.0"}
hosts: [{kind: k}]
vms:
  - {name: claims, power: "off", cpus: 2, memory_gib: 4, devices: [{static: "0000:17:00.0"}]}
  - {name: was-on, power: "off", cpus: 2, memory_gib: 4, devices: [{dynamic: A30}]}
"""


def test_a_claim_outlives_the_card_being_usable() -> None:
    """After a reboot the card is gone from passthrough, the VM still names it (harvester #3126, #5957)."""
    inventory = load_site_text(CLAIMS).inventory
    host = inventory.hosts[0]
    description = describe_host(host, build_host_topology(host), inventory.vms)
    lost, free = description.devices
    assert (lost.state, [(h.name, h.how) for h in lost.holders]) == ("none", [("claims", "static")])
    assert (free.state, free.holders) == ("active", ())
    lines = [line.strip() for line in render_tree(description).splitlines()]
    first, second = [line for line in lines if line.startswith("GPU")]
    assert first.endswith("no passthrough  held by claims (when switched on)")
    assert "claims" not in second


def test_what_is_reset_with_a_device_of_a_vm_is_not_shown_as_free() -> None:
    """Whoever holds one device of those that leave the hypervisor together keeps the others."""
    text = (HARD / "passthrough.yaml").read_text(encoding="utf-8")

    def shown(power: str) -> tuple[str, str]:
        inventory = load_site_text(
            text.replace("{name: storage,", f'{{name: storage, power: "{power}",')
        ).inventory
        host = inventory.hosts[0]
        vms = inventory.vms_by_host[host.moid]
        lines = render_tree(describe_host(host, build_host_topology(host), vms)).splitlines()
        at = next(index for index, line in enumerate(lines) if "a3:00.0" in line)
        (of_vm,) = [line.strip() for line in lines if "VM storage" in line]
        return lines[at + 1].strip(), of_vm

    running, off = shown("on"), shown("off")
    assert running[0] == "not free: reset with a3:01.0, held by storage"
    assert running[1].endswith("holds a3:01.0")
    assert off[0] == "reset with a3:01.0, held by storage (when switched on)"
    assert off[1].endswith("when switched on: a3:01.0")


@pytest.mark.parametrize(
    ("name", "host", "words"),
    [
        ("away", "esx01", "disconnected: what is shown is what vCenter last knew"),
        ("away", "esx03", "in maintenance mode"),
        ("passthrough", "esx02", "needs a reboot"),
    ],
)
def test_what_is_unusual_about_a_host_stands_at_the_top(name: str, host: str, words: str) -> None:
    inventory = load_inventory_file(HARD / f"{name}.yaml").inventory
    (found,) = [item for item in inventory.hosts if item.name == host]
    described = describe_host(found, build_host_topology(found))
    assert render_tree(described).splitlines()[1] == words
    state = topology_document(described)["host"]
    assert (state["connection"], state["in_maintenance"], state["reboot_required"]) == (
        str(found.connection),
        found.in_maintenance,
        found.reboot_required,
    )


def test_what_vsphere_gave_a_vm_is_held_while_it_runs() -> None:
    """assignedId counts for a VM that is on (terraform-provider-vsphere #2352; pyvmomi samples #736)."""
    inventory = load_site_text(CLAIMS).inventory
    host, vm = inventory.hosts[0], inventory.vms[1]
    (device,) = vm.devices
    assert isinstance(device.backing, DynamicBacking)
    given = replace(device, backing=replace(device.backing, assigned_id="0000:18:00.0"))

    def holders(power: VmPower) -> list[str]:
        machine = replace(vm, power=power, devices=(given,))
        line = describe_host(host, build_host_topology(host), [machine]).devices[1]
        return [holder.name for holder in line.holders]

    assert holders(VmPower.ON) == ["was-on"]
    assert holders(VmPower.SUSPENDED) == ["was-on"]
    assert holders(VmPower.OFF) == []


def test_a_vm_that_is_off_holds_nothing_and_says_what_it_will_claim() -> None:
    host = make_use_host({"pci": ["17:00.0 A30", "18:00.0 A30"]})
    vms = make_vms(
        {
            "vm-1": {"power": "off", "devices": ["static 17:00.0", "dynamic A30"]},
            "vm-2": {"power": "suspended", "devices": ["dynamic A30"]},
            "vm-3": {"power": "off"},
        },
        host,
    )
    lines = [
        line.strip() for line in render_tree(describe_host(host, build_host_topology(host), vms)).splitlines()
    ]
    start = lines.index("VMs not running, without a home")
    assert lines[start + 1 : start + 4] == [
        "VM vm1  2 vCPU  1 GiB  off  when switched on: GPU0; 1 device, not settled which",
        "VM vm2  2 vCPU  1 GiB  suspended  when switched on: 1 device, not settled which",
        "without devices: vm3",
    ]


def test_hosts_of_one_kind_share_one_topology() -> None:
    inventory = site("nvswitch").inventory
    topologies = build_topologies(inventory, site("nvswitch").overlays)
    assert topologies[inventory.hosts[0].moid] is topologies[inventory.hosts[1].moid]
    cache = TopologyCache()
    one = make_host(UNKNOWN_HOST)
    assert cache.topology(one) is cache.topology(replace(one, moid="host-2", name="esx2"))
    moved = make_host({**UNKNOWN_HOST, "nodes": [{"id": 0, "package": 0}, {"id": 1}]})
    assert cache.topology(moved) is not cache.topology(one)


def test_overlays_find_their_host_by_uuid_then_by_name() -> None:
    one = make_host(UNKNOWN_HOST)
    two = replace(one, moid="host-2", name="esx2", uuid="22222222-2222-3333-4444-555555555555")
    inventory = replace(site("a30pairs").inventory, hosts=(one, two), vms=())

    def nodes(**changes: str | None) -> dict[str, list[int | None]]:
        overlay = replace(make_overlay({"nodes": {"18:00.0": 1}}, one), **changes)
        found = build_topologies(inventory, [overlay])
        return {moid: [gpu.node for gpu in topology.gpus] for moid, topology in found.items()}

    plain: list[int | None] = [0, None, None]
    told: list[int | None] = [0, 1, None]
    assert nodes(host="esx2") == {"host-1": plain, "host-2": told}
    assert nodes(host="renamed", host_uuid=two.uuid) == {"host-1": plain, "host-2": told}
    assert nodes(host="esx1", vcenter_uuid="of another vCenter") == {"host-1": plain, "host-2": plain}
    other = replace(make_overlay({"nodes": {"18:00.0": 1}}, one), host="esx1", host_uuid="9-old-board")
    refused = build_topologies(inventory, [other])["host-1"]
    assert "it was made for the hardware 9-old-board" in refused.mismatches[0]
