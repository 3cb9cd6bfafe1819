"""What inventory YAML becomes: the example sites, and each statement of the format."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import REPO
from vplacer.errors import FileFormatError
from vplacer.inventory.device_kind import DeviceKind, device_kind, physical_devices, virtual_functions
from vplacer.inventory.gpu_models import gpu_by_ids
from vplacer.inventory.host import ConnectionState, GpuMode, Host
from vplacer.inventory.load import load_inventory_file
from vplacer.inventory.moids import moid_order
from vplacer.inventory.overlay_file import belongs_to, check_overlay
from vplacer.inventory.pci import PciAddress
from vplacer.inventory.site import EsxtopSeed, Site
from vplacer.inventory.site_load import load_site_text
from vplacer.inventory.site_schema import SITE_SCHEMA
from vplacer.inventory.vcenter import Inventory
from vplacer.inventory.vm import DynamicBacking, NetworkBacking, StaticBacking, Vm, VmPower
from vplacer.inventory.yaml_marks import parse_document

SITES = sorted((REPO / "fixtures" / "sites").glob("*.yaml"))
DOC = REPO / "docs" / "inventory-yaml.md"


def doc_examples() -> list[str]:
    return [part.split("```", 1)[0] for part in DOC.read_text().split("```yaml\n")[1:]]


def site(text: str) -> Site:
    """Load a site of which only what matters is written."""
    document: dict[str, Any] = {
        "format_version": 1,
        "host_kinds": {"k": {"cpu": {"cores": 8}, "memory_gib": 64}},
        **parse_document(text, "test").data,
    }
    return load_site_text(json.dumps(document))


def host_of(kind: str) -> Host:
    raw = {"cpu": {"cores": 8}, "memory_gib": 64, **parse_document(kind, "test").data}
    return site(json.dumps({"host_kinds": {"k": raw}, "hosts": [{"kind": "k"}]})).inventory.hosts[0]


def vm_named(inventory: Inventory, name: str) -> Vm:
    return next(vm for vm in inventory.vms if vm.name == name)


def assert_sound(loaded: Site) -> None:
    """Assert what holds for every inventory: ids unique and ordered, references resolved, trees closed."""
    inventory = loaded.inventory
    objects: tuple[tuple[Any, ...], ...] = (
        inventory.datacenters,
        inventory.clusters,
        inventory.hosts,
        inventory.pools,
        inventory.datastores,
        inventory.networks,
        inventory.vms,
    )
    for group in objects:
        moids = [item.moid for item in group]
        assert moids == sorted(set(moids), key=moid_order)
    stores = {item.moid for item in inventory.datastores}
    networks = {item.moid for item in inventory.networks}
    for host in inventory.hosts:
        assert host.cluster is None or host.cluster in inventory.cluster_by_moid
        assert set(host.datastores) <= stores
        assert set(host.networks) <= networks
        assert_sound_tree(host)
    for vm in inventory.vms:
        assert vm.host in inventory.host_by_moid
        assert vm.template == (vm.pool is None)
        assert vm.pool is None or vm.pool in inventory.pool_by_moid
        assert set(vm.datastores) <= stores
        assert set(vm.networks) <= networks
        keys = [item.key for item in vm.devices]
        assert len(keys) == len(set(keys))
    for overlay in loaded.overlays:
        owners = [host for host in inventory.hosts if belongs_to(overlay, host)]
        assert len(owners) == 1
        assert check_overlay(overlay, owners[0]) == []
    for held in loaded.extras.held:
        vm = inventory.vm_by_moid[held.vm]
        assert vm.is_on
        assert vm.host == held.host
        assert inventory.host_by_moid[held.host].device(held.address) is not None


def assert_sound_tree(host: Host) -> None:
    addresses = [device.address for device in host.pci_devices]
    assert addresses == sorted(set(addresses))
    for device in host.pci_devices:
        if device.parent_bridge is not None:
            parent = host.device(device.parent_bridge)
            assert parent is not None
            assert device_kind(parent) is DeviceKind.BRIDGE
    listed = [address for node in host.numa_nodes for address in node.devices]
    assert len(listed) == len(set(listed))
    assert set(listed) <= set(addresses)
    threads = [thread for node in host.numa_nodes for thread in node.thread_ids]
    assert sorted(threads) == list(range(host.thread_count or 0))
    assert sum(node.core_count for node in host.numa_nodes) == host.core_count
    assert sum(node.memory_bytes or 0 for node in host.numa_nodes) <= (host.memory_bytes or 0)


@pytest.mark.parametrize("path", SITES, ids=lambda path: path.stem)
def test_example_sites_are_sound(path: Path) -> None:
    loaded = load_inventory_file(path)
    assert (loaded.name, loaded.source) == (path.stem, "yaml")
    assert_sound(loaded)
    assert loaded.inventory.complete
    assert load_inventory_file(path) == loaded, "the same file gives the same site"


@pytest.mark.parametrize("text", doc_examples(), ids=lambda text: text.strip().splitlines()[-1][:30])
def test_examples_of_the_documentation_load(text: str) -> None:
    assert_sound(load_site_text(text))


def test_the_two_host_lab_of_the_documentation_is_short() -> None:
    text = doc_examples()[0]
    assert len([line for line in text.splitlines() if line.strip()]) <= 25
    inventory = load_site_text(text).inventory
    assert [host.name for host in inventory.hosts] == ["esx01", "esx02"]
    assert [vm.name for vm in inventory.vms] == ["web", "train-1", "train-2", "gpu-template"]


def test_the_schema_is_a_schema_and_explains_itself() -> None:
    from jsonschema import Draft202012Validator

    Draft202012Validator.check_schema(SITE_SCHEMA)
    for name, section in SITE_SCHEMA["properties"].items():
        assert section.get("description"), name


def test_a30pairs() -> None:
    loaded = load_inventory_file(REPO / "fixtures" / "sites" / "a30pairs.yaml")
    inventory = loaded.inventory
    gpu_hosts = [host for host in inventory.hosts if host.model == "PowerEdge R750xa"]
    assert (len(inventory.hosts), len(gpu_hosts), len(loaded.overlays)) == (9, 6, 6)
    assert [host.name for host in inventory.hosts if host.in_maintenance] == ["esx06"]
    host = gpu_hosts[0]
    gpus = [device for device in host.pci_devices if device_kind(device) is DeviceKind.GPU]
    assert [gpu_by_ids(gpu.ids).name for gpu in gpus if gpu_by_ids(gpu.ids)] == ["A30"] * 4
    assert [host.node_of(gpu.address) for gpu in gpus] == [0, 0, 1, 1]
    assert [gpu.passthrough.label for gpu in gpus if gpu.passthrough] == ["gpu-n0"] * 2 + ["gpu-n1"] * 2
    links = {(link.a, link.b): link.lanes for link in loaded.overlays[0].links}
    a, b, c, d = (gpu.address for gpu in gpus)
    assert links == {(a, b): 4, (c, d): 4, (a, c): 0, (a, d): 0, (b, c): 0, (b, d): 0}
    upstream = {gpu.address: host.device(gpu.parent_bridge) for gpu in gpus if gpu.parent_bridge}
    switches = [port.parent_bridge for port in upstream.values() if port]
    assert switches[0] == switches[1] != switches[2] == switches[3], "a pair shares a switch"
    assert vm_named(inventory, "legacy-cuda").node_affinity == (1,)
    assert vm_named(inventory, "spare").power is VmPower.OFF
    owners = {vm.name.split("-")[0]: vm.ownership.managed_by for vm in inventory.vms}
    assert [name for name, owner in owners.items() if owner] == ["vCLS"]
    floating = [vm.name for vm in inventory.vms if vm.is_on and not vm.node_affinity]
    assert {"infer-1", "notebook-1", "db-1"} <= set(floating)


def test_nvswitch() -> None:
    inventory = load_inventory_file(REPO / "fixtures" / "sites" / "nvswitch.yaml").inventory
    assert len(inventory.hosts) == 4
    for host, pairs in zip(inventory.hosts, (4, 4, 2, 2), strict=True):
        kinds = Counter(device_kind(device) for device in physical_devices(host))
        assert kinds[DeviceKind.GPU] == 2 * pairs
        assert kinds[DeviceKind.NVSWITCH] == (4 if pairs == 4 else 0)
        per_switch: dict[PciAddress | None, Counter[DeviceKind]] = {}
        for device in physical_devices(host):
            port = host.device(device.parent_bridge) if device.parent_bridge else None
            kind = device_kind(device)
            if kind in (DeviceKind.GPU, DeviceKind.NIC) and port and port.parent_bridge:
                per_switch.setdefault(port.parent_bridge, Counter())[kind] += 1
        assert list(per_switch.values()) == [{DeviceKind.GPU: 2, DeviceKind.NIC: 1}] * pairs
    vgpu, direct = inventory.hosts[0], inventory.hosts[2]
    assert [group.name for group in vgpu.device_groups] == [
        f"Nvidia:{count}@nvidia_h100xm-80c%NVLink" for count in (2, 4, 8)
    ]
    assert [len(group.components) for group in vgpu.device_groups] == [2, 4, 8]
    assert [part.sequence_id for part in vgpu.device_groups[1].components] == [1, 2, 3, 4]
    assert direct.device_groups == ()
    labels = Counter(d.passthrough.label for d in direct.pci_devices if d.passthrough and d.passthrough.label)
    assert labels == {"gpu-n0": 2, "gpu-n1": 2, "nic-n0": 1, "nic-n1": 1}
    assert len(virtual_functions(vgpu)) == 32


def test_floating_is_the_example_of_three_vms() -> None:
    loaded = load_inventory_file(REPO / "fixtures" / "sites" / "floating.yaml")
    host = loaded.inventory.hosts[0]
    assert [node.core_count for node in host.numa_nodes] == [32, 32]
    running = [vm for vm in loaded.inventory.vms if vm.is_on]
    assert [vm.cpus for vm in running] == [14, 14, 14]
    assert all(vm.memory_locked_to_max and not vm.node_affinity for vm in running)
    assert sum(node.core_count for node in host.numa_nodes) - sum(vm.cpus for vm in running) == 22
    assert vm_named(loaded.inventory, "twenty").cpus == 20


def test_big96() -> None:
    inventory = load_inventory_file(REPO / "fixtures" / "sites" / "big96.yaml").inventory
    assert len(inventory.hosts) == 96
    assert {len(host.numa_nodes) for host in inventory.hosts} == {2, 4}


def test_a_single_host_needs_little() -> None:
    loaded = site("hosts: [{kind: k}]\nvms: [{name: a, cpus: 2, memory_gib: 4}]")
    host, vm = loaded.inventory.hosts[0], loaded.inventory.vms[0]
    assert (host.name, host.cluster, host.version, host.api_version) == ("esx01", None, "8.0.3", "8.0.3.0")
    assert loaded.inventory.pools[0].owner.startswith("domain-s")
    assert (vm.host, vm.hardware_version, vm.firmware, vm.memory_reservation_mib) == (host.moid, 21, "efi", 0)
    assert [type(item.backing) for item in vm.devices] == [NetworkBacking]
    assert loaded.inventory.taken_at == "2025-01-01T00:00:00Z"


@pytest.mark.parametrize(
    ("kind", "packages"),
    [
        ("{}", [0, 1]),
        ("numa: {nodes_per_package: 2}", [0, 0, 1, 1]),
        ("numa: {nodes_per_package: 4}", [0] * 4 + [1] * 4),
        ("numa: {nodes: 1}", [None]),
        ("numa: {extra_nodes: 1}", [0, 1, None]),
        ("cpu: {packages: 1, cores: 8}", [0]),
    ],
)
def test_nodes_say_their_socket(kind: str, packages: list[int | None]) -> None:
    host = host_of(kind)
    assert [node.package for node in host.numa_nodes] == packages
    assert_sound_tree(host)


def test_siblings_of_a_core_are_neighbours() -> None:
    host = host_of("cpu: {packages: 2, cores: 2}")
    assert [node.thread_ids for node in host.numa_nodes] == [(0, 1, 2, 3), (4, 5, 6, 7)]
    single = host_of("cpu: {packages: 2, cores: 2, threads: 1}")
    assert [node.thread_ids for node in single.numa_nodes] == [(0, 1), (2, 3)]
    assert single.hyperthreading_active is False


def test_a_node_without_cpus_has_devices_and_no_memory() -> None:
    host = host_of("{numa: {extra_nodes: 1}, devices: [{gpu: A30, node: 2}]}")
    node = host.numa_nodes[2]
    assert (node.core_count, node.memory_bytes, len(node.devices)) == (0, 0, 1)


def test_unknown_locality_is_not_node_0() -> None:
    host = host_of("devices: [{gpu: A30, node: unknown}, {gpu: A30, node: 0}]")
    unknown, known = (d.address for d in host.pci_devices if device_kind(d) is DeviceKind.GPU)
    assert host.node_of(known) == 0
    assert host.node_of(unknown) is None
    silent = host_of("{numa: {devices_reported: false}, devices: [{gpu: A30, node: 0}]}")
    assert all(node.devices == () for node in silent.numa_nodes)


def test_overlay_nodes_become_an_overlay() -> None:
    loaded = site(
        "host_kinds: {k: {cpu: {cores: 8}, memory_gib: 64,"
        " devices: [{gpu: A30, node: unknown, overlay_node: 1}]}}\n"
        "hosts: [{kind: k}]"
    )
    assert [item.numa_node for item in loaded.overlays[0].devices] == [1]
    assert loaded.overlays[0].links == ()


def test_switches_nest_and_roots_are_shared() -> None:
    host = host_of(
        "devices: [{gpu: A30, node: 0, switch: a/b}, {gpu: A30, node: 0, switch: a},"
        " {gpu: L4, node: 1, root: r}, {gpu: L4, node: 1, root: r}, {gpu: L4, node: 1}]"
    )
    gpus = [d for d in host.pci_devices if device_kind(d) is DeviceKind.GPU]

    def chain(address: PciAddress) -> list[PciAddress]:
        device = host.device(address)
        assert device is not None
        return [] if device.parent_bridge is None else [device.parent_bridge, *chain(device.parent_bridge)]

    outer, inner = chain(gpus[0].address), chain(gpus[1].address)
    assert sorted(map(len, (outer, inner))) == [3, 5]
    assert len(set(outer) & set(inner)) == 2, "they share the root port and the upstream port of a"
    roots = [chain(gpu.address)[-1] for gpu in gpus[2:]]
    assert roots[0] != roots[1]
    assert roots[0].bus_key == roots[1].bus_key != roots[2].bus_key


def test_addresses_and_segments_can_be_given() -> None:
    host = host_of(
        'devices: [{gpu: A30, node: 0, address: "0000:3b:00.0"}, {gpu: A30, node: 1, segment: 0x10000}]'
    )
    found = [str(d.address) for d in host.pci_devices if device_kind(d) is DeviceKind.GPU]
    assert found[0] == "0000:3b:00.0"
    assert found[1].startswith("10000:")
    assert_sound_tree(host)


def test_virtual_functions_do_not_add_cards() -> None:
    host = host_of("devices: [{nic: CX6-DX, node: 0, vfs: 16}, {nic: X710, node: 0}]")
    nics = [d for d in physical_devices(host) if device_kind(d) is DeviceKind.NIC]
    assert len(nics) == 2
    functions = virtual_functions(host)
    assert set(functions.values()) == {nics[0].address}
    assert len(functions) == 16
    assert nics[0].sriov is not None
    assert (nics[0].sriov.vf_present, nics[0].sriov.active) == (16, True)
    assert set(functions) <= set(host.numa_nodes[0].devices)


def test_ports_are_functions_of_one_card() -> None:
    host = host_of("devices: [{nic: CX6-DX, node: 1, ports: 2, vfs: 3}]")
    nics = [d for d in physical_devices(host) if device_kind(d) is DeviceKind.NIC]
    assert [nic.address.function for nic in nics] == [0, 1]
    assert len({nic.parent_bridge for nic in nics}) == 1
    assert [nic.device for nic in host.pnics] == ["vmnic0", "vmnic1"]
    functions = virtual_functions(host)
    assert Counter(functions.values()) == {nics[0].address: 3, nics[1].address: 3}
    assert_sound_tree(host)


def test_devices_behind_one_bridge_go_together() -> None:
    host = host_of(
        """
devices:
  - {gpu: A30, node: 0, address: "0000:3b:00.0", dependent: parent}
  - {storage: nvme, node: 0, address: "0000:3b:01.0", dependent: parent, passthrough: active}
  - {nic: X710, node: 0, dependent: gpu0}
"""
    )
    gpu, disk = (host.device(PciAddress.parse(text)) for text in ("0000:3b:00.0", "0000:3b:01.0"))
    assert gpu is not None
    assert disk is not None
    assert gpu.parent_bridge == disk.parent_bridge is not None
    assert gpu.passthrough is not None
    assert disk.passthrough is not None
    assert gpu.passthrough.dependent == disk.passthrough.dependent == gpu.parent_bridge
    nic = next(d for d in host.pci_devices if device_kind(d) is DeviceKind.NIC)
    assert nic.passthrough is not None
    assert nic.passthrough.dependent == gpu.address


def test_some_gpus_of_a_vgpu_host_may_be_passed_through() -> None:
    host = host_of(
        "{devices: [{gpu: A30, node: 0, passthrough: active}, {gpu: A30, node: 0}],"
        " vgpu: {profiles: [grid_a30-6c]}}"
    )
    graphics = [d.graphics for d in host.pci_devices if d.graphics]
    assert [(item.type, item.mode) for item in graphics] == [
        ("direct", GpuMode.NONE),
        ("sharedDirect", GpuMode.SAME_SIZE),
    ]


@pytest.mark.parametrize(
    ("state", "flags"),
    [
        ("active", (True, True, True)),
        ("enabled", (True, True, False)),
        ("capable", (True, False, False)),
        ("none", (False, False, False)),
    ],
)
def test_passthrough_states(state: str, flags: tuple[bool, ...]) -> None:
    host = host_of(f"devices: [{{gpu: A30, node: 0, passthrough: {state}}}]")
    gpu = next(d for d in host.pci_devices if device_kind(d) is DeviceKind.GPU)
    assert gpu.passthrough is not None
    assert (gpu.passthrough.capable, gpu.passthrough.enabled, gpu.passthrough.active) == flags
    assert (gpu.system_id is not None) == flags[0]


def test_one_host_differs_from_its_kind() -> None:
    loaded = site(
        """
host_kinds:
  k:
    cpu: {cores: 8}
    memory_gib: 64
    devices:
      - {gpu: A30, count: 2, node: 0, label: x}
      - {nic: CX6-DX, node: 1, vfs: 2}
    nvlinks: [[gpu0, gpu1]]
hosts:
  - {kind: k}
  - {kind: k, memory_gib: 32, devices: {gpu0: {label: null}, nic0: {absent: true}}}
  - {kind: k, devices: {gpu1: {absent: true}, nic0: {gbps: 0}}}
"""
    )
    first, second, third = loaded.inventory.hosts
    gpus = [d for d in second.pci_devices if device_kind(d) is DeviceKind.GPU]
    assert [gpu.passthrough.label for gpu in gpus if gpu.passthrough] == [None, "x"]
    assert virtual_functions(second) == {}
    assert len(virtual_functions(first)) == 2
    assert second.pnics == ()
    assert [node.memory_bytes for node in second.numa_nodes] == [16 * 1024**3] * 2
    assert [nic.link_mbps for nic in third.pnics] == [None]
    assert [overlay.host for overlay in loaded.overlays] == ["esx01", "esx02"], "one card has no link"
    for host in loaded.inventory.hosts:
        assert_sound_tree(host)


def test_a_disconnected_host_is_a_gap() -> None:
    loaded = site("hosts: [{kind: k, connection: disconnected}, {kind: k}]")
    host = loaded.inventory.hosts[0]
    assert host.connection is ConnectionState.DISCONNECTED
    assert (host.pnics, host.limits, host.capability.assignable_hardware) == ((), (), None)
    assert [(gap.object, gap.kind) for gap in loaded.inventory.gaps] == [(host.moid, "disconnected")]
    assert not loaded.inventory.complete


def test_limits_follow_the_release() -> None:
    loaded = site(
        """
host_kinds:
  k: {cpu: {cores: 8}, memory_gib: 64, limits: {20: {max_passthrough: 8}}}
hosts:
  - {kind: k}
  - {kind: k, version: "8.0.0"}
  - {kind: k, version: "7.0.3"}
"""
    )
    new, first, old = ({limit.version: limit for limit in host.limits} for host in loaded.inventory.hosts)
    assert (max(new), max(first), max(old)) == (21, 20, 19)
    assert 16 not in new
    assert (new[21].max_passthrough, new[20].max_passthrough, new[19].max_passthrough) == (128, 8, 16)
    assert (old[19].max_vgpus, new[21].max_vgpus) == (4, 8)
    assert (new[19].max_device_groups, new[20].max_device_groups) == (0, None)
    assert loaded.inventory.hosts[2].capability.max_simultaneous_threads is None


VGPU = """
host_kinds:
  k:
    cpu: {{cores: 8}}
    memory_gib: 64
    devices: [{{gpu: A30, count: 2, node: 0}}]
    vgpu: {{profiles: [grid_a30-6c, grid_a30-12c, grid_a30-24c, grid_a30-2-12c], mode: {mode}}}
    device_groups: [{{name: pair, vgpu: grid_a30-24c, count: 2}}]
hosts: [{{kind: k}}]
vms:
  - {{name: "v{{n}}", count: 5, cpus: 1, memory_gib: 1, devices: [{{vgpu: {profile}}}]}}
"""


@pytest.mark.parametrize(
    ("mode", "profile", "spread"),
    [
        ("sameSize", "grid_a30-6c", [4, 1]),
        ("mixedSize", "grid_a30-6c", [4, 1]),
    ],
)
def test_vgpus_fill_cards(mode: str, profile: str, spread: list[int]) -> None:
    loaded = site(VGPU.format(mode=mode, profile=profile))
    cards = [d for d in loaded.inventory.hosts[0].pci_devices if d.graphics]
    assert [len(card.graphics.vms) for card in cards if card.graphics] == spread
    assert [card.graphics.mode for card in cards if card.graphics] == [GpuMode(mode)] * 2
    assert all(card.passthrough and not card.passthrough.active for card in cards)
    assert len(loaded.inventory.hosts[0].vgpu_types) == 3


@pytest.mark.parametrize(
    ("mode", "profile"),
    [("sameSize", "grid_a30-12c"), ("multiInstanceGpu", "grid_a30-6c"), ("sameSize", "grid_a30-2-12c")],
)
def test_vgpus_that_do_not_fit_are_refused(mode: str, profile: str) -> None:
    with pytest.raises(FileFormatError, match="has no room for"):
        site(VGPU.format(mode=mode, profile=profile))


def test_same_size_keeps_other_sizes_off() -> None:
    text = VGPU.format(mode="{mode}", profile="grid_a30-6c").replace("count: 5", "count: 1")
    text += (
        "  - {{name: w, cpus: 1, memory_gib: 1, devices: [{{vgpu: grid_a30-12c, holds: gpu0}}]}}\n".replace(
            "{{", "{"
        ).replace("}}", "}")
    )
    with pytest.raises(FileFormatError, match="has no room for grid_a30-12c"):
        site(text.replace("{mode}", "sameSize"))
    assert len(site(text.replace("{mode}", "mixedSize")).extras.held) == 2


def test_bindings_follow_the_api() -> None:
    text = (
        "host_kinds: {k: {cpu: {cores: 8}, memory_gib: 64, devices: [{gpu: A30, node: 0}]}}\n"
        "hosts: [{kind: k, version: 'VERSION'}]\n"
        "vms: [{name: a, cpus: 1, memory_gib: 1, devices: [{dynamic: A30}]}]"
    )
    old = site(text.replace("VERSION", "8.0.3"))
    new = site(text.replace("VERSION", "9.1.0"))
    held = old.extras.held[0]
    binding = old.inventory.hosts[0].bindings[0]
    assert (binding.vm, binding.address, binding.device_key) == (held.vm, None, None)
    told = new.inventory.hosts[0].bindings[0]
    assert (told.address, told.device_key) == (held.address, held.device_key)
    backing = old.inventory.vms[0].devices[0].backing
    assert isinstance(backing, DynamicBacking)
    assert backing.assigned_id == binding.instance_id


def test_a_vm_that_is_off_holds_nothing() -> None:
    loaded = site(
        "host_kinds: {k: {cpu: {cores: 8}, memory_gib: 64, devices: [{gpu: A30, node: 0}]}}\n"
        "hosts: [{kind: k}]\n"
        "vms:\n"
        "  - {name: a, cpus: 1, memory_gib: 1, devices: [{static: gpu0}]}\n"
        "  - {name: b, power: off, cpus: 1, memory_gib: 1, devices: [{static: gpu0}]}\n".replace(
            "off", "'off'"
        )
    )
    first, second = loaded.inventory.vms
    assert [held.vm for held in loaded.extras.held] == [first.moid]
    backing = second.devices[0].backing
    assert isinstance(backing, StaticBacking)
    assert (backing.device_id, backing.vendor_id) == ("20b7", 0x10DE)
    assert backing.system_id == loaded.inventory.hosts[0].device(backing.address).system_id  # type: ignore[union-attr]


def test_pools_say_what_is_left() -> None:
    loaded = site(
        """
clusters: [{name: c, hosts: [{kind: k, system_memory_mib: 4096}, {kind: k, maintenance: true}]}]
pools:
  - {name: gold, memory_reservation_gib: 16, memory_expandable: false}
  - {name: silver, memory_limit_gib: 20}
  - {name: inner, parent: gold, memory_reservation_gib: 4}
vms:
  - {name: a, on: esx01, pool: gold, cpus: 1, memory_gib: 8, reservation_gib: 8, overhead_mib: 0}
  - {name: b, on: esx01, pool: silver, cpus: 1, memory_gib: 2, reservation_gib: 2, overhead_mib: 0}
  - {name: c, on: esx01, pool: inner, cpus: 1, memory_gib: 1, reservation_gib: 1, overhead_mib: 0}
  - {name: d, on: esx01, power: off, cpus: 1, memory_gib: 32, reservation_gib: 32}
"""
    )
    left = {pool.name: pool.memory_unreserved_mib for pool in loaded.inventory.pools}
    root = 60 * 1024 - 16 * 1024 - 2 * 1024
    assert left["Resources"] == root
    assert left["gold"] == (16 - 8 - 4) * 1024
    assert left["inner"] == (4 - 1) * 1024 + left["gold"]
    assert left["silver"] == min(root, (20 - 2) * 1024)


def test_rules_resolve_patterns() -> None:
    loaded = site(
        """
clusters:
  - name: c
    hosts: [{kind: k, count: 2}]
    rules:
      - {apart: ["w*"]}
      - {name: t, together: [a, b], must: false, enabled: false}
      - {vms: [a], on: [esx02]}
      - {vms: [b], not_on: ["esx*"], must: true}
vms:
  - {name: "w{n}", count: 2, on: ["esx*"], cpus: 1, memory_gib: 1}
  - {name: a, on: esx01, cpus: 1, memory_gib: 1}
  - {name: b, on: esx01, cpus: 1, memory_gib: 1, drs: disabled}
"""
    )
    cluster = loaded.inventory.clusters[0]
    name = {vm.moid: vm.name for vm in loaded.inventory.vms}
    apart, together = cluster.vm_vm_rules
    assert (apart.apart, [name[vm] for vm in apart.vms], apart.mandatory) == (True, ["w1", "w2"], True)
    assert (together.name, together.apart, together.mandatory, together.enabled) == ("t", False, False, False)
    should, must = cluster.vm_host_rules
    assert (should.apart, should.mandatory, should.hosts) == (False, False, (loaded.inventory.hosts[1].moid,))
    assert (must.apart, must.mandatory, len(must.hosts)) == (True, True, 2)
    assert [(name[vm], level) for vm, level in cluster.drs_overrides] == [("b", "disabled")]


def test_vms_are_dealt_out_and_named() -> None:
    loaded = site(
        """
hosts: [{kind: k, count: 3}]
vms:
  - {name: a, count: 4, on: ["esx01", "esx03"], cpus: 1, memory_gib: 1}
  - {name: "b-{host}", per_host: 1, on: "*", cpus: 1, memory_gib: 1}
  - {name: "c{n:03}", per_host: 2, on: esx02, cpus: 1, memory_gib: 1}
"""
    )
    host = {item.moid: item.name for item in loaded.inventory.hosts}
    assert [(vm.name, host[vm.host or ""]) for vm in loaded.inventory.vms] == [
        ("a-1", "esx01"),
        ("a-2", "esx03"),
        ("a-3", "esx01"),
        ("a-4", "esx03"),
        ("b-esx01", "esx01"),
        ("b-esx02", "esx02"),
        ("b-esx03", "esx03"),
        ("c001", "esx02"),
        ("c002", "esx02"),
    ]


def test_vm_fields_arrive() -> None:
    loaded = site(
        """
hosts: [{kind: k}]
vms:
  - name: a
    cpus: 8
    cores_per_socket: 4
    memory_gib: 16
    reservation_gib: 4.5
    memory_limit_gib: 12
    vnuma_cores_per_node: 4
    node_affinity: [1, 0]
    measured_home: {nodes: [1], locality_percent: [99, 90], migrations: 3}
    extra_config: {numa.vcpu.preferHT: true, x: 5}
    tags: ["b:2", "a:1"]
    snapshots: 2
    linked_clone: true
    pending_question: true
    devices: [{network: VM Network, numa_node: -1}, {network: VM Network, numa_node: 0}, {unknown: Foo}]
"""
    )
    vm = loaded.inventory.vms[0]
    assert (vm.memory_reservation_mib, vm.memory_limit_mib, vm.memory_locked_to_max) == (4608, 12288, False)
    assert (vm.cores_per_socket, vm.cores_per_socket_auto) == (4, False)
    assert (vm.vnuma.cores_per_node, vm.vnuma.auto) == (4, False)
    assert vm.extra_config == (("numa.nodeAffinity", "0,1"), ("numa.vcpu.preferHT", "TRUE"), ("x", "5"))
    assert loaded.extras.esxtop == ((vm.moid, EsxtopSeed((1,), 90, 99, 3)),)
    assert (vm.tags, vm.snapshot_count, vm.linked_clone) == (("a:1", "b:2"), 2, True)
    assert vm.ownership.pending_question
    assert [item.numa_node for item in vm.devices] == [-1, 0, None], "unset, none and node 0 are three things"


def test_old_hardware_says_nothing_of_vnuma() -> None:
    vm = site(
        "hosts: [{kind: k}]\nvms: [{name: a, cpus: 2, memory_gib: 4, hardware_version: 19}]"
    ).inventory.vms[0]
    assert (vm.vnuma.cores_per_node, vm.vnuma.auto, vm.cores_per_socket_auto) == (None, None, None)


def test_ids_do_not_depend_on_the_folder(tmp_path: Path) -> None:
    text = "format_version: 1\nhost_kinds: {k: {cpu: {cores: 8}, memory_gib: 64}}\nhosts: [{kind: k}]\n"
    (tmp_path / "a").mkdir()
    for place in (tmp_path / "x.yaml", tmp_path / "a" / "x.yaml"):
        place.write_text(text)
    first = load_inventory_file(tmp_path / "x.yaml")
    assert load_inventory_file(tmp_path / "a" / "x.yaml") == first
    assert first.name == "x"


def test_links_among_several_gpus_are_every_two_of_them() -> None:
    text = """\
format_version: 1
host_kinds:
  mesh:
    cpu: {packages: 1, cores: 16}
    memory_gib: 64
    devices: [{gpu: V100-SXM-32, count: 4, node: 0}]
    nvlinks: [{among: [gpu0, gpu1, gpu3], lanes: 2}]
  all:
    cpu: {packages: 1, cores: 16}
    memory_gib: 64
    devices: [{gpu: V100-SXM-32, count: 4, node: 0}]
    nvlinks: [{among: all, lanes: 1}]
clusters: [{name: c, hosts: [{kind: mesh}, {kind: all}]}]
"""
    some, every = load_site_text(text).overlays
    assert [link.lanes for link in some.links] == [2, 0, 2, 0, 2, 0]
    assert [link.lanes for link in every.links] == [1] * 6


def test_a_vm_that_is_off_may_name_a_card_that_is_no_longer_there() -> None:
    text = """\
format_version: 1
host_kinds: {k: {cpu: {packages: 1, cores: 16}, memory_gib: 64, devices: [{gpu: A30, node: 0}]}}
clusters: [{name: c, hosts: [{kind: k}]}]
vms:
  - name: stale
    power: off
    cpus: 2
    memory_gib: 4
    devices:
      - {static: "0000:65:00.0", ids: "10de:20b5"}
      - {static: gpu0, ids: "10de:20b5"}
      - {static: gpu0, device_id: "8375"}
"""
    inventory = load_site_text(text).inventory
    (host,) = inventory.hosts
    (vm,) = inventory.vms
    told = [device.backing for device in vm.devices if isinstance(device.backing, StaticBacking)]
    assert [(str(b.address), b.device_id, str(b.ids)) for b in told] == [
        ("0000:65:00.0", "20b5", "10de:20b5"),
        ("0000:04:00.0", "20b5", "10de:20b5"),
        ("0000:04:00.0", "8375", "10de:8375"),
    ]
    assert {b.system_id for b in told} == {host.pci_devices[-1].system_id}
