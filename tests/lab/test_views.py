"""What clients read of a site: every fact of the inventory at its place in the vSphere API."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyVmomi import vim, vmodl

from tests.lab.clients import PC, bind, connected, read, view_filter
from tests.lab.serialisable import check_serialisable
from vplacer.inventory.load import load_inventory_file
from vplacer.inventory.site import Site
from vplacer.lab.model.clock import VirtualClock
from vplacer.lab.model.state import seed_state
from vplacer.lab.soap.server import LabServer
from vplacer.lab.soap.views.site import lab_site

REPO = Path(__file__).resolve().parents[2]
ODD = REPO / "tests/cases/lab/odd-site.yaml"
SITES = [ODD, *sorted((REPO / "fixtures/sites").glob("*.yaml"))]
VERSIONS = ("7.0.3.0", "8.0.3.0", "9.1.0.0")
ESX01, ESX02, ESX03, ESX05 = (vim.HostSystem(f"host-100{n}") for n in (1, 2, 3, 5))


@pytest.fixture(scope="module")
def odd() -> Site:
    return load_inventory_file(ODD)


@pytest.fixture(scope="module")
def client(odd: Site) -> Iterator[Any]:
    with LabServer(odd, api_version="9.1.0.0") as server, connected(server) as service:
        yield service


@pytest.fixture(scope="module")
def hgx() -> Iterator[Any]:
    site = load_inventory_file(REPO / "fixtures/sites/nvswitch.yaml")
    with LabServer(site) as server, connected(server) as service:
        yield service


def value(client: Any, ref: Any, path: str) -> Any:
    values, missing = read(client, ref, path)
    assert missing == {}
    return values.get(path)


def found(client: Any, cls: Any, name: str) -> Any:
    spec = view_filter(client, cls, ["name"])
    answer = client.content.propertyCollector.RetrievePropertiesEx([spec], PC.RetrieveOptions())
    return next(o.obj for o in answer.objects if o.propSet[0].val == name)


@pytest.mark.parametrize("path", SITES, ids=lambda p: p.stem)
def test_everything_can_be_served_and_every_reference_resolves(path: Path) -> None:
    site = lab_site(seed_state(load_inventory_file(path)))
    assert check_serialisable(site.store, VERSIONS) == []


@pytest.mark.parametrize("path", SITES, ids=lambda p: p.stem)
def test_every_method_answer_can_be_served(path: Path) -> None:
    site = load_inventory_file(path)
    for version in VERSIONS:
        with LabServer(site, api_version=version) as server, connected(server) as service:
            assert service.content.about.instanceUuid == site.inventory.about.instance_uuid
            for host in site.inventory.hosts[:6]:
                ref = vim.HostSystem(host.moid, service._stub)
                browser = ref.parent.environmentBrowser
                if host.connection.value != "connected":
                    with pytest.raises(vmodl.fault.HostNotConnected):
                        browser.QueryConfigTarget(ref)
                    continue
                target = browser.QueryConfigTarget(ref)
                assert target.numCpus == host.thread_count
                assert browser.QueryTargetCapabilities(ref).vmotionSupported
                newest = f"vmx-{max(limit.version for limit in host.limits)}"
                assert newest in [option.key for option in browser.QueryConfigOptionDescriptor()]
                assert browser.QueryConfigOption(newest, ref).version == newest
            browser = vim.ComputeResource(ref.parent._moId, service._stub).environmentBrowser
            assert browser.QueryConfigTarget().numCpuCores >= target.numCpuCores


def test_tree_of_names(client: Any) -> None:
    search = client.content.searchIndex
    assert search.FindByInventoryPath("west/host/gpu%2fone/esx01") == ESX01
    assert search.FindByInventoryPath("west/vm/ml/100%25/all-kinds") == vim.VirtualMachine("vm-2001")
    assert search.FindByInventoryPath("east/host/lonely/lonely") == vim.HostSystem("host-1006")
    assert search.FindByInventoryPath("east/vm/alone") == vim.VirtualMachine("vm-2006")
    assert search.FindByInventoryPath("west/datastore/vsan") == vim.Datastore("datastore-11")
    assert type(found(client, vim.ComputeResource, "lonely")) is vim.ComputeResource


def test_host_state(client: Any) -> None:
    assert value(client, ESX03, "runtime.connectionState") == "notResponding"
    assert value(client, ESX03, "config") is None
    assert value(client, ESX03, "capability") is None
    assert value(client, ESX03, "hardware.memorySize") == 512 << 30
    esx04 = vim.HostSystem("host-1004")
    runtime = value(client, esx04, "runtime")
    assert (runtime.powerState, runtime.standbyMode) == ("standBy", "in")
    assert (runtime.inMaintenanceMode, runtime.inQuarantineMode) == (True, True)
    assert value(client, esx04, "summary.rebootRequired") is True
    assert value(client, ESX01, "config.product.version") == "8.0.3"
    assert value(client, ESX01, 'config.option["Numa.PreferHT"].value') == "1"
    assert value(client, ESX01, "config.hyperThread.active") is True
    groups = value(client, ESX01, "config.systemResources")
    reserved = {g.key: g.config.memoryAllocation.reservation for g in groups.child}
    assert groups.key == "host"
    assert reserved == {"host/system": 4096 + 5242, "host/user": 0}


def test_host_hardware(client: Any) -> None:
    hardware = value(client, ESX01, "hardware")
    assert (hardware.systemInfo.vendor, hardware.systemInfo.model) == ("Example", "gpu")
    cpu = hardware.cpuInfo
    assert (cpu.numCpuPackages, cpu.numCpuCores, cpu.numCpuThreads, cpu.hz) == (2, 32, 64, 3_000_000_000)
    assert [p.description for p in hardware.cpuPkg] == ["AMD EPYC 9174F 16-Core Processor"] * 2
    assert [p.vendor for p in hardware.cpuPkg] == ["amd", "amd"]
    nodes = hardware.numaInfo.numaNode
    assert [n.typeId for n in nodes] == [0, 1, 2, 3]
    assert [n.memorySize for n in nodes] == [128 << 30] * 4
    assert [n.pciId for n in nodes[1:]] == [["0000:41:00.0"], ["0000:81:00.0"], ["0000:ca:00.0"]]
    # Each node's threads are on one socket.
    sockets = {t: p.index for p in hardware.cpuPkg for t in p.threadId}
    assert [{sockets[t] for t in n.cpuID} for n in nodes] == [{0}, {0}, {1}, {1}]


def test_numbers_that_need_a_sign(client: Any) -> None:
    devices = {d.id: d for d in value(client, ESX01, "hardware.pciDevice")}
    a30 = devices["0000:ca:00.0"]
    assert (a30.bus, a30.slot, a30.function) == (0xCA - 0x100, 0, 0)
    assert (a30.vendorId, a30.deviceId) == (0x10DE, 0x20B7)
    assert a30.physicalSlot == 4
    intel = devices["0000:41:00.0"]
    assert (intel.vendorId, intel.deviceId, intel.classId) == (0x8086 - 0x10000, 0x37C8, 0x0B40)
    assert devices["0000:06:00.0"].parentBridge == "0000:05:00.0"
    assert devices["0000:00:1c.0"].parentBridge is None


def test_node_over_two_sockets_and_node_without_cpus(client: Any) -> None:
    hardware = value(client, ESX05, "hardware")
    both, bare = hardware.numaInfo.numaNode
    sockets = {t: p.index for p in hardware.cpuPkg for t in p.threadId}
    assert {sockets[t] for t in both.cpuID} == {0, 1}
    assert (bare.cpuID, bare.memorySize) == ([], 0)
    assert [n.pciId for n in (both, bare)] == [[], []]


def test_passthrough_states(client: Any) -> None:
    infos = {i.id: i for i in value(client, ESX01, "config.pciPassthruInfo")}
    gpu, nic, bridge = infos["0000:06:00.0"], infos["0000:08:00.0"], infos["0000:05:00.0"]
    assert (gpu.passthruCapable, gpu.passthruEnabled, gpu.passthruActive) == (True, True, True)
    assert (gpu.hardwareLabel, gpu.dependentDevice) == ("gpu-n0", "0000:06:00.0")
    assert (bridge.passthruCapable, bridge.dependentDevice) == (False, "")
    assert isinstance(nic, vim.host.SriovInfo)
    assert (nic.sriovActive, nic.numVirtualFunction, nic.maxVirtualFunctionSupported) == (True, 4, 64)
    waiting = infos["0000:81:00.0"]
    assert (waiting.passthruEnabled, waiting.passthruActive) == (True, False)
    system = value(client, ESX01, "configManager").pciPassthruSystem
    assert len(bind(client, system).pciPassthruInfo) == len(infos)


def test_nics_and_rdma(client: Any) -> None:
    network = value(client, ESX01, "config.network")
    nics = {n.pci: n for n in network.pnic}
    fast, down = nics["0000:08:00.0"], nics["0000:81:00.0"]
    assert fast.linkSpeed.speedMb == 400_000
    assert down.linkSpeed is None
    assert [d.backing.pairedUplink for d in network.rdmaDevice] == [fast.key]


def test_cards_in_use(client: Any) -> None:
    bound = value(client, ESX01, "config.assignableHardwareBinding")
    assert {b.vm._moId for b in bound} == {"vm-2001"}
    manager = value(client, ESX01, "configManager").assignableHardwareManager
    assert [b.instanceId for b in bind(client, manager).binding] == [b.instanceId for b in bound]
    rows = bind(client, manager).RetrieveDynamicPassthroughInfo()
    assert {(r.vendorId, r.deviceId, r.customLabel) for r in rows} == {
        (0x10DE, 0x26B9, "gpu-n0"), (0x10DE, 0x20B7, "spare"), (0x8086, 0x37C8, None), (0x15B3, 0x101E, None),
    }  # fmt: skip


def test_static_candidates_carry_the_host_s_system_id(client: Any) -> None:
    browser = bind(client, ESX01).parent.environmentBrowser
    one = {e.pciDevice.id: e.systemId for e in browser.QueryConfigTarget(ESX01).pciPassthrough}
    two = {e.pciDevice.id: e.systemId for e in browser.QueryConfigTarget(ESX02).pciPassthrough}
    assert one["0000:ca:00.0"] == "9356a39b-7ed0-581e-b500-a5b7cf5e1286"
    assert set(one) == set(two)
    assert not set(one.values()) & set(two.values())
    whole = browser.QueryConfigTarget()
    assert len(whole.pciPassthrough) == 3 * len(one)  # one more is in maintenance; esx03 has no connection
    assert whole.numCpus == 3 * 64
    with pytest.raises(vmodl.fault.InvalidArgument):
        browser.QueryConfigTarget(ESX05)


def test_gaps_are_unreadable_again(client: Any) -> None:
    values, missing = read(
        client, ESX02, "config.graphicsInfo", "hardware.pciDevice", "hardware.memorySize", "config.product"
    )
    assert set(values) == {"hardware.memorySize", "config.product"}
    assert isinstance(missing["config.graphicsInfo"], vim.fault.NoPermission)
    assert missing["config.graphicsInfo"].msg == "not for this account"
    assert isinstance(missing["hardware.pciDevice"], vmodl.fault.SystemError)
    values, missing = read(client, ESX02, "hardware")  # holds what cannot be read
    assert (values, set(missing)) == ({}, {"hardware"})
    with pytest.raises(vmodl.fault.SystemError):
        _ = bind(client, ESX02).hardware


def test_cluster(client: Any) -> None:
    cluster = found(client, vim.ClusterComputeResource, "gpu%2fone")
    info = cluster.configurationEx
    assert (info.dasConfig.enabled, info.dasConfig.admissionControlEnabled) == (True, True)
    policy = info.dasConfig.admissionControlPolicy
    assert (policy.cpuFailoverResourcesPercent, policy.memoryFailoverResourcesPercent) == (25, 30)
    assert (info.drsConfig.enabled, info.drsConfig.defaultVmBehavior) == (True, "manual")
    assert [(c.key._moId, c.enabled) for c in info.drsVmConfig] == [("vm-2001", False)]
    assert info.dpmConfigInfo.enabled is True
    assert cluster.summary.currentEVCModeKey == "amd-zen4"
    pair, apart = info.rule
    assert isinstance(pair, vim.cluster.AffinityRuleSpec)
    assert (pair.enabled, pair.mandatory, [v._moId for v in pair.vm]) == (
        False,
        False,
        ["vm-2001", "vm-2002"],
    )
    groups = {g.name: g for g in info.group}
    assert [v._moId for v in groups[apart.vmGroupName].vm] == ["vm-2002"]
    assert [h._moId for h in groups[apart.antiAffineHostGroupName].host] == ["host-1002"]
    assert (apart.affineHostGroupName, apart.mandatory, apart.enabled) == (None, False, True)
    other = found(client, vim.ClusterComputeResource, "off").configurationEx
    assert other.drsConfig.enabled is False
    assert [h._moId for h in other.dasConfig.admissionControlPolicy.failoverHosts] == ["host-1005"]


def test_pools(client: Any) -> None:
    outer = found(client, vim.ResourcePool, "outer")
    allocation = outer.config.memoryAllocation
    assert (allocation.reservation, allocation.limit, allocation.expandableReservation) == (
        65536,
        262144,
        False,
    )
    assert outer.runtime.memory.unreservedForVm == 32435 << 20
    inner = outer.resourcePool[0]
    assert (inner.name, inner.parent, [v.name for v in inner.vm]) == ("inner", outer, ["all-kinds"])
    assert inner.config.memoryAllocation.limit == -1
    assert inner.owner == outer.parent.owner == outer.parent.parent
    assert found(client, vim.VirtualMachine, "alone").resourcePool.owner.name == "lonely"


def test_datastores_and_networks(client: Any) -> None:
    assert found(client, vim.Datastore, "nfs").summary.accessible is False
    vsan = found(client, vim.Datastore, "vsan")
    assert vsan.summary.accessible is True
    assert len(vsan.host) == 6
    assert "all-kinds" in [v.name for v in vsan.vm]
    assert len(found(client, vim.Network, "vm-net").host) == 6


def test_vm_configuration(client: Any) -> None:
    vm = found(client, vim.VirtualMachine, "all-kinds")
    config = vm.config
    hardware = config.hardware
    assert (hardware.numCPU, hardware.numCoresPerSocket, hardware.autoCoresPerSocket) == (8, 4, False)
    assert (hardware.memoryMB, hardware.simultaneousThreads) == (32768, 2)
    assert (config.memoryAllocation.reservation, config.memoryAllocation.limit) == (32768, 49152)
    assert (config.cpuAllocation.reservation, config.cpuAllocation.limit) == (4000, -1)
    assert config.memoryReservationLockedToMax is True
    assert config.initialOverhead.initialMemoryReservation == 333 << 20
    assert config.latencySensitivity.level == "high"
    assert config.cpuAffinity.affinitySet == [2, 3]
    numa = config.numaInfo
    assert (numa.coresPerNumaNode, numa.autoCoresPerNumaNode, numa.vnumaOnCpuHotaddExposed) == (
        4,
        False,
        True,
    )
    assert {o.key: o.value for o in config.extraConfig} == {"pciPassthru.use64bitMMIO": "TRUE"}
    assert (config.version, config.firmware, config.template) == ("vmx-21", "efi", False)
    assert vm.runtime.memoryOverhead == 333 << 20
    assert vm.summary.config.numEthernetCards == 3
    gold = found(client, vim.VirtualMachine, "gold")
    assert (gold.config.template, gold.resourcePool, gold.runtime.powerState) == (True, None, "poweredOff")
    assert found(client, vim.VirtualMachine, "alone").runtime.powerState == "suspended"
    assert found(client, vim.VirtualMachine, "plain").config.memoryHotAddEnabled is True


def test_vm_devices(client: Any) -> None:
    config = found(client, vim.VirtualMachine, "all-kinds").config
    devices = {d.key: d for d in config.hardware.device}
    static, dynamic, dvx, unknown = (devices[k] for k in (13000, 13001, 13002, 13003))
    assert (static.backing.id, static.backing.deviceId, static.backing.vendorId) == (
        "0000:ca:00.0",
        "20b7",
        0x10DE,
    )
    assert static.backing.systemId == "9356a39b-7ed0-581e-b500-a5b7cf5e1286"
    assert [d.numaNode for d in (static, dynamic, dvx)] == [0, -1, None]
    assert (dynamic.backing.customLabel, dynamic.deviceInfo.label) == ("gpu-n0", "PCI device 1")
    allowed = dynamic.backing.allowedDevice[0]
    assert (allowed.vendorId, allowed.deviceId, allowed.subVendorId) == (0x10DE, 0x26B9, None)
    assert dynamic.backing.assignedId
    assert dvx.backing.deviceClass == "ens"
    assert type(unknown.backing) is vim.vm.device.VirtualPCIPassthrough.PluginBackingInfo
    function, automatic, plain = (devices[k] for k in (4000, 4001, 4002))
    assert function.sriovBacking.physicalFunctionBacking.id == "0000:08:00.0"
    assert function.backing.network._moId == "network-7"
    assert automatic.sriovBacking.physicalFunctionBacking is None
    assert isinstance(plain, vim.vm.device.VirtualE1000e)
    units = [d.unitNumber for d in config.hardware.device if d.controllerKey == 100]
    assert len(units) == len(set(units))
    disk = next(d for d in config.hardware.device if isinstance(d, vim.vm.device.VirtualDisk))
    assert disk.backing.parent is not None


def test_vm_snapshots_and_owners(client: Any) -> None:
    vm = found(client, vim.VirtualMachine, "all-kinds")
    tree = vm.snapshot.rootSnapshotList[0]
    assert [tree.id, tree.childSnapshotList[0].id, tree.childSnapshotList[0].childSnapshotList] == [1, 2, []]
    assert vm.snapshot.currentSnapshot == tree.childSnapshotList[0].snapshot
    locked = found(client, vim.VirtualMachine, "locked")
    assert locked.config.managedBy.extensionKey == "com.example.backup"
    assert locked.disabledMethod == ["PowerOnVM_Task", "ReconfigVM_Task"]
    assert locked.runtime.question is not None
    assert (locked.runtime.faultToleranceState, locked.runtime.consolidationNeeded) == ("running", True)
    agent = found(client, vim.VirtualMachine, "agent")
    assert agent.config.managedBy.extensionKey == "com.vmware.vim.eam"
    unreadable = found(client, vim.VirtualMachine, "unreadable")
    assert (unreadable.config, unreadable.runtime.connectionState) == (None, "inaccessible")


def test_hardware_versions(client: Any) -> None:
    browser = bind(client, ESX01).parent.environmentBrowser
    descriptors = {d.key: d for d in browser.QueryConfigOptionDescriptor()}
    assert [k for k, d in descriptors.items() if d.defaultConfigOption] == ["vmx-21"]
    assert ESX03 not in descriptors["vmx-20"].host
    spec = vim.EnvironmentBrowser.ConfigOptionQuerySpec(key="vmx-20", host=ESX01, guestId=["otherGuest64"])
    option = browser.QueryConfigOptionEx(spec)
    hardware = option.hardwareOptions
    assert [g.id for g in option.guestOSDescriptor] == ["otherGuest64"]
    assert (hardware.numCPU[0], max(hardware.numCPU), hardware.numCoresPerSocket.max) == (1, 768, 256)
    assert hardware.memoryMB.max == 24560 * 1024
    controller, passthrough = hardware.virtualDeviceOption
    assert controller.numPCIPassthroughDevices.max == 64
    vgpu = [b for b in passthrough.backingOption if hasattr(b, "maxInstances")]
    assert [b.maxInstances for b in vgpu] == [8]
    assert browser.QueryConfigOptionEx().version == "vmx-21"
    assert browser.QueryConfigOption("vmx-99", ESX01) is None


def test_esxtop_tells_where_vms_are(client: Any) -> None:
    def rows(host: str) -> dict[str, dict[str, str]]:
        service = client.content.serviceManager.QueryServiceList("Esxtop", [f"vmware.host.{host}"])[0].service
        schema = {
            line.split("|")[1]: [c.split(",")[0] for c in line.strip("|").split("|")[1:]]
            for line in service.Execute(["CounterInfo"]).splitlines()
        }
        text = service.Execute(["FetchStats"])
        assert service.Execute(["FreeStats"]) == ""
        counts, values = text.split("==COUNTER-VALUE==\n")
        group_rows = [line.strip("|").split("|") for line in values.splitlines() if "|SchedGroup|" in line]
        assert f"|SchedGroup|{len(group_rows)}|" in counts
        whole = [line[1:-1].split("|") for line in values.splitlines() if line.startswith("|SchedGroup|")]
        return {r[5]: dict(zip(schema["SchedGroup"], r[1:], strict=True)) for r in whole}

    one = rows("esx01")
    assert set(one) == {"all-kinds", "locked", "agent"}
    measured = one["all-kinds"]
    assert (measured["HomeNodes"], measured["NumOfNUMANodes"], measured["LocalityPct"]) == ("10", "4", "73")
    assert measured["NumOfBalanceMigrations"] == "5"
    assert int(measured["LocalMemoryInKB"]) + int(measured["RemoteMemoryInKB"]) == 32 << 20
    assert one["locked"]["IsNUMAValid"] == "0"
    two = rows("esx02")
    assert (two["plain"]["HomeNodes"], two["plain"]["LocalityPct"]) == ("4", "100")
    assert "unreadable" not in two
    with pytest.raises(vmodl.fault.InvalidArgument):
        client.content.serviceManager.QueryServiceList("Esxtop")[0].service.Execute(["Reboot"])


def test_vgpu_profiles_and_device_groups(hgx: Any) -> None:
    host = vim.HostSystem("host-1001", hgx._stub)
    config = host.config
    graphics = config.graphicsInfo[0]
    assert (graphics.graphicsType, graphics.vgpuMode, graphics.memorySizeInKB) == (
        "sharedDirect", "sameSize", 80 << 20,
    )  # fmt: skip
    assert [v.name for v in graphics.vm] == ["finetune-1"]
    assert config.graphicsConfig.sharedPassthruAssignmentPolicy == "performance"
    assert config.sharedPassthruGpuTypes[0] == "nvidia_h100xm-4c"
    assert config.sharedGpuCapabilities[0].migrateSupported is True
    manager = host.configManager.graphicsManager
    profile = manager.RetrieveVgpuProfileInfo()[3]
    assert (profile.profileName, profile.fbSizeInGib, profile.profileSharing) == (
        "nvidia_h100xm-20c", 20, "timeSliced",
    )  # fmt: skip
    assert (profile.deviceVendorId & 0xFFFF, profile.deviceVendorId >> 16) == (0x10DE, 0x2330)
    assert [d.maxFbSizeInGib for d in manager.RetrieveVgpuDeviceInfo()] == [80]
    groups = host.configManager.assignableHardwareManager.RetrieveVendorDeviceGroupInfo()
    assert [g.deviceGroupName for g in groups] == [f"Nvidia:{n}@nvidia_h100xm-80c%NVLink" for n in (2, 4, 8)]
    parts = groups[0].componentDeviceInfo
    assert [p.device.deviceGroupInfo.sequenceId for p in parts] == [1, 2]
    assert {p.type for p in parts} == {"nvidiaVgpu"}
    assert parts[0].device.backing.vgpu == "nvidia_h100xm-80c"
    target = host.parent.environmentBrowser.QueryConfigTarget(host)
    assert len(target.vendorDeviceGroupInfo) == 3
    assert [t.vgpu for t in target.sharedGpuPassthroughTypes] == list(config.sharedPassthruGpuTypes)
    assert target.sriov[0].virtualFunction is False
    vm = found(hgx, vim.VirtualMachine, "finetune-1").config
    assert [(g.groupInstanceKey, g.deviceGroupName) for g in vm.deviceGroups.deviceGroup] == [
        (1, "Nvidia:2@nvidia_h100xm-80c%NVLink")
    ]
    members = [d for d in vm.hardware.device if d.deviceGroupInfo]
    assert [(d.backing.vgpu, d.deviceGroupInfo.sequenceId) for d in members] == [
        ("nvidia_h100xm-80c", 1), ("nvidia_h100xm-80c", 2),
    ]  # fmt: skip


def test_older_version_of_a_site(odd: Site) -> None:
    with LabServer(odd, api_version="7.0.3.0") as server, connected(server) as client:
        vm = found(client, vim.VirtualMachine, "all-kinds")
        config = vm.config
        assert (config.numaInfo, config.hardware.autoCoresPerSocket) == (None, None)
        device = next(d for d in config.hardware.device if d.key == 13000)
        assert device.numaNode is None
        assert value(client, ESX01, "hardware.pciDevice")[0].deviceClassName is None
        assert value(client, ESX01, "hardware.numaInfo.numaNode")[0].memoryRangeLength == 128 << 30
        with pytest.raises(vmodl.query.InvalidProperty):
            read(client, vm, "config.deviceGroups")


def test_two_servers_of_one_site_say_the_same(odd: Site) -> None:
    """The clock stands at the moment the inventory was taken, so recordings do not differ by time."""
    seen = [whole_vms(LabServer(odd, password="x", new_id=Numbers())) for _ in range(2)]
    assert seen[0] == seen[1]
    assert seen[0][0] == "2025-06-01T12:00:00+00:00"


class Numbers:
    def __init__(self) -> None:
        self.last = 0

    def __call__(self) -> str:
        self.last += 1
        return f"id{self.last}"


def whole_vms(server: LabServer) -> tuple[str, str]:
    with server, connected(server) as client:
        spec = view_filter(client, vim.VirtualMachine, ["config", "runtime", "summary"])
        pages = client.content.propertyCollector.RetrievePropertiesEx([spec], PC.RetrieveOptions())
        return client.CurrentTime().isoformat(), str(pages)


def test_shared_devices_are_sent_alike_and_edited_apart(odd: Site) -> None:
    store = lab_site(seed_state(odd)).store
    one, two = (store.read(ref, "hardware") for ref in (ESX01, vim.HostSystem("host-1004")))
    assert one.pciDevice[0] is two.pciDevice[0]
    from vplacer.lab.soap.wire import serialize

    version = "vim.version.v8_0_3_0"

    def device(ref: Any) -> str:
        return serialize.property_value(store.read(ref, "hardware").pciDevice[0], version)

    other = vim.HostSystem("host-1004")
    before = device(ESX01)
    assert device(other) == before
    with store.change(ESX01, "hardware") as hardware:
        hardware.pciDevice[0].deviceName = "renamed"
    assert "renamed" in device(ESX01)
    assert device(other) == before


def test_virtual_clock() -> None:
    clock = VirtualClock.at("2025-06-01T12:00:00Z")
    assert clock() == clock()
    assert clock.advance(90).isoformat() == "2025-06-01T12:01:30+00:00"
    with pytest.raises(ValueError, match="does not go back"):
        clock.advance(-1)
    from datetime import datetime

    with pytest.raises(ValueError, match="zone"):
        VirtualClock(datetime(2025, 1, 1))


def test_home_of_a_vm(odd: Site) -> None:
    state = seed_state(odd)
    homes = {vm.name: state.home(vm) for vm in odd.inventory.vms}
    measured, placed = homes["all-kinds"], homes["plain"]
    assert measured is not None
    assert placed is not None
    assert (measured.nodes, measured.locality_low, measured.locality_high) == ((1, 3), 73, 73)
    assert measured.migrations == 5
    assert placed.nodes == (2,)
    assert homes["locked"] is None
    assert homes["alone"] is None  # not running
