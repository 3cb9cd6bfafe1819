"""govc, unmodified, reads from the lab what the inventory says: by value, for govc can fail silently."""

from __future__ import annotations

import json
import subprocess
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import missing
from tests.witness_programs import lab_environment
from vplacer.inventory.host import Host
from vplacer.inventory.load import load_inventory_file
from vplacer.inventory.pci import PciAddress, unsigned8, unsigned16
from vplacer.inventory.site import Site
from vplacer.inventory.vcenter import Inventory
from vplacer.inventory.vm import DynamicBacking, NetworkBacking, SriovBacking, StaticBacking, VgpuBacking, Vm
from vplacer.lab.model.state import seed_state
from vplacer.lab.soap.server import LabServer

pytestmark = pytest.mark.live

REPO = Path(__file__).resolve().parents[2]
SITES = [
    REPO / "tests/cases/lab/odd-site.yaml",
    *(REPO / "fixtures/sites" / f"{name}.yaml" for name in ("a30pairs", "nvswitch")),
]
_XSI_TYPE = "{http://www.w3.org/2001/XMLSchema-instance}type"


@dataclass
class Govc:
    program: Path
    server: LabServer
    site: Site
    home: Path

    @property
    def inventory(self) -> Inventory:
        return self.site.inventory

    def run(self, *arguments: str, datacenter: str | None = None) -> str:
        environment = lab_environment(self.server) | {
            "GOVMOMI_HOME": str(self.home),
            "GOVC_DATACENTER": self.datacenter(datacenter),
        }
        done = subprocess.run(
            [self.program, *arguments],
            env=environment,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        assert done.stderr == ""
        return done.stdout

    def datacenter(self, moid: str | None) -> str:
        return next(d.name for d in self.inventory.datacenters if moid in (None, d.moid))

    def json(self, *arguments: str, datacenter: str | None = None) -> Any:
        return json.loads(self.run(arguments[0], "-json", *arguments[1:], datacenter=datacenter))

    def of_vm(self, command: str, vm: Vm) -> Any:
        """Run a command on a VM, found by its BIOS uuid."""
        return self.json(command, "-vm.uuid", bios_uuid(vm), datacenter=vm.datacenter)

    def collect(self, moid: str, *paths: str) -> dict[str, Any]:
        return {change["name"]: change.get("val") for change in self.json("collect", moid, *paths)}


@pytest.fixture(scope="module", params=SITES, ids=lambda p: p.stem)
def govc(
    request: pytest.FixtureRequest,
    witness_bin: Callable[[str], Path],
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Govc]:
    program = witness_bin("govc")
    site = load_inventory_file(request.param)
    with LabServer(site) as server:
        yield Govc(program, server, site, tmp_path_factory.mktemp("govc"))


def connected(inventory: Inventory) -> list[Host]:
    broken = {gap.object for gap in inventory.gaps}
    return [h for h in inventory.hosts if h.moid not in broken]


def bios_uuid(vm: Vm) -> str:
    return f"42{(vm.instance_uuid or '')[2:]}"


def test_about(govc: Govc) -> None:
    about = govc.json("about")["about"]
    expected = govc.inventory.about
    assert (about["apiVersion"], about["instanceUuid"]) == (expected.api_version, expected.instance_uuid)
    assert (about["version"], about["build"]) == (expected.version, expected.build)


def test_find_and_ls(govc: Govc) -> None:
    inventory = govc.inventory
    found = {kind: govc.run("find", "-type", kind, "/").split("\n") for kind in ("h", "m", "c", "p", "s")}
    leaves = {
        kind: sorted(line.rpartition("/")[2] for line in lines if line) for kind, lines in found.items()
    }
    assert leaves["h"] == sorted(h.name for h in inventory.hosts)
    assert leaves["m"] == sorted(v.name for v in inventory.vms)
    assert leaves["p"] == sorted(p.name for p in inventory.pools)
    assert leaves["s"] == sorted(d.name for d in inventory.datastores)
    assert len(leaves["c"]) == len(inventory.clusters)
    datacenters = [d.name for d in inventory.datacenters]
    assert govc.run("ls", f"/{datacenters[0]}").split() == [
        f"/{datacenters[0]}/{folder}" for folder in ("vm", "host", "datastore", "network")
    ]


def test_host_info(govc: Govc) -> None:
    # govc gives up on a host of which it may not read everything.
    hosts = connected(govc.inventory)
    names = {h.name for h in hosts}
    paths = [p for p in govc.run("find", "-type", "h", "/").split() if p.rpartition("/")[2] in names]
    answers = {h["name"]: h for h in govc.json("host.info", *paths)["hostSystems"]}
    assert set(answers) == names
    for host in hosts:
        answer = answers[host.name]
        hardware = answer["summary"]["hardware"]
        assert hardware["memorySize"] == host.memory_bytes
        assert (hardware["numCpuCores"], hardware["numCpuThreads"]) == (host.core_count, host.thread_count)
        assert (hardware["vendor"], hardware["model"], hardware["uuid"]) == (
            host.vendor,
            host.model,
            host.uuid,
        )
        assert answer["runtime"]["connectionState"] == host.connection.value
        assert answer["runtime"]["inMaintenanceMode"] == host.in_maintenance


def test_host_hardware(govc: Govc) -> None:
    for host in connected(govc.inventory):
        answer = govc.collect(
            host_ref(host), "hardware.numaInfo", "hardware.pciDevice", "config.pciPassthruInfo"
        )
        nodes = answer["hardware.numaInfo"]["numaNode"]
        assert [n["typeId"] for n in nodes] == [n.id for n in host.numa_nodes]
        # Go's JSON leaves out a zero.
        assert [n.get("memorySize", 0) for n in nodes] == [n.memory_bytes for n in host.numa_nodes]
        assert [tuple(n["cpuID"] or ()) for n in nodes] == [n.thread_ids for n in host.numa_nodes]
        told = [n.get("pciId") or [] for n in nodes]
        assert told == [[str(a) for a in n.devices] for n in host.numa_nodes]
        devices = {d["id"]: d for d in array(answer["hardware.pciDevice"])}
        assert set(devices) == {str(d.address) for d in host.pci_devices}
        for device in host.pci_devices:
            read = devices[str(device.address)]
            assert unsigned16(read["vendorId"]) == device.ids.vendor
            assert unsigned16(read["deviceId"]) == device.ids.device
            assert unsigned16(read["classId"]) == device.class_id
            assert unsigned8(read["bus"]) == device.address.bus
            assert read.get("parentBridge") == (str(device.parent_bridge) if device.parent_bridge else None)
        states = {s["id"]: s for s in array(answer["config.pciPassthruInfo"])}
        labels = {i: s.get("hardwareLabel") for i, s in states.items()}
        active = {i for i, s in states.items() if s["passthruActive"]}
        known = {str(d.address): d.passthrough for d in host.pci_devices if d.passthrough}
        assert labels == {i: p.label for i, p in known.items()}
        assert active == {i for i, p in known.items() if p.active}


def host_ref(host: Host) -> str:
    return f"HostSystem:{host.moid}"


def array(value: Any) -> list[Any]:
    """govc wraps an array's items in an object named by their type."""
    if isinstance(value, dict):
        return next(item for item in value.values() if isinstance(item, list))
    return list(value)


def test_vm_info(govc: Govc) -> None:
    for vm in govc.inventory.vms:
        if not vm.readable:
            continue
        answers = govc.of_vm("vm.info", vm)["virtualMachines"]
        assert [a["self"]["value"] for a in answers] == [vm.moid]
        answer = answers[0]
        config = answer["config"]
        assert (config["hardware"]["numCPU"], config["hardware"]["memoryMB"]) == (vm.cpus, vm.memory_mib)
        assert config["hardware"].get("numCoresPerSocket") == vm.cores_per_socket
        assert config["changeVersion"] == vm.change_version
        assert config["instanceUuid"] == vm.instance_uuid
        assert config["memoryReservationLockedToMax"] == vm.memory_locked_to_max
        assert config["memoryAllocation"].get("reservation") == vm.memory_reservation_mib
        options = {o["key"]: o["value"] for o in config.get("extraConfig") or []}
        assert options == dict(vm.extra_config)
        numa = config.get("numaInfo") or {}
        assert numa.get("coresPerNumaNode") == vm.vnuma.cores_per_node
        assert numa.get("autoCoresPerNumaNode") == vm.vnuma.auto
        assert answer["runtime"]["powerState"] == vm.power.value
        assert (answer["runtime"].get("host") or {}).get("value") == vm.host


def test_device_info(govc: Govc) -> None:
    for vm in govc.inventory.vms:
        if not vm.readable:
            continue
        answer = govc.of_vm("device.info", vm)
        devices = {d["key"]: d for d in answer["devices"]}
        assert {d.key for d in vm.devices} <= set(devices)
        for device in vm.devices:
            read = devices[device.key]
            assert read["deviceInfo"]["label"] == device.label
            assert read.get("numaNode") == device.numa_node
            group = read.get("deviceGroupInfo") or {}
            assert group.get("groupInstanceKey") == device.group_key
            assert group.get("sequenceId") == device.group_sequence
            _compare_backing(device.backing, read)


def _compare_backing(backing: Any, read: dict[str, Any]) -> None:
    if isinstance(backing, StaticBacking):
        assert read["backing"]["id"] == str(backing.address)
        assert (read["backing"]["deviceId"], read["backing"]["systemId"]) == (
            backing.device_id,
            backing.system_id,
        )
        assert unsigned16(read["backing"]["vendorId"]) == backing.vendor_id
    elif isinstance(backing, DynamicBacking):
        told = [(a["vendorId"], a["deviceId"]) for a in read["backing"]["allowedDevice"]]
        assert told == [(a.vendor, a.device) for a in backing.allowed]
        assert read["backing"].get("customLabel") == backing.label
        assert read["backing"].get("assignedId") == backing.assigned_id
    elif isinstance(backing, VgpuBacking):
        assert read["backing"]["vgpu"] == backing.profile
    elif isinstance(backing, NetworkBacking):
        assert read["type"].lower() == f"virtual{backing.card}"
        assert read["backing"]["network"]["value"] == backing.network
    elif isinstance(backing, SriovBacking):
        assert read["type"] == "VirtualSriovEthernetCard"
        physical = (read["sriovBacking"].get("physicalFunctionBacking") or {}).get("id")
        assert physical == (str(backing.physical_function) if backing.physical_function else None)


def test_types_of_backings(govc: Govc) -> None:
    """JSON leaves type names out, so the kinds of backings are read as XML."""
    kinds = {
        StaticBacking: "VirtualPCIPassthroughDeviceBackingInfo",
        DynamicBacking: "VirtualPCIPassthroughDynamicBackingInfo",
        VgpuBacking: "VirtualPCIPassthroughVmiopBackingInfo",
    }
    compared = 0
    for vm in govc.inventory.vms:
        expected = {d.key: kinds[type(d.backing)] for d in vm.devices if type(d.backing) in kinds}
        if not expected or not vm.readable:
            continue
        compared += len(expected)
        assert {k: t for k, t in _backing_types(govc, vm).items() if k in expected} == expected
    assert compared > 0


def _backing_types(govc: Govc, vm: Vm) -> dict[int, str]:
    text = govc.run("collect", "-xml", f"VirtualMachine:{vm.moid}", "config.hardware.device")
    found = {}
    for device in ElementTree.fromstring(text).iter("VirtualDevice"):
        backing = device.find("backing")
        if backing is not None:
            found[int(device.findtext("key") or 0)] = backing.get(_XSI_TYPE, "")
    return found


def test_collect_of_single_paths(govc: Govc) -> None:
    host = connected(govc.inventory)[0]
    vm = next(v for v in govc.inventory.vms if v.readable and v.host == host.moid and v.devices)
    assert govc.run("collect", "-s", host_ref(host), "hardware.memorySize").strip() == str(host.memory_bytes)
    assert govc.run("collect", "-s", host_ref(host), "config.product.version").strip() == host.version
    answer = govc.collect(
        f"VirtualMachine:{vm.moid}", "runtime.host", "config.hardware.numCPU", "resourcePool"
    )
    assert answer["runtime.host"] == {"type": "HostSystem", "value": host.moid}
    assert answer["config.hardware.numCPU"] == vm.cpus
    key = vm.devices[0].key
    label = govc.run(
        "collect", "-s", f"VirtualMachine:{vm.moid}", f"config.hardware.device[{key}].deviceInfo.label"
    )
    assert label.strip() == vm.devices[0].label


def test_rules(govc: Govc) -> None:
    paths = [p for p in govc.run("find", "-type", "c", "/").split("\n") if p]
    for cluster, path in zip(govc.inventory.clusters, sorted(paths, key=_by_moid(govc)), strict=True):
        listed = govc.run("cluster.rule.ls", "-cluster", path).split()
        assert listed == [r.name for r in (*cluster.vm_vm_rules, *cluster.vm_host_rules)]


def _by_moid(govc: Govc) -> Callable[[str], int]:
    order = {c.name.replace("/", "%2f"): n for n, c in enumerate(govc.inventory.clusters)}
    return lambda path: order[path.rpartition("/")[2]]


def test_passthrough_candidates_of_a_host(govc: Govc) -> None:
    vm = next((v for v in govc.inventory.vms if v.is_on and v.devices), None)
    assert vm is not None
    text = govc.run("device.pci.ls", "-vm.uuid", bios_uuid(vm), datacenter=vm.datacenter)
    rows = {tuple(line.split()[:2]) for line in text.splitlines()[1:]}
    hosts = [
        h for h in govc.inventory.hosts if h.cluster == govc.inventory.host_by_moid[vm.host or ""].cluster
    ]
    expected = {
        (d.system_id, str(d.address))
        for h in hosts
        if h.connection.value == "connected"
        for d in h.pci_devices
        if d.system_id
    }
    assert rows == expected


def test_esxcli_lists_the_devices_of_a_host(govc: Govc) -> None:
    """``host.esxcli`` asks for the command's description first, as PowerCLI does."""
    known = subprocess.run(
        [govc.program, "host.esxcli", "-h"], capture_output=True, text=True, timeout=60, check=False
    )
    if "Invoke esxcli" not in known.stdout + known.stderr:
        missing("this govc has no host.esxcli: build it anew, see CONTRIBUTING.md")
    state = seed_state(govc.site)
    host = connected(govc.inventory)[0]
    listed = govc.json(
        "host.esxcli", "-host", f"*/{host.name}", "hardware", "pci", "list", datacenter=host.datacenter
    )
    rows = {row["Address"][0]: {name: value[0] for name, value in row.items()} for row in listed["values"]}
    assert set(rows) == {str(device.address) for device in host.pci_devices}
    for device in host.pci_devices:
        row = rows[str(device.address)]
        node = state.esxcli_node(host, device.address)
        assert int(row["NUMANode"]) == (0xFFFFFFFF if node is None else node)
        assert (int(row["VendorID"], 16), int(row["DeviceID"], 16)) == (device.ids.vendor, device.ids.device)
        if device.parent_bridge is not None:
            assert PciAddress.parse(row["ParentDevice"]) == device.parent_bridge
