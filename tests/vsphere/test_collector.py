"""The whole inventory from raw answers: places, rules, queries per host, and what is missing."""

from __future__ import annotations

from typing import Any

import pytest
from pyVmomi import vim

from tests.vsphere.raw_data import FakeVCenter, fault, obj
from vplacer.errors import PermissionMissing, SessionLost, VSphereFault
from vplacer.inventory.cluster import HaAdmission, VmHostRule, VmVmRule
from vplacer.inventory.host import HardwareLimits
from vplacer.inventory.pci import PciAddress
from vplacer.inventory.vcenter import About, Gap, Inventory
from vplacer.vsphere.collector import CollectOptions, Collector
from vplacer.vsphere.raw import Data, Missing, MoRef, RawObject

ABOUT = About("vc", "uuid", "8.0.3", "1", "8.0.3.0")
NOW = "2026-11-30T08:00:00Z"

HOST = MoRef("HostSystem", "host-1")
OTHER = MoRef("HostSystem", "host-2")
CLUSTER = MoRef("ClusterComputeResource", "domain-c1")
SINGLE = MoRef("ComputeResource", "domain-s1")
VM = MoRef("VirtualMachine", "vm-1")


def product() -> vim.AboutInfo:
    about = vim.AboutInfo(
        name="n", fullName="f", vendor="v", version="8.0.3", build="9", osType="o", productLineId="p"
    )
    about.apiType, about.apiVersion = "HostAgent", "8.0.3.0"
    return about


def cpu() -> vim.host.CpuInfo:
    return vim.host.CpuInfo(numCpuPackages=2, numCpuCores=32, numCpuThreads=64, hz=2_000_000_000)


def passthrough(*, active: bool) -> Any:
    info = vim.host.PciPassthruInfo
    return info.Array(
        [
            info(
                id="0000:65:00.0",
                dependentDevice="0000:65:00.0",
                passthruEnabled=active,
                passthruCapable=True,
                passthruActive=active,
            )
        ]
    )


def host(moid: str, parent: MoRef, **props: object) -> RawObject:
    device = vim.host.PciDevice(
        id="0000:65:00.0",
        classId=0x302,
        bus=0,
        slot=0,
        function=0,
        vendorId=0x10DE,
        deviceId=0x20B7,
        subVendorId=0,
        subDeviceId=0,
        vendorName="",
        deviceName="",
    )
    given: dict[str, object] = {
        "name": f"esx-{moid}",
        "parent": parent,
        "runtime.connectionState": "connected",
        "runtime.powerState": "poweredOn",
        "hardware.cpuInfo": cpu(),
        "hardware.pciDevice": vim.host.PciDevice.Array([device]),
        "config.product": product(),
        "config.pciPassthruInfo": passthrough(active=False),
    }
    return obj("HostSystem", moid, {**given, **props})


def vm(moid: str = "vm-1", **props: object) -> RawObject:
    given: dict[str, object] = {
        "name": f"name-{moid}",
        "parent": MoRef("Folder", "group-v2"),
        "runtime.host": HOST,
        "runtime.powerState": "poweredOn",
        "runtime.connectionState": "connected",
        "config.hardware.numCPU": 4,
        "config.hardware.memoryMB": 4096,
    }
    return obj("VirtualMachine", moid, {**given, **props})


def places() -> list[RawObject]:
    root = MoRef("Folder", "group-d1")
    datacenter = MoRef("Datacenter", "datacenter-1")
    return [
        obj("Folder", "group-d1", {"name": "Datacenters"}),
        obj("Datacenter", "datacenter-1", {"name": "DC%2f1", "parent": root}),
        obj("Folder", "group-v1", {"name": "vm", "parent": datacenter}),
        obj("Folder", "group-v2", {"name": "ml%2fteam", "parent": MoRef("Folder", "group-v1")}),
        obj("Folder", "group-h1", {"name": "host", "parent": datacenter}),
        obj(
            "ClusterComputeResource",
            "domain-c1",
            {
                "name": "gpu",
                "parent": MoRef("Folder", "group-h1"),
                "host": [HOST],
                "environmentBrowser": MoRef("EnvironmentBrowser", "envbrowser-1"),
            },
        ),
        obj(
            "ComputeResource",
            "domain-s1",
            {
                "name": "esx-host-2",
                "parent": MoRef("Folder", "group-h1"),
                "host": [OTHER],
                "environmentBrowser": MoRef("EnvironmentBrowser", "envbrowser-2"),
            },
        ),
    ]


def vcenter(*more: RawObject, hosts: list[RawObject] | None = None) -> FakeVCenter:
    found = hosts if hosts is not None else [host("host-1", CLUSTER), host("host-2", SINGLE)]
    return FakeVCenter(objects=[*places(), *found, *more])


def collected(reader: FakeVCenter, **options: Any) -> Inventory:
    given = {"workers": 1, **options}
    return Collector(
        reader,
        about=ABOUT,
        taken_at=NOW,
        options=CollectOptions(**given),
        tags={"vm-1": ("vplacer:ignore",), "host-1": ("fabric:a",), "domain-c1": ("x:y",)},
    ).collect()


def test_places_names_and_tags() -> None:
    inventory = collected(vcenter(vm()))
    assert [(dc.moid, dc.name) for dc in inventory.datacenters] == [("datacenter-1", "DC/1")]
    first, second = inventory.hosts
    assert (first.cluster, first.datacenter, first.tags) == ("domain-c1", "datacenter-1", ("fabric:a",))
    assert (second.cluster, second.datacenter) == (None, "datacenter-1")
    (machine,) = inventory.vms
    assert (machine.folder, machine.datacenter) == ("vm/ml%2fteam", "datacenter-1")
    assert machine.tags == ("vplacer:ignore",)
    (cluster,) = inventory.clusters
    assert (cluster.name, cluster.datacenter, cluster.tags) == ("gpu", "datacenter-1", ("x:y",))
    assert inventory.complete


def test_vm_in_a_vapp_has_its_hosts_datacenter() -> None:
    (machine,) = collected(vcenter(vm(parent=None))).vms
    assert (machine.folder, machine.datacenter) == ("", "datacenter-1")


def rule_config() -> vim.cluster.ConfigInfoEx:
    vms = [vim.VirtualMachine("vm-10", None), vim.VirtualMachine("vm-9", None)]
    rule = vim.cluster
    return vim.cluster.ConfigInfoEx(
        vmSwapPlacement="vmDirectory",
        dasConfig=vim.cluster.DasConfigInfo(
            enabled=True,
            admissionControlEnabled=True,
            admissionControlPolicy=vim.cluster.FailoverResourcesAdmissionControlPolicy(
                cpuFailoverResourcesPercent=25, memoryFailoverResourcesPercent=30
            ),
        ),
        drsConfig=vim.cluster.DrsConfigInfo(enabled=True, defaultVmBehavior="partiallyAutomated"),
        drsVmConfig=[
            vim.cluster.DrsVmConfigInfo(key=vms[0], enabled=False),
            vim.cluster.DrsVmConfigInfo(key=vms[1], behavior="manual"),
        ],
        dpmConfigInfo=vim.cluster.DpmConfigInfo(enabled=False),
        group=[
            rule.VmGroup(name="vms", vm=vms),
            rule.HostGroup(name="yes", host=[vim.HostSystem("host-1", None)]),
            rule.HostGroup(name="no", host=[vim.HostSystem("host-2", None)]),
        ],
        rule=[
            rule.AntiAffinityRuleSpec(key=3, name="apart", enabled=True, mandatory=True, vm=vms),
            rule.AffinityRuleSpec(key=2, name="together", enabled=False, vm=vms),
            rule.VmHostRuleInfo(
                key=1,
                name="both",
                mandatory=True,
                vmGroupName="vms",
                affineHostGroupName="yes",
                antiAffineHostGroupName="no",
            ),
            rule.VmHostRuleInfo(key=4, name="broken", vmGroupName="gone", affineHostGroupName="yes"),
            rule.DependencyRuleInfo(key=5, name="order", vmGroup="vms", dependsOnVmGroup="vms"),
            rule.RuleInfo(key=6, name="odd"),
        ],
    )


def cluster_object(config: object) -> RawObject:
    given = next(raw for raw in places() if raw.ref == CLUSTER)
    summary = vim.ClusterComputeResource.Summary(
        totalCpu=1,
        totalMemory=1,
        numCpuCores=1,
        numCpuThreads=1,
        effectiveCpu=1,
        effectiveMemory=1,
        numHosts=1,
        numEffectiveHosts=1,
        overallStatus="green",
        currentBalance=0,
        targetBalance=0,
        currentEVCModeKey="intel-icelake",
    )
    more = obj("ClusterComputeResource", "domain-c1", {"configurationEx": config, "summary": summary})
    return RawObject(given.ref, Data(CLUSTER.type, (), {**given.props.fields, **more.props.fields}))


def test_rules_and_cluster_settings() -> None:
    reader = vcenter()
    reader.objects = [cluster_object(rule_config()) if raw.ref == CLUSTER else raw for raw in reader.objects]
    inventory = collected(reader)
    (cluster,) = inventory.clusters
    assert (cluster.drs_level, cluster.ha_enabled, cluster.dpm_enabled) == ("partiallyAutomated", True, False)
    assert cluster.evc_mode == "intel-icelake"
    assert cluster.admission == HaAdmission("percent", cpu_percent=25, memory_percent=30)
    assert cluster.drs_overrides == (("vm-9", "manual"), ("vm-10", "disabled"))
    assert cluster.vm_vm_rules == (
        VmVmRule(2, "together", False, False, ("vm-9", "vm-10"), mandatory=False),
        VmVmRule(3, "apart", True, True, ("vm-9", "vm-10"), mandatory=True),
    )
    assert cluster.vm_host_rules == (
        VmHostRule(1, "both", True, False, ("vm-9", "vm-10"), ("host-1",), True),
        VmHostRule(1, "both", True, True, ("vm-9", "vm-10"), ("host-2",), True),
    )
    assert inventory.notes == (
        "gpu: rule 'broken' names a group that does not exist",
        "gpu: rule 'odd' of type ClusterRuleInfo is not known",
        "hardware limits of ESXi 8.0.3 are from the built-in table",
    )


@pytest.mark.parametrize(
    ("policy", "want"),
    [
        ({"enabled": False}, None),
        ({"enabled": True, "admissionControlEnabled": False}, HaAdmission("none")),
        (
            {
                "enabled": True,
                "admissionControlPolicy": vim.cluster.FailoverLevelAdmissionControlPolicy(failoverLevel=2),
            },
            HaAdmission("hosts", failover_hosts=2),
        ),
        (
            {
                "enabled": True,
                "admissionControlPolicy": vim.cluster.FailoverHostAdmissionControlPolicy(
                    failoverHosts=[vim.HostSystem("host-10", None), vim.HostSystem("host-9", None)]
                ),
            },
            HaAdmission("dedicated", dedicated=("host-9", "host-10")),
        ),
    ],
)
def test_admission_control(policy: dict[str, object], want: HaAdmission | None) -> None:
    config = rule_config()
    config.dasConfig = vim.cluster.DasConfigInfo(**policy)
    config.drsConfig.enabled = False
    reader = vcenter()
    reader.objects = [cluster_object(config) if raw.ref == CLUSTER else raw for raw in reader.objects]
    (cluster,) = collected(reader).clusters
    assert cluster.admission == want
    assert cluster.drs_level is None


def test_pools() -> None:
    shares = vim.SharesInfo(level="normal", shares=1)

    def pool(moid: str, parent: MoRef, **memory: Any) -> RawObject:
        allocation = vim.ResourceAllocationInfo(shares=shares, **memory)
        return obj(
            "ResourcePool",
            moid,
            {
                "name": moid,
                "parent": parent,
                "owner": CLUSTER,
                "config.memoryAllocation": allocation,
            },
        )

    root = pool("resgroup-1", CLUSTER, reservation=100, limit=-1, expandableReservation=True)
    child = pool("resgroup-2", root.ref, reservation=0, limit=50, expandableReservation=False)
    child.props.fields["runtime.memory.unreservedForVm"] = 5 * 1024 * 1024 + 7
    first, second = collected(vcenter(root, child)).pools
    assert (first.parent, first.owner, first.memory_limit_mib, first.memory_unreserved_mib) == (
        None,
        "domain-c1",
        None,
        None,
    )
    assert (second.parent, second.memory_limit_mib, second.memory_expandable) == ("resgroup-1", 50, False)
    assert second.memory_unreserved_mib == 5


def target() -> vim.vm.ConfigTarget:
    device = vim.host.PciDevice(
        id="0000:65:00.0",
        classId=0,
        bus=0,
        slot=0,
        function=0,
        vendorId=0,
        deviceId=0,
        subVendorId=0,
        subDeviceId=0,
        vendorName="",
        deviceName="",
    )
    return vim.vm.ConfigTarget(
        numCpus=1,
        numCpuCores=1,
        numNumaNodes=1,
        pciPassthrough=[vim.vm.PciPassthroughInfo(name="n", pciDevice=device, systemId="sys-1")],
    )


def test_only_hosts_that_give_devices_are_asked_for_them() -> None:
    hosts = [
        host("host-1", CLUSTER, **{"config.pciPassthruInfo": passthrough(active=True)}),
        host("host-2", SINGLE),
    ]
    reader = vcenter(hosts=hosts)
    reader.answers[("QueryConfigTarget", "host-1")] = target()
    first, second = collected(reader).hosts
    assert [call for call in reader.calls if call[0] == "QueryConfigTarget"] == [
        ("QueryConfigTarget", "host-1")
    ]
    assert first.pci_devices[0].system_id == "sys-1"
    assert second.pci_devices[0].system_id is None


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (PermissionMissing("x", why="the account lacks System.View"), "permission"),
        (VSphereFault("x", fault_type="HostNotConnected", why="gone"), "disconnected"),
        (VSphereFault("x", fault_type="SystemError", why="broken"), "fault"),
    ],
)
def test_failing_query_is_a_gap_of_that_host_only(error: Exception, kind: str) -> None:
    active = {"config.pciPassthruInfo": passthrough(active=True)}
    reader = vcenter(hosts=[host("host-1", CLUSTER, **active), host("host-2", SINGLE, **active)])
    reader.answers[("QueryConfigTarget", "host-1")] = error
    reader.answers[("QueryConfigTarget", "host-2")] = target()
    inventory = collected(reader)
    (gap,) = inventory.gaps
    assert (gap.object, gap.path, gap.kind) == ("host-1", "QueryConfigTarget", kind)
    assert inventory.hosts[1].pci_devices[0].system_id == "sys-1"


def test_lost_session_ends_it() -> None:
    active = {"config.pciPassthruInfo": passthrough(active=True)}
    reader = vcenter(hosts=[host("host-1", CLUSTER, **active), host("host-2", SINGLE, **active)])
    reader.answers[("QueryConfigTarget", "")] = SessionLost("gone")
    for workers in (1, 4):
        with pytest.raises(SessionLost):
            collected(reader, workers=workers)


def test_limits_are_asked_once_a_kind_of_host() -> None:
    hosts = [host(f"host-{number}", CLUSTER) for number in range(1, 6)]
    reader = vcenter(hosts=hosts)
    reader.objects = [raw for raw in reader.objects if raw.ref != CLUSTER]
    given = next(raw for raw in places() if raw.ref == CLUSTER)
    refs = [raw.ref for raw in hosts]
    reader.objects.append(RawObject(CLUSTER, Data("", (), {**given.props.fields, "host": refs})))
    descriptor = vim.vm.ConfigOptionDescriptor
    flags = {
        "createSupported": True,
        "defaultConfigOption": False,
        "runSupported": True,
        "upgradeSupported": True,
    }
    reader.answers[("QueryConfigOptionDescriptor", "")] = [
        descriptor(key=key, **flags) for key in ("vmx-08", "vmx-20", "vmx-21")
    ]

    def option(arguments: dict[str, Any]) -> Data | None:
        spec = arguments["spec"]
        assert list(spec.guestId) == ["otherGuest64"]
        if spec.key == "vmx-21":
            return None
        hardware = Data("VirtualHardwareOption", (), {"numCPU": [1, 128]})
        return Data("VirtualMachineConfigOption", (), {"hardwareOptions": hardware})

    reader.answers[("QueryConfigOptionEx", "")] = option
    inventory = collected(reader)
    assert [call[0] for call in reader.calls] == [
        "QueryConfigOptionDescriptor",
        "QueryConfigOptionEx",
        "QueryConfigOptionEx",
    ]
    for read in inventory.hosts:
        assert [(limit.version, limit.source) for limit in read.limits] == [(20, "descriptor"), (21, "table")]
        first: HardwareLimits = read.limits[0]
        assert (first.max_cpus, first.max_passthrough) == (128, 64)
    assert any("versions 21 are from the built-in table" in note for note in inventory.notes)


def test_disconnected_host_is_one_gap() -> None:
    lost = host("host-1", CLUSTER, **{"runtime.connectionState": "notResponding", "config.product": None})
    reader = vcenter(hosts=[lost, host("host-2", SINGLE)])
    gone = fault("HostNotConnected")
    reader.missing = [Missing(HOST, "config.product", gone), Missing(HOST, "config.graphicsInfo", gone)]
    inventory = collected(reader)
    assert inventory.gaps == (Gap("host-1", "config", "disconnected", "the host is notResponding"),)
    assert inventory.hosts[0].limits == ()
    assert not inventory.complete


def test_missing_properties_are_gaps_with_their_reason() -> None:
    reader = vcenter(vm())
    denied = fault("NoPermission", privilegeId="System.Read")
    reader.missing = [
        Missing(VM, "config.extraConfig", denied),
        Missing(OTHER, "network", fault("SystemError")),
    ]
    assert collected(reader).gaps == (
        Gap("host-2", "network", "fault", "SystemError"),
        Gap("vm-1", "config.extraConfig", "permission", "NoPermission: needs System.Read"),
    )


def test_paths_the_server_does_not_know() -> None:
    reader = vcenter()
    reader.unknown["HostSystem"] = ("hardware.numaInfo", "hardware.memoryTieringType")
    inventory = collected(reader)
    assert inventory.gaps == (
        Gap("HostSystem", "hardware.numaInfo", "too_old", "the server does not know this property"),
    )
    assert "the server does not know HostSystem hardware.memoryTieringType" in inventory.notes


def test_host_that_tells_nothing() -> None:
    bare = host("host-1", CLUSTER, **{"config.product": None, "hardware.cpuInfo": None})
    (gap,) = collected(vcenter(hosts=[bare, host("host-2", SINGLE)])).gaps
    assert (gap.object, gap.path, gap.kind) == ("host-1", "config", "fault")


def test_hosts_that_the_account_cannot_see() -> None:
    inventory = collected(vcenter(vm(), hosts=[host("host-2", SINGLE)]))
    (gap,) = inventory.gaps
    assert (gap.object, gap.kind) == ("host-1", "permission")


@pytest.mark.parametrize(
    ("connection", "power", "is_gap"),
    [
        ("orphaned", "poweredOff", False),
        ("invalid", "poweredOff", False),
        ("orphaned", "poweredOn", True),
        ("inaccessible", "poweredOff", True),
        ("connected", "poweredOff", True),
    ],
)
def test_vm_without_configuration(connection: str, power: str, is_gap: bool) -> None:
    props: dict[str, object] = {
        "config.hardware.numCPU": None,
        "config.hardware.memoryMB": None,
        "runtime.connectionState": connection,
        "runtime.powerState": power,
    }
    inventory = collected(vcenter(vm(**props)))
    assert [gap.object for gap in inventory.gaps] == (["vm-1"] if is_gap else [])
    assert not inventory.vms[0].readable
    if not is_gap:
        assert f"name-vm-1: the VM is {connection}; it was left out of account" in inventory.notes


def test_many_at_a_time_gives_the_same() -> None:
    hosts = [
        host(f"host-{n}", CLUSTER, **{"config.pciPassthruInfo": passthrough(active=True)})
        for n in range(1, 9)
    ]
    results = []
    for workers in (1, 6):
        reader = vcenter(hosts=hosts)
        reader.answers[("QueryConfigTarget", "")] = target()
        results.append(collected(reader, workers=workers))
    assert results[0] == results[1]
    assert results[0].hosts[7].pci_devices[0].address == PciAddress(0, 0x65, 0, 0)
