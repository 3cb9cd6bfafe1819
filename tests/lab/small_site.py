"""A small site built by hand: folders, one cluster of two hosts, a VM, an esxtop service."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from pyVmomi import vim

from vplacer.lab.soap.store import Store, Unreadable
from vplacer.lab.soap.vcenter import ServedSite

ROOT = vim.Folder("group-d1")
DATACENTER = vim.Datacenter("datacenter-2")
VM_FOLDER = vim.Folder("group-v3")
HOST_FOLDER = vim.Folder("group-h4")
DATASTORE_FOLDER = vim.Folder("group-s5")
NETWORK_FOLDER = vim.Folder("group-n6")
CLUSTER = vim.ClusterComputeResource("domain-c10")
POOL = vim.ResourcePool("resgroup-11")
BROWSER = vim.EnvironmentBrowser("envbrowser-12")
DATASTORE = vim.Datastore("datastore-13")
NETWORK = vim.Network("network-14")
HOSTS = (vim.HostSystem("host-21"), vim.HostSystem("host-22"))
VM = vim.VirtualMachine("vm-31")
ESXTOP = vim.SimpleCommand("simplecommand-21")
VM_UUID = "42000000-0000-0000-0000-000000000031"
VM_INSTANCE_UUID = "50000000-0000-0000-0000-000000000031"

ABOUT = vim.AboutInfo(
    name="VMware vCenter Server",
    fullName="VMware vCenter Server 8.0.3 build-24022515 (simulated)",
    vendor="VMware, Inc.",
    version="8.0.3",
    build="24022515",
    osType="linux-x64",
    productLineId="vpx",
    apiType="VirtualCenter",
    apiVersion="8.0.3.0",
    instanceUuid="5e8b7b3a-0000-4000-8000-000000000001",
)
UNREADABLE = vim.fault.NoPermission(object=HOSTS[1], privilegeId="System.Read", msg="not for you")
GREEN = {"overallStatus": "green", "configStatus": "green"}


def small_site() -> ServedSite:
    store = Store()
    folders = [VM_FOLDER, HOST_FOLDER, DATASTORE_FOLDER, NETWORK_FOLDER]
    store.add(ROOT, {"name": "Datacenters", "childEntity": [DATACENTER], **GREEN})
    store.add(
        DATACENTER,
        {
            "name": "DC0",
            "parent": ROOT,
            **dict(zip(("vmFolder", "hostFolder", "datastoreFolder", "networkFolder"), folders, strict=True)),
            **GREEN,
        },
    )
    children: list[list[Any]] = [[VM], [CLUSTER], [DATASTORE], [NETWORK]]
    for folder, name, child in zip(folders, ("vm", "host", "datastore", "network"), children, strict=True):
        store.add(folder, {"name": name, "parent": DATACENTER, "childEntity": child, **GREEN})
    store.add(
        CLUSTER,
        {
            "name": "C0",
            "parent": HOST_FOLDER,
            "host": list(HOSTS),
            "resourcePool": POOL,
            "environmentBrowser": BROWSER,
            "datastore": [DATASTORE],
            "network": [NETWORK],
            **GREEN,
        },
    )
    store.add(POOL, {"name": "Resources", "parent": CLUSTER, "owner": CLUSTER, "vm": [VM], **GREEN})
    store.add(
        BROWSER,
        answers={"QueryConfigTarget": _config_target, "QueryConfigOptionDescriptor": _descriptors},
    )
    store.add(DATASTORE, {"name": "DS0", "parent": DATASTORE_FOLDER, **GREEN})
    store.add(NETWORK, {"name": "VM Network", "parent": NETWORK_FOLDER, **GREEN})
    for number, host in enumerate(HOSTS):
        store.add(host, _host_properties(host, number))
    store.add(VM, _vm_properties())
    store.add(ESXTOP, answers={"ExecuteSimpleCommand": lambda arguments: f"ran {' '.join(arguments)}"})
    store.add(
        vim.ServiceManager("ServiceMgr"),
        {
            "service": [
                vim.ServiceManager.ServiceInfo(
                    location=["vmware.host.esx0.lab"],
                    serviceName="Esxtop",
                    service=ESXTOP,
                    description="esxtop",
                )
            ]
        },
    )
    return ServedSite(store, ROOT, ABOUT)


def _config_target(host: Any) -> Any:
    target = vim.vm.ConfigTarget(numCpus=64, numCpuCores=32, numNumaNodes=2)
    target.sharedGpuPassthroughTypes = [] if host is None else [_vgpu("grid_a100-40c")]
    return target


def _vgpu(name: str) -> Any:
    return vim.vm.PciSharedGpuPassthroughInfo(vgpu=name)


def _descriptors() -> list[Any]:
    return [vim.vm.ConfigOptionDescriptor(key=k, description=k) for k in ("vmx-20", "vmx-21")]


def _host_properties(host: Any, number: int) -> dict[str, Any]:
    gpu = vim.host.PciDevice(
        id="0000:ca:00.0",
        classId=0x0302,
        bus=0xCA - 0x100,
        slot=0,
        function=0,
        vendorId=0x10DE,
        deviceId=0x2330,
        subVendorId=0x10DE,
        subDeviceId=0x16C1,
        vendorName="NVIDIA Corporation",
        deviceName="H100",
        deviceClassName="3D controller",
    )
    nodes = [
        vim.host.NumaNode(
            typeId=n,
            cpuID=list(range(32 * n, 32 * n + 32)),
            memorySize=1 << 38,
            pciId=["0000:ca:00.0"] if n else [],
        )
        for n in (0, 1)
    ]
    hardware = vim.host.HardwareInfo(
        systemInfo=vim.host.SystemInfo(
            vendor="ACME", model="GPU-1", uuid=f"00000000-0000-0000-0000-00000000000{number}"
        ),
        cpuInfo=vim.host.CpuInfo(numCpuPackages=2, numCpuCores=32, numCpuThreads=64, hz=2_000_000_000),
        memorySize=1 << 39,
        cpuPkg=[
            vim.host.CpuPackage(
                index=n,
                vendor="intel",
                hz=2_000_000_000,
                busHz=100_000_000,
                description="Xeon",
                threadId=list(range(32 * n, 32 * n + 32)),
                family=6,
            )
            for n in (0, 1)
        ],
        numaInfo=vim.host.NumaInfo(type="NUMA", numNodes=2, numaNode=nodes),
        pciDevice=[gpu],
    )
    return {
        "name": f"esx{number}.lab",
        "parent": CLUSTER,
        "hardware": hardware,
        "runtime": vim.host.RuntimeInfo(
            connectionState="connected", powerState="poweredOn", inMaintenanceMode=False
        ),
        "config": Unreadable(UNREADABLE) if number else vim.host.ConfigInfo(host=host, product=ABOUT),
        "vm": [VM] if number == 0 else [],
        "datastore": [DATASTORE],
        "network": [NETWORK],
        **GREEN,
    }


def _vm_properties() -> dict[str, Any]:
    passthrough = vim.vm.device.VirtualPCIPassthrough
    device = passthrough(
        key=13000,
        controllerKey=100,
        unitNumber=18,
        numaNode=0,
        backing=passthrough.DynamicBackingInfo(
            deviceName="",
            customLabel="gpu-n1",
            allowedDevice=[passthrough.AllowedDevice(vendorId=0x10DE, deviceId=0x2330)],
        ),
    )
    config = vim.vm.ConfigInfo(
        changeVersion="1",
        modified=datetime(2026, 1, 1, tzinfo=UTC),
        name="gpu-vm-0",
        guestFullName="Ubuntu Linux (64-bit)",
        version="vmx-20",
        uuid=VM_UUID,
        instanceUuid=VM_INSTANCE_UUID,
        template=False,
        guestId="ubuntu64Guest",
        alternateGuestName="",
        annotation="",
        files=vim.vm.FileInfo(vmPathName="[DS0] gpu-vm-0/gpu-vm-0.vmx"),
        flags=vim.vm.FlagInfo(),
        defaultPowerOps=vim.vm.DefaultPowerOpInfo(),
        hardware=vim.vm.VirtualHardware(numCPU=16, numCoresPerSocket=8, memoryMB=65536, device=[device]),
        extraConfig=[
            vim.option.OptionValue(key="numa.nodeAffinity", value="1"),
            vim.option.OptionValue(key='odd"key', value="2"),
        ],
        numaInfo=vim.vm.VirtualNumaInfo(autoCoresPerNumaNode=False, coresPerNumaNode=8),
    )
    runtime = vim.vm.RuntimeInfo(
        host=HOSTS[0],
        connectionState="connected",
        powerState="poweredOn",
        faultToleranceState="notConfigured",
        recordReplayState="inactive",
        toolsInstallerMounted=False,
        numMksConnections=0,
        onlineStandby=False,
        consolidationNeeded=False,
    )
    return {
        "name": "gpu-vm-0",
        "parent": VM_FOLDER,
        "config": config,
        "runtime": runtime,
        "resourcePool": POOL,
        "environmentBrowser": BROWSER,
        **GREEN,
    }
