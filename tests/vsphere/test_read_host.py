"""HostSystem to the model: signs, spellings, unset against zero, subtypes, locality."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from pyVmomi import VmomiSupport, vim

from tests.vsphere.raw_data import obj, value
from vplacer.inventory.host import ConnectionState, GpuMode, Host, HostPower
from vplacer.inventory.pci import PciAddress, PciIds
from vplacer.vsphere import property_paths
from vplacer.vsphere.raw import Data, MoRef, Notes, RawObject
from vplacer.vsphere.read_host import read_host
from vplacer.vsphere.read_limits import read_limits, read_version
from vplacer.vsphere.read_offers import HostOffers, read_offers


def pci(address: str, **fields: Any) -> vim.host.PciDevice:
    given: dict[str, Any] = {
        "classId": 0x302,
        "bus": 0,
        "slot": 0,
        "function": 0,
        "vendorId": 0x10DE,
        "deviceId": 0x20B7,
        "subVendorId": 0x10DE,
        "subDeviceId": 0x1532,
        "vendorName": "NVIDIA Corporation",
        "deviceName": "A30",
    }
    return vim.host.PciDevice(id=address, **{**given, **fields})


def host_of(props: dict[str, object], offers: HostOffers | None = None) -> tuple[Host, tuple[str, ...]]:
    notes = Notes()
    raw = obj("HostSystem", "host-1", {"name": "esx1", "runtime.connectionState": "connected", **props})
    host = read_host(
        raw,
        datacenter="datacenter-1",
        cluster=None,
        offers=offers or HostOffers(),
        limits=(),
        tags=(),
        notes=notes,
    )
    return host, notes.sorted()


def devices(*items: object) -> dict[str, object]:
    return {"hardware.pciDevice": vim.host.PciDevice.Array(items)}


def test_nothing_said_is_nothing_known() -> None:
    host, notes = host_of({})
    assert host.connection is ConnectionState.CONNECTED
    assert host.power is HostPower.UNKNOWN
    assert host.memory_bytes is None
    assert host.in_maintenance is None
    assert host.capability.fpt_hotplug is None
    assert host.system_memory_mib is None
    assert host.numa_nodes == ()
    assert notes == ()


def test_signed_numbers_are_masked() -> None:
    # intel/intel-ipsec-mb #153: bus -123, vendorId -32634.
    device = pci("0000:85:03.0", bus=-123, vendorId=-32634, deviceId=0x6F08, classId=1540, subDeviceId=-1)
    host, _ = host_of(devices(device))
    (read,) = host.pci_devices
    assert read.address == PciAddress(0, 0x85, 3, 0)
    assert read.ids == PciIds(0x8086, 0x6F08, 0x10DE, 0xFFFF)
    assert read.class_id == 1540


def test_address_comes_from_the_id_with_its_whole_segment() -> None:
    host, notes = host_of(
        devices(
            pci("10001:80:05.0"), pci("0001:00:00.0"), pci("7f:1e.3"), pci("nonsense"), pci("0001:00:00.0")
        )
    )
    assert [str(device.address) for device in host.pci_devices] == [
        "0000:7f:1e.3",
        "0001:00:00.0",
        "10001:80:05.0",
    ]
    assert notes == (
        "esx1 hardware.pciDevice: 'nonsense' is not a PCI address and was left out",
        "esx1: PCI address 0001:00:00.0 is listed twice; the first was taken",
    )


def test_unset_slot_and_bridge() -> None:
    plain = pci("0000:01:00.0", parentBridge="", slotDescription="")
    told = pci("0000:02:00.0", parentBridge="0000:00:01.0", physicalSlot=0, slotDescription="Slot 0")
    unknown = pci("0000:03:00.0", physicalSlot=-1)
    host, _ = host_of(devices(plain, told, unknown))
    assert [d.parent_bridge for d in host.pci_devices] == [None, PciAddress(0, 0, 1, 0), None]
    assert [d.physical_slot for d in host.pci_devices] == [None, 0, None]
    assert host.pci_devices[0].slot_description is None


def test_passthrough_states_and_subtype() -> None:
    info = vim.host.PciPassthruInfo
    sriov = vim.host.SriovInfo(
        id="0000:03:00.0",
        dependentDevice="0000:03:00.0",
        passthruEnabled=False,
        passthruCapable=True,
        passthruActive=False,
        sriovEnabled=True,
        sriovCapable=True,
        sriovActive=True,
        numVirtualFunctionRequested=8,
        numVirtualFunction=8,
        maxVirtualFunctionSupported=16,
    )
    states = [
        info(
            id="0000:01:00.0",
            dependentDevice="0000:00:01.0",
            passthruEnabled=True,
            passthruCapable=True,
            passthruActive=False,
            hardwareLabel="gpu-n0",
        ),
        info(
            id="0000:02:00.0",
            dependentDevice="",
            passthruEnabled=False,
            passthruCapable=False,
            passthruActive=False,
            hardwareLabel="",
        ),
        sriov,
    ]
    host, _ = host_of(
        {
            **devices(*(pci(f"0000:0{number}:00.0") for number in (1, 2, 3, 4))),
            "config.pciPassthruInfo": vim.host.PciPassthruInfo.Array(states),
        },
        HostOffers(system_ids={PciAddress(0, 1, 0, 0): "sys-1"}),
    )
    first, second, third, fourth = host.pci_devices
    assert first.passthrough is not None
    assert (first.passthrough.enabled, first.passthrough.active) == (True, False)
    assert first.passthrough.label == "gpu-n0"
    assert first.passthrough.dependent == PciAddress(0, 0, 1, 0)
    assert first.system_id == "sys-1"
    assert second.passthrough is not None
    assert (second.passthrough.label, second.passthrough.dependent, second.system_id) == (None, None, None)
    assert second.sriov is None
    assert third.sriov is not None
    assert (third.sriov.vf_present, third.sriov.vf_max) == (8, 16)
    assert fourth.passthrough is None


@pytest.mark.parametrize(
    ("mode", "memory", "want_mode", "want_memory", "noted"),
    [
        (None, 0, GpuMode.NONE, None, False),
        ("multiInstanceGpu", 80 * 1024 * 1024, GpuMode.MIG, 80 * 1024 * 1024, False),
        ("aFutureMode", 1, GpuMode.NONE, 1, True),
    ],
)
def test_graphics(
    mode: str | None, memory: int, want_mode: GpuMode, want_memory: int | None, noted: bool
) -> None:
    info = vim.host.GraphicsInfo(
        deviceName="A30",
        vendorName="NVIDIA",
        pciId="0000:01:00.0",
        graphicsType="sharedDirect",
        vgpuMode=mode,
        memorySizeInKB=memory,
        vm=[vim.VirtualMachine("vm-10", None), vim.VirtualMachine("vm-9", None)],
    )
    host, notes = host_of(
        {**devices(pci("0000:01:00.0")), "config.graphicsInfo": vim.host.GraphicsInfo.Array([info])}
    )
    graphics = host.pci_devices[0].graphics
    assert graphics is not None
    assert (graphics.mode, graphics.memory_kib, graphics.vms) == (want_mode, want_memory, ("vm-9", "vm-10"))
    assert bool(notes) == noted


NO_CPUS = [-1]


def node(number: int, threads: list[int], **fields: Any) -> vim.host.NumaNode:
    given: dict[str, Any] = {"memoryRangeBegin": 0, "memoryRangeLength": 0, **fields}
    return vim.host.NumaNode(typeId=number, cpuID=threads, **given)


def numa(*nodes: object, packages: list[list[int]], cores: int) -> dict[str, object]:
    threads = sum(len(package) for package in packages)
    info = value(vim.host.NumaInfo(type="NUMA", numNodes=len(nodes), numaNode=list(nodes)))
    for item in info.items("numaNode"):
        # pyVmomi cannot write a node without CPUs; a server leaves the list out.
        if item.numbers("cpuID") == NO_CPUS:
            del item.fields["cpuID"]
    return {
        "hardware.numaInfo": info,
        "hardware.cpuPkg": vim.host.CpuPackage.Array(
            [
                vim.host.CpuPackage(
                    index=i, vendor="intel", hz=1, busHz=1, description=" Xeon   Gold ", threadId=t
                )
                for i, t in enumerate(packages)
            ]
        ),
        "hardware.cpuInfo": vim.host.CpuInfo(
            numCpuPackages=len(packages), numCpuCores=cores, numCpuThreads=threads, hz=2_000_000_000
        ),
    }


def test_sub_numa_nodes_belong_to_packages_by_thread() -> None:
    host, _ = host_of(
        numa(
            node(1, [3, 2], memorySize=5, pciId=["0000:02:00.0", "0000:01:00.0"]),
            node(0, [1, 0], memorySize=0, memoryRangeLength=7),
            node(-1, [4, 5, 6, 7]),
            packages=[[0, 1, 2, 3], [4, 5, 6, 7]],
            cores=4,
        )
    )
    first, second, last = host.numa_nodes
    assert (first.id, first.package, first.core_count, first.thread_ids) == (0, 0, 1, (0, 1))
    assert first.memory_bytes == 7  # 7.x: only the range's length
    assert (second.id, second.package, second.memory_bytes) == (1, 0, 5)
    assert second.devices == (PciAddress(0, 1, 0, 0), PciAddress(0, 2, 0, 0))
    assert (last.id, last.package, last.core_count, last.memory_bytes) == (255, 1, 2, None)
    assert host.cpu_model == "Xeon Gold"


def test_node_over_two_packages_and_node_without_cpus() -> None:
    host, _ = host_of(
        numa(node(0, [0, 1], memorySize=9), node(1, NO_CPUS, memorySize=0), packages=[[0], [1]], cores=2)
    )
    whole, bare = host.numa_nodes
    assert whole.package is None
    assert (bare.core_count, bare.package, bare.thread_ids, bare.memory_bytes) == (0, None, (), 0)


def reserved(key: str, reservation: int, *children: object) -> vim.host.SystemResourceInfo:
    allocation = vim.ResourceAllocationInfo(
        reservation=reservation, limit=-1, shares=vim.SharesInfo(level="normal", shares=1)
    )
    config = vim.ResourceConfigSpec(cpuAllocation=allocation, memoryAllocation=allocation)
    return vim.host.SystemResourceInfo(key=key, config=config, child=list(children))


def test_memory_the_host_keeps() -> None:
    tree = reserved(
        "host",
        16000,
        reserved("host/system", 2660, reserved("host/system/a", 17)),
        reserved("host/vim", 0, reserved("host/vim/hostd", 499), reserved("host/vim/other", 1)),
        reserved("host/user", 8000, reserved("host/user/vm", 8000)),
    )
    assert host_of({"config.systemResources": tree})[0].system_memory_mib == 2660 + 500
    assert host_of({"config.systemResources": reserved("host/system", 42)})[0].system_memory_mib == 42


def test_nics() -> None:
    key = "key-vim.host.PhysicalNic-vmnic1"
    speed = vim.host.PhysicalNic.LinkSpeedDuplex(speedMb=100_000, duplex=True)
    common: dict[str, Any] = {
        "spec": vim.host.PhysicalNic.Specification(),
        "wakeOnLanSupported": False,
        "mac": "00:50:56:00:00:01",
    }
    nics = [
        vim.host.PhysicalNic(key="k0", device="vmnic0", pci="0000:01:00.0", **common),
        vim.host.PhysicalNic(key=key, device="vmnic1", pci="0000:02:00.0", linkSpeed=speed, **common),
    ]
    rdma = vim.host.RdmaDevice(
        key="r",
        device="vmrdma0",
        backing=vim.host.RdmaDevice.PnicBacking(pairedUplink=key),
        connectionInfo=vim.host.RdmaDevice.ConnectionInfo(state="active", mtu=1, speedInMbps=1),
        capability=vim.host.RdmaDevice.Capability(roceV1Capable=True, roceV2Capable=True, iWarpCapable=False),
    )
    props: dict[str, object] = {
        "config.network.pnic": vim.host.PhysicalNic.Array(nics),
        "config.network.rdmaDevice": vim.host.RdmaDevice.Array([rdma]),
    }

    def product(version: str) -> dict[str, object]:
        about = vim.AboutInfo(
            name="n", fullName="f", vendor="v", version=version, build="1", osType="o", productLineId="p"
        )
        about.apiType, about.apiVersion = "HostAgent", f"{version}.0"
        return {"config.product": about}

    host, _ = host_of({**props, **product("8.0.3")})
    assert [(nic.link_mbps, nic.rdma) for nic in host.pnics] == [(None, False), (100_000, True)]
    assert host.pnics[1].address == PciAddress(0, 2, 0, 0)
    old, _ = host_of({**props, **product("6.7.0")})
    assert [nic.rdma for nic in old.pnics] == [None, None]


def test_bindings_before_and_since_9_1() -> None:
    binding = vim.host.AssignableHardwareBinding
    vm = vim.VirtualMachine("vm-7", None)
    host, _ = host_of(
        {
            "config.assignableHardwareBinding": binding.Array(
                [
                    binding(instanceId="b", vm=vm, pciId="0000:65:00.0", deviceKey=13001),
                    binding(instanceId="a", vm=vm),
                ]
            )
        }
    )
    assert [(b.instance_id, b.address, b.device_key) for b in host.bindings] == [
        ("a", None, None),
        ("b", PciAddress(0, 0x65, 0, 0), 13001),
    ]


def test_options_and_unknown_states() -> None:
    option = vim.option.OptionValue(key="Numa.PreferHT", value=1)
    host, notes = host_of(
        {
            'config.option["Numa.PreferHT"]': option,
            "runtime.powerState": "hibernating",
        }
    )
    assert host.options == (("Numa.PreferHT", "1"),)
    assert host.power is HostPower.UNKNOWN
    assert notes == ("esx1: state 'hibernating' is not known and counts as unknown",)


def template(kind: str, device: object, **fields: Any) -> object:
    component = vim.vm.VendorDeviceGroupInfo.ComponentDeviceInfo
    return component(
        type=kind, vendorName="NVIDIA", deviceName="d", isConfigurable=False, device=device, **fields
    )


def test_offers() -> None:
    passthrough = vim.vm.device.VirtualPCIPassthrough
    place = vim.vm.device.VirtualDevice.DeviceGroupInfo(groupInstanceKey=0, sequenceId=1)
    group = vim.vm.VendorDeviceGroupInfo(
        name="n",
        deviceGroupName="Nvidia:2@grid_a30-24c%NVLink",
        deviceGroupDescription="pair",
        componentDeviceInfo=[
            template(
                "nvidiaVgpu",
                passthrough(
                    key=1, backing=passthrough.VmiopBackingInfo(vgpu="grid_a30-24c"), deviceGroupInfo=place
                ),
            ),
            template(
                "pciPassthru",
                passthrough(
                    key=2,
                    backing=passthrough.DynamicBackingInfo(
                        deviceName="",
                        allowedDevice=[passthrough.AllowedDevice(vendorId=0x15B3, deviceId=0xA2DC)],
                    ),
                ),
            ),
        ],
    )
    target = vim.vm.ConfigTarget(
        numCpus=1,
        numCpuCores=1,
        numNumaNodes=1,
        pciPassthrough=[vim.vm.PciPassthroughInfo(name="n", pciDevice=pci("0000:01:00.0"), systemId="sys-1")],
        vgpuProfileInfo=[
            vim.vm.VgpuProfileInfo(
                profileName="grid_a30-24c",
                deviceVendorId=0x20B7 << 16 | 0x10DE,
                fbSizeInGib=24,
                profileSharing="timeSliced",
                profileClass="compute",
            ),
            vim.vm.VgpuProfileInfo(
                profileName="grid_a30-1-6c",
                deviceVendorId=-1,
                fbSizeInGib=6,
                profileSharing="mig",
                profileClass="compute",
            ),
        ],
        vendorDeviceGroupInfo=[group],
    )
    migratable = Data("HostSharedGpuCapabilities", (), {"vgpu": "grid_a30-24c", "migrateSupported": True})
    props = Data("HostSystem", (), {"config.sharedGpuCapabilities": [migratable]})
    offers = read_offers(value(target), props, "esx1", Notes())
    assert offers.system_ids == {PciAddress(0, 1, 0, 0): "sys-1"}
    first, second = offers.profiles
    assert (first.vendor, first.device, first.framebuffer_gib, first.migratable) == (0x10DE, 0x20B7, 24, True)
    assert (second.vendor, second.device, second.sharing, second.migratable) == (0xFFFF, 0xFFFF, "mig", None)
    (made,) = offers.groups
    assert made.name == "Nvidia:2@grid_a30-24c%NVLink"
    vgpu, nic = made.components
    assert (vgpu.kind, vgpu.profile, vgpu.sequence_id) == ("nvidiaVgpu", "grid_a30-24c", 1)
    assert (nic.allowed, nic.sequence_id, nic.profile) == ((PciIds(0x15B3, 0xA2DC),), None, None)


def test_answer_for_several_hosts_tells_only_what_the_host_says_itself() -> None:
    def row(address: str, system_id: str) -> vim.vm.PciPassthroughInfo:
        return vim.vm.PciPassthroughInfo(name="n", pciDevice=pci(address), systemId=system_id)

    def profile(name: str) -> vim.vm.VgpuProfileInfo:
        return vim.vm.VgpuProfileInfo(
            profileName=name,
            deviceVendorId=0x20B7 << 16 | 0x10DE,
            fbSizeInGib=24,
            profileSharing="timeSliced",
            profileClass="compute",
        )

    group = vim.vm.VendorDeviceGroupInfo(deviceGroupName="Nvidia:2@grid_a30-24c%NVLink")
    target = vim.vm.ConfigTarget(
        numCpus=1,
        numCpuCores=1,
        numNumaNodes=1,
        # Equal hosts have equal addresses: the second row tells that two answered.
        pciPassthrough=[row("0000:01:00.0", "sys-1"), row("0000:01:00.0", "sys-2")],
        vgpuProfileInfo=[profile("grid_a30-24c"), profile("grid_t4-4c")],
        vendorDeviceGroupInfo=[group],
    )
    notes = Notes()
    props = Data("HostSystem", (), {"config.sharedPassthruGpuTypes": ["grid_a30-24c"]})
    offers = read_offers(value(target), props, "esx1", notes)
    assert (offers.system_ids, offers.groups, offers.groups_of_others) == ({}, (), True)
    assert [item.name for item in offers.profiles] == ["grid_a30-24c"]
    assert any("several hosts" in note for note in notes.sorted())
    target.pciPassthrough = target.pciPassthrough[:1]
    told = read_offers(value(target), props, "esx1", Notes())
    assert (len(told.system_ids), len(told.profiles), len(told.groups)) == (1, 2, 1)
    asked_for_all = read_offers(value(target), props, "esx1", Notes(), shared=True)
    assert asked_for_all == offers


def option(maximum: int) -> vim.option.IntOption:
    return vim.option.IntOption(valueIsReadonly=False, min=0, max=maximum, defaultValue=1)


def test_limits_from_the_descriptor_and_the_table() -> None:
    kind = "VirtualPCIPassthroughVmiopBackingOption"
    vgpu = Data(kind, (kind,), {"maxInstances": 8})
    hardware = Data(
        "VirtualHardwareOption",
        ("VirtualHardwareOption",),
        {
            "numCPU": [1, 2, 96],
            "numCoresPerSocket": value(option(96)),
            "memoryMB": Data("LongOption", (), {"max": 6_291_456}),
            "numNumaNodes": value(option(8)),
            "numDeviceGroups": value(option(2)),
            "virtualDeviceOption": [Data("VirtualPCIPassthroughOption", (), {"backingOption": [vgpu]})],
        },
    )
    limits = read_limits(Data("VirtualMachineConfigOption", (), {"hardwareOptions": hardware}), 20, "8.0.0")
    assert limits is not None
    assert (limits.source, limits.max_cpus, limits.max_memory_mib) == ("descriptor", 96, 6_291_456)
    assert (limits.max_cores_per_socket, limits.max_vgpus) == (96, 8)
    assert (limits.max_numa_nodes, limits.max_device_groups) == (8, 2)
    assert limits.max_passthrough == 32  # this descriptor has it not: ESXi 8.0's table
    assert read_limits(Data("VirtualMachineConfigOption", (), {}), 20, "8.0.0") is None


def test_limits_of_another_version_are_no_answer() -> None:
    hardware = Data("VirtualHardwareOption", (), {"numCPU": [1, 2, 96]})
    answer = Data("VirtualMachineConfigOption", (), {"version": "vmx-21", "hardwareOptions": hardware})
    assert read_limits(answer, 20, "8.0.3") is None
    assert read_limits(answer, 21, "8.0.3") is not None


@pytest.mark.parametrize(("told", "read"), [(64, 64), (0, 32)])
def test_passthrough_limit_of_the_descriptor(told: int, read: int) -> None:
    kind = "VirtualPCIControllerOption"
    controller = Data(kind, (kind,), {"numPCIPassthroughDevices": value(option(told))})
    fields = {"numCPU": [1, 96], "memoryMB": value(option(0)), "virtualDeviceOption": [controller]}
    hardware = Data("VirtualHardwareOption", (), fields)
    limits = read_limits(Data("VirtualMachineConfigOption", (), {"hardwareOptions": hardware}), 20, "8.0.0")
    assert limits is not None
    assert limits.max_passthrough == read
    assert limits.max_memory_mib is not None  # 0 MiB is no limit: the table's
    assert limits.max_memory_mib > 0


@pytest.mark.parametrize(
    ("key", "want"), [("vmx-20", 20), ("vmx-09", 9), ("vmx-", None), ("20", None), (None, None)]
)
def test_hardware_version(key: str | None, want: int | None) -> None:
    assert read_version(key) == want


def from_json(thing: Any) -> Any:
    """Return an object written by pyVmomi's JSON encoder as raw values."""
    if isinstance(thing, list):
        return [from_json(item) for item in thing]
    if isinstance(thing, str) and thing.startswith(("vim.", "'vim.")):
        kind, _, moid = thing.strip("'").partition(":")
        return MoRef(VmomiSupport.GetVmodlType(kind)._wsdlName, moid) if moid else thing
    if not isinstance(thing, dict):
        return thing
    kind = VmomiSupport.GetVmodlType(thing["_vimtype"])
    kinds = tuple(base._wsdlName for base in kind.__mro__ if getattr(base, "_wsdlName", None))
    fields = {name: from_json(item) for name, item in thing.items() if item is not None and name[0] != "_"}
    return Data(kind._wsdlName, kinds, fields)


def test_host_dumped_by_pyvmomi(test_data: Path) -> None:
    """A nested ESXi 8.0.3: vmware/pyvmomi's own test file."""
    dump = json.loads((test_data / "vcenter-dumps/pyvmomi_test_json_host_explode.json").read_text())
    whole = from_json({name: item for name, item in dump.items() if name not in ("parent", "vm")})
    props: dict[str, Any] = {}
    for path in property_paths.host_paths():
        found: Any = whole
        for step in path.split("["):
            found = step_into(found, step)
        if found is not None:
            props[path] = found
    notes = Notes()
    raw = RawObject(MoRef("HostSystem", "host-14"), Data("HostSystem", ("HostSystem",), props))
    host = read_host(raw, datacenter=None, cluster=None, offers=HostOffers(), limits=(), tags=(), notes=notes)
    assert notes.sorted() == ()
    assert (host.version, host.api_version, host.connection) == (
        "8.0.3",
        "8.0.2.0",
        ConnectionState.CONNECTED,
    )
    assert len(host.pci_devices) == 48
    assert sum(device.class_id == 0x0604 for device in host.pci_devices) == 34
    assert {device.ids.vendor for device in host.pci_devices} == {0x8086, 0x15AD}
    assert host.numa_nodes[0].devices == ()
    assert host.node_of(host.pci_devices[0].address) is None
    assert (host.package_count, len(host.numa_nodes), host.numa_nodes[0].package) == (8, 1, None)
    assert host.system_memory_mib == 2660 + 2195 + 23
    assert dict(host.options)["Numa.LocalityWeightActionAffinity"] == "130"
    assert [nic.rdma for nic in host.pnics] == [False] * len(host.pnics)
    assert host.capability.assign_label is True
    assert (host.cpu_features, host.cpu_features_visible) == (("cpuid.avx512vnni",), ("cpuid.avx512vnni",))


def step_into(found: Any, step: str) -> Any:
    if step.endswith("]"):
        key = step.strip('"]')
        return next((item for item in found or [] if item.text("key") == key), None)
    for name in step.split("."):
        found = found.get(name) if isinstance(found, Data) else None
    return found
