"""VirtualMachine to the model: every backing, three meanings of numaNode, owners, clones, kept keys."""

from __future__ import annotations

from typing import Any

import pytest
from pyVmomi import vim

from tests.vsphere.raw_data import obj, value
from vplacer.inventory.host import ConnectionState
from vplacer.inventory.pci import PciAddress
from vplacer.inventory.vm import (
    AllowedDevice,
    DvxBacking,
    DynamicBacking,
    NetworkBacking,
    SriovBacking,
    StaticBacking,
    UnknownBacking,
    VgpuBacking,
    Vm,
    VmPower,
)
from vplacer.vsphere.raw import Data, Notes
from vplacer.vsphere.read_names import shown_name
from vplacer.vsphere.read_vm import read_vm
from vplacer.vsphere.read_vm_devices import read_vm_devices

DEV = vim.vm.device
PCI = DEV.VirtualPCIPassthrough


def vm_of(props: dict[str, object]) -> tuple[Vm, tuple[str, ...]]:
    notes = Notes()
    given = {
        "name": "vm1",
        "runtime.powerState": "poweredOn",
        "runtime.connectionState": "connected",
        "config.hardware.numCPU": 16,
        "config.hardware.memoryMB": 1024,
        **props,
    }
    vm = read_vm(
        obj("VirtualMachine", "vm-1", given),
        datacenter="datacenter-1",
        folder="vm",
        tags=("a:b",),
        notes=notes,
    )
    return vm, notes.sorted()


def read(*devices: object) -> tuple[list[Any], tuple[str, ...]]:
    notes = Notes()
    found = read_vm_devices([value(device) for device in devices], "vm1", notes)
    return list(found), notes.sorted()


def test_every_passthrough_backing() -> None:
    static = PCI.DeviceBackingInfo(
        id="0000:65:00.0", deviceId="1e04", systemId="sys", vendorId=-32634, deviceName="QAT"
    )
    dynamic = PCI.DynamicBackingInfo(
        deviceName="",
        customLabel="gpu-n0",
        assignedId="",
        allowedDevice=[
            PCI.AllowedDevice(vendorId=0x10DE, deviceId=0x20B7),
            PCI.AllowedDevice(vendorId=0x10DE, deviceId=0x20B7, subVendorId=0x10DE, subDeviceId=0),
        ],
    )
    dvx = PCI.DvxBackingInfo(deviceClass="cls", configParams=[vim.option.OptionValue(key="k", value="v")])
    devices, notes = read(
        PCI(key=13003, backing=dvx),
        PCI(key=13000, backing=static),
        PCI(key=13001, backing=dynamic),
        PCI(key=13002, backing=PCI.VmiopBackingInfo(vgpu="grid_a30-6c", migrateSupported=True)),
    )
    assert [device.key for device in devices] == [13000, 13001, 13002, 13003]
    assert [device.backing for device in devices] == [
        StaticBacking(PciAddress(0, 0x65, 0, 0), "1e04", 0x8086, "sys", "QAT"),
        DynamicBacking(
            (AllowedDevice(0x10DE, 0x20B7), AllowedDevice(0x10DE, 0x20B7, 0x10DE, 0)), "gpu-n0", None
        ),
        VgpuBacking("grid_a30-6c", True),
        DvxBacking("cls", (("k", "v"),)),
    ]
    assert notes == ()


def test_nics() -> None:
    port = vim.dvs.PortConnection(switchUuid="u", portgroupKey="dvportgroup-12")
    network = DEV.VirtualEthernetCard.NetworkBackingInfo(
        deviceName="n", network=vim.Network("network-3", None)
    )
    distributed = DEV.VirtualEthernetCard.DistributedVirtualPortBackingInfo(port=port)
    opaque = DEV.VirtualEthernetCard.OpaqueNetworkBackingInfo(opaqueNetworkId="x", opaqueNetworkType="nsx")
    sriov = DEV.VirtualSriovEthernetCard
    function = PCI.DeviceBackingInfo

    def backing(name: str) -> PCI.DeviceBackingInfo:
        return function(id=name, deviceId="0", systemId="s", vendorId=0, deviceName="")

    devices, notes = read(
        DEV.VirtualVmxnet3(key=4000, backing=network),
        DEV.VirtualE1000e(key=4001, backing=distributed),
        DEV.VirtualPCNet32(key=4002, backing=opaque),
        sriov(
            key=4003,
            backing=distributed,
            sriovBacking=sriov.SriovBackingInfo(
                physicalFunctionBacking=backing("0000:3b:00.0"),
                virtualFunctionBacking=backing("0000:3b:02.1"),
            ),
        ),
        sriov(
            key=4004,
            backing=network,
            sriovBacking=sriov.SriovBackingInfo(physicalFunctionBacking=backing("Automatic-0000:00:00.0")),
        ),
        sriov(key=4005),
        sriov(key=4006, dvxBackingInfo=PCI.DvxBackingInfo(deviceClass="cls")),
    )
    assert [device.backing for device in devices] == [
        NetworkBacking("vmxnet3", "network-3"),
        NetworkBacking("e1000e", "dvportgroup-12"),
        NetworkBacking("pcnet32", None),
        SriovBacking(PciAddress(0, 0x3B, 0, 0), PciAddress(0, 0x3B, 2, 1), "dvportgroup-12"),
        SriovBacking(None, None, "network-3"),
        SriovBacking(None, None, None),
        DvxBacking("cls"),
    ]
    assert notes == ()


def test_three_meanings_of_numa_node_and_groups() -> None:
    group = DEV.VirtualDevice.DeviceGroupInfo(groupInstanceKey=0, sequenceId=2)
    vgpu = PCI.VmiopBackingInfo(vgpu="g")
    devices, _ = read(
        PCI(key=1, backing=vgpu),
        PCI(key=2, backing=vgpu, numaNode=-1),
        PCI(key=3, backing=vgpu, numaNode=0, deviceGroupInfo=group),
    )
    assert [device.numa_node for device in devices] == [None, -1, 0]
    assert (devices[2].group_key, devices[2].group_sequence) == (0, 2)
    assert (devices[0].group_key, devices[0].label) == (None, "")


def test_unknown_devices_are_kept_by_name_and_told() -> None:
    future = Data("VirtualFutureAccelerator", ("VirtualFutureAccelerator", "VirtualDevice"), {"key": 9})
    backing = Data("VirtualPCIPassthroughFutureBackingInfo", ("VirtualDeviceBackingInfo",), {})
    passthrough = Data(
        "VirtualPCIPassthrough", ("VirtualPCIPassthrough", "VirtualDevice"), {"key": 8, "backing": backing}
    )
    bad = PCI.DeviceBackingInfo(id="?", deviceId="", systemId="", vendorId=0, deviceName="")
    devices, notes = read(future, passthrough, PCI(key=7, backing=bad), PCI(key=6))
    assert [device.backing for device in devices] == [
        UnknownBacking("VirtualPCIPassthrough without backing"),
        UnknownBacking("VirtualPCIPassthroughDeviceBackingInfo"),
        UnknownBacking("VirtualPCIPassthroughFutureBackingInfo"),
        UnknownBacking("VirtualFutureAccelerator"),
    ]
    assert "vm1 passthrough backing: '?' is not a PCI address and was left out" in notes
    assert "vm1: a device of type VirtualFutureAccelerator is not known; it is kept as it is" in notes


def test_ordinary_hardware_is_left_out() -> None:
    ordinary = [
        DEV.VirtualIDEController(key=200, busNumber=0),
        DEV.ParaVirtualSCSIController(key=1000, busNumber=0, sharedBus="noSharing"),
        DEV.VirtualDisk(key=2000, capacityInKB=1),
        DEV.VirtualCdrom(key=3000),
        DEV.VirtualVideoCard(key=500),
        DEV.VirtualKeyboard(key=600),
        vim.vm.device.VirtualVMCIDevice(key=12000),
        DEV.VirtualTPM(key=11000),
        DEV.VirtualHdAudioCard(key=5000),
        DEV.VirtualUSBXHCIController(key=14000, busNumber=0),
    ]
    assert read(*ordinary) == ([], ())


def disk(*files: str) -> object:
    backing = None
    for name in reversed(files):
        backing = DEV.VirtualDisk.FlatVer2BackingInfo(fileName=name, diskMode="persistent", parent=backing)
    return DEV.VirtualDisk(key=2000, backing=backing, capacityInKB=1)


@pytest.mark.parametrize(
    ("files", "want"),
    [
        (["[ds] vm/vm.vmdk"], False),
        (["[ds] vm/vm-000001.vmdk", "[ds] vm/vm.vmdk"], False),
        (["[ds] vm/vm-000001.vmdk", "[ds] master/master.vmdk"], True),
        (["[ds] vm/vm-000002.vmdk", "[ds] vm/vm-000001.vmdk", "[ds2] vm/master.vmdk"], True),
    ],
)
def test_linked_clone(files: list[str], want: bool) -> None:
    devices = DEV.VirtualDevice.Array([disk(*files)])
    assert vm_of({"config.hardware.device": devices})[0].linked_clone is want


def test_only_keys_that_placement_uses_are_kept() -> None:
    options = vim.option.OptionValue.Array(
        [
            vim.option.OptionValue(key=key, value=text)
            for key, text in [
                ("guestinfo.userdata", "secret"),
                ("numa.nodeAffinity", "0"),
                ("pciPassthru0.id", "00000:101:00.0"),
                ("PCIPASSTHRU.use64bitMMIO", "TRUE"),
                ("sched.mem.lpage.enable1GPage", True),
                ("cpuid.coresPerSocket", "4"),
                ("RemoteDisplay.vnc.password", "secret"),
            ]
        ]
    )
    vm, _ = vm_of({"config.extraConfig": options})
    assert vm.extra_config == (
        ("PCIPASSTHRU.use64bitMMIO", "TRUE"),
        ("cpuid.coresPerSocket", "4"),
        ("numa.nodeAffinity", "0"),
        ("pciPassthru0.id", "00000:101:00.0"),
        ("sched.mem.lpage.enable1GPage", "TRUE"),
    )
    assert vm.node_affinity == (0,)


def test_sizes_reservations_and_limits() -> None:
    shares = vim.SharesInfo(level="normal", shares=1)
    vm, _ = vm_of(
        {
            "config.hardware.numCoresPerSocket": 4,
            "config.memoryAllocation": vim.ResourceAllocationInfo(reservation=0, limit=-1, shares=shares),
            "config.cpuAllocation": vim.ResourceAllocationInfo(reservation=500, limit=1000, shares=shares),
            "config.initialOverhead": vim.vm.ConfigInfo.OverheadInfo(
                initialMemoryReservation=3 * 1024 * 1024 + 1
            ),
            "config.latencySensitivity": vim.LatencySensitivity(level="high"),
            "config.cpuAffinity": vim.vm.AffinityInfo(affinitySet=[3, 1]),
            "config.numaInfo": vim.vm.VirtualNumaInfo(coresPerNumaNode=8, autoCoresPerNumaNode=False),
            "config.version": "vmx-21",
        }
    )
    assert (vm.cpus, vm.cores_per_socket, vm.cores_per_socket_auto) == (16, 4, None)
    assert (vm.memory_reservation_mib, vm.memory_limit_mib, vm.cpu_reservation_mhz) == (0, None, 500)
    assert vm.overhead_mib == 4
    assert (vm.latency_sensitivity, vm.cpu_affinity, vm.hardware_version) == ("high", (1, 3), 21)
    assert (vm.vnuma.cores_per_node, vm.vnuma.auto, vm.vnuma.exposed_on_hot_add) == (8, False, None)
    assert vm.tags == ("a:b",)


def test_nothing_said_is_nothing_known() -> None:
    vm, notes = vm_of({"config.hardware.numCPU": None, "runtime.connectionState": "inaccessible"})
    assert not vm.readable
    assert vm.connection is ConnectionState.INACCESSIBLE
    assert (vm.memory_reservation_mib, vm.overhead_mib, vm.hardware_version, vm.linked_clone) == (None,) * 4
    assert (vm.cpu_hot_add, vm.firmware, vm.host, vm.pool) == (None,) * 4
    assert (vm.vnuma.cores_per_node, vm.vnuma.auto) == (None, None)
    assert notes == ()


def test_states_that_are_not_known() -> None:
    vm, notes = vm_of({"runtime.powerState": "hovering"})
    assert vm.power is VmPower.OFF
    assert notes == ("vm1: state 'hovering' is not known and counts as poweredOff",)


@pytest.mark.parametrize(
    ("props", "want"),
    [
        ({}, {}),
        (
            {
                "config.managedBy": vim.ext.ManagedByInfo(
                    extensionKey="com.vmware.vim.eam", type="cluster-agent"
                )
            },
            {"is_agent": True},
        ),
        (
            {"config.managedBy": vim.ext.ManagedByInfo(extensionKey="com.vmware.horizon", type="x")},
            {"managed_by": "com.vmware.horizon"},
        ),
        ({"runtime.faultToleranceState": "notConfigured"}, {}),
        ({"runtime.faultToleranceState": ""}, {}),
        ({"runtime.faultToleranceState": "running"}, {"fault_tolerance": True}),
        ({"runtime.consolidationNeeded": True}, {"consolidation_needed": True}),
    ],
)
def test_ownership(props: dict[str, object], want: dict[str, object]) -> None:
    ownership = vm_of(props)[0].ownership
    default = vm_of({})[0].ownership
    for name in ("managed_by", "is_agent", "pending_question", "fault_tolerance", "consolidation_needed"):
        assert getattr(ownership, name) == want.get(name, getattr(default, name))


def test_question_methods_and_snapshots() -> None:
    vm = vim.VirtualMachine("vm-1", None)
    tree = vim.vm.SnapshotTree
    common: dict[str, Any] = {"vm": vm, "description": "", "id": 1, "state": "poweredOff", "quiesced": False}

    def snapshot(number: int, *children: object) -> object:
        import datetime

        made = datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC)
        return tree(
            snapshot=vim.vm.Snapshot(f"s-{number}", None),
            name=str(number),
            createTime=made,
            childSnapshotList=list(children),
            **common,
        )

    question = Data("VirtualMachineQuestionInfo", (), {"id": "1"})
    read_back, _ = vm_of(
        {
            "runtime.question": question,
            "disabledMethod": ["RelocateVM_Task", "ReconfigVM_Task", "RelocateVM_Task"],
            "snapshot": vim.vm.SnapshotInfo(rootSnapshotList=[snapshot(1, snapshot(2), snapshot(3))]),
        }
    )
    assert read_back.ownership.pending_question
    assert read_back.ownership.disabled_methods == ("ReconfigVM_Task", "RelocateVM_Task")
    assert read_back.snapshot_count == 3


def test_device_groups() -> None:
    groups = vim.vm.VirtualDeviceGroups
    read_back, _ = vm_of(
        {
            "config.deviceGroups": groups(
                deviceGroup=[
                    groups.VendorDeviceGroup(groupInstanceKey=2, deviceGroupName="Nvidia:2@x%NVLink")
                ]
            )
        }
    )
    assert [(group.key, group.name) for group in read_back.device_groups] == [(2, "Nvidia:2@x%NVLink")]


@pytest.mark.parametrize(
    ("name", "want"),
    [("a%2fb", "a/b"), ("100%25", "100%"), ("a%5Cb", "a\\b"), ("a%20b", "a%20b"), (None, "")],
)
def test_names(name: str | None, want: str) -> None:
    assert shown_name(name) == want
