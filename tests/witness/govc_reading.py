"""The inventory as govc reads it: the XML of `govc object.save`, read here without any of vplacer's reading.

A second reading of the same facts, so that what a session of vplacer read can be compared field by field.
Only what govc can read is filled in; the rest is empty, and named in govc_differences.yaml.
"""

from __future__ import annotations

import re
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from vplacer.inventory.cluster import (
    Cluster,
    Datastore,
    HaAdmission,
    Network,
    ResourcePool,
    VmHostRule,
    VmVmRule,
)
from vplacer.inventory.cpu_models import cpu_features
from vplacer.inventory.host import (
    ConnectionState,
    DeviceBinding,
    GpuMode,
    Graphics,
    Host,
    HostCapability,
    HostPower,
    NumaNode,
    Passthrough,
    PciDevice,
    Pnic,
    Sriov,
)
from vplacer.inventory.pci import PciAddress, PciIds
from vplacer.inventory.vcenter import About, Datacenter, Inventory
from vplacer.inventory.vm import (
    AllowedDevice,
    Backing,
    DvxBacking,
    DynamicBacking,
    NetworkBacking,
    Ownership,
    SriovBacking,
    StaticBacking,
    UnknownBacking,
    VgpuBacking,
    Vm,
    VmDevice,
    VmDeviceGroup,
    VmPower,
    VnumaConfig,
)

_TYPE = "{http://www.w3.org/2001/XMLSchema-instance}type"
_MIB = 1 << 20


@dataclass(frozen=True)
class Node:
    """An element, or the properties of an object: members by path, unset as None."""

    element: ElementTree.Element | None

    @property
    def kind(self) -> str:
        """The type beside the value (xsi:type)."""
        return "" if self.element is None else self.element.get(_TYPE, "").rpartition(":")[2]

    @property
    def value(self) -> str | None:
        return None if self.element is None else (self.element.text or "")

    def at(self, path: str) -> Node:
        element = self.element
        for name in path.split("."):
            element = None if element is None else element.find(name)
        return Node(element)

    def text(self, path: str) -> str | None:
        return self.at(path).value or None

    def number(self, path: str) -> int | None:
        text = self.text(path)
        return None if text is None else int(text)

    def flag(self, path: str) -> bool | None:
        text = self.text(path)
        return None if text is None else {"true": True, "false": False}[text]

    def all(self, path: str) -> list[Node]:
        """Return the elements of an array, be it repeated or wrapped."""
        above, _, name = path.rpartition(".")
        parent = self.at(above).element if above else self.element
        found = [] if parent is None else parent.findall(name)
        if len(found) == 1 and found[0].get(_TYPE, "").startswith("ArrayOf"):
            return [Node(item) for item in found[0]]
        return [Node(item) for item in found]

    def moids(self, path: str) -> tuple[str, ...]:
        return in_order(node.value or "" for node in self.all(path))

    def address(self, path: str) -> PciAddress | None:
        text = self.text(path)
        return PciAddress.parse(text) if text else None


def natural(moid: str) -> list[int | str]:
    """Return a key that puts host-9 before host-10."""
    return [int(part) if part.isdigit() else part for part in re.split(r"(\d+)", moid)]


def in_order(moids: Iterable[str]) -> tuple[str, ...]:
    return tuple(sorted(set(moids), key=natural))


def unsigned(number: int | None) -> int:
    return (number or 0) & 0xFFFF


def name_of(node: Node) -> str:
    """Names come with percent sign and both slashes escaped (vSphere API: ManagedEntity.name)."""
    text = node.text("name") or ""
    return re.sub("%(25|2f|5c)", lambda found: chr(int(found[1], 16)), text, flags=re.IGNORECASE)


def load(folder: Path) -> dict[tuple[str, str], Node]:
    """Return the objects of a folder by type and id, each as an element with its properties as members."""
    found = {}
    for path in sorted(folder.glob("*.xml")):
        content = ElementTree.parse(path).getroot()
        ref = content.find("obj")
        assert ref is not None
        whole = ElementTree.Element("object")
        for prop in content.findall("propSet"):
            value = prop.find("val")
            if value is None:
                continue
            value.tag = prop.findtext("name") or ""
            whole.append(value)
        found[ref.get("type", ""), ref.text or ""] = Node(whole)
    return found


def read_folder(folder: Path) -> Inventory:
    """Read a folder that `govc object.save` wrote."""
    objects = load(folder)

    def each(*kinds: str) -> list[tuple[str, Node]]:
        chosen = {moid: node for (kind, moid), node in objects.items() if kind in kinds}
        return [(moid, chosen[moid]) for moid in in_order(chosen)]

    places = Places(objects)
    about = objects["ServiceInstance", "ServiceInstance"].at("content.about")
    names = objects["OptionManager", "VpxSettings"].all("setting")
    name = next((n.text("value") for n in names if n.text("key") == "VirtualCenter.InstanceName"), None)
    return Inventory(
        about=About(
            name or "",
            about.text("instanceUuid") or "",
            about.text("version") or "",
            about.text("build") or "",
            about.text("apiVersion") or "",
        ),
        taken_at="",
        datacenters=tuple(Datacenter(moid, name_of(node)) for moid, node in each("Datacenter")),
        clusters=tuple(cluster(moid, node, places) for moid, node in each("ClusterComputeResource")),
        hosts=tuple(host(moid, node, places) for moid, node in each("HostSystem")),
        pools=tuple(pool(moid, node) for moid, node in each("ResourcePool", "VirtualApp")),
        datastores=tuple(
            Datastore(moid, name_of(node), node.flag("summary.accessible"))
            for moid, node in each("Datastore")
        ),
        networks=tuple(
            Network(moid, name_of(node)) for moid, node in each("Network", "DistributedVirtualPortgroup")
        ),
        vms=tuple(vm(moid, node, places) for moid, node in each("VirtualMachine")),
    )


class Places:
    """Who is above whom."""

    def __init__(self, objects: dict[tuple[str, str], Node]) -> None:
        self._nodes = {moid: (kind, node) for (kind, moid), node in objects.items()}

    def datacenter(self, moid: str | None) -> str | None:
        while moid in self._nodes:
            kind, node = self._nodes[moid]
            if kind == "Datacenter":
                return moid
            moid = node.text("parent")
        return None

    def folder(self, moid: str | None) -> str:
        names: list[str] = []
        while moid in self._nodes and self._nodes[moid][0] != "Datacenter":
            names.insert(0, name_of(self._nodes[moid][1]).replace("/", "%2f"))
            moid = self._nodes[moid][1].text("parent")
        return "/".join(names)


def host(moid: str, node: Node, places: Places) -> Host:
    parent = node.at("parent")
    in_cluster = parent.element is not None and parent.element.get("type") == "ClusterComputeResource"
    hardware, config = node.at("hardware"), node.at("config")
    package = next(iter(hardware.all("cpuPkg")), Node(None))
    options = {o.text("key") or "": o.text("value") for o in config.all("option")}
    resources = [n for n in config.all("systemResources.child") if n.text("key") != "host/user"]
    system = [n.number("config.memoryAllocation.reservation") or 0 for n in resources]
    release = config.text("product.apiVersion")
    return Host(
        moid=moid,
        name=name_of(node),
        datacenter=places.datacenter(parent.value),
        cluster=parent.value if in_cluster else None,
        connection=ConnectionState(node.text("runtime.connectionState")),
        power=HostPower(node.text("runtime.powerState")),
        in_maintenance=node.flag("runtime.inMaintenanceMode"),
        in_quarantine=node.flag("runtime.inQuarantineMode"),
        version=config.text("product.version"),
        api_version=release,
        build=config.text("product.build"),
        vendor=hardware.text("systemInfo.vendor"),
        model=hardware.text("systemInfo.model"),
        uuid=hardware.text("systemInfo.uuid"),
        cpu_vendor=package.text("vendor"),
        cpu_model=" ".join((package.text("description") or "").split()) or None,
        cpu_hz=hardware.number("cpuInfo.hz"),
        package_count=hardware.number("cpuInfo.numCpuPackages"),
        core_count=hardware.number("cpuInfo.numCpuCores"),
        thread_count=hardware.number("cpuInfo.numCpuThreads"),
        hyperthreading_active=config.flag("hyperThread.active"),
        memory_bytes=hardware.number("memorySize"),
        memory_tiering=hardware.text("memoryTieringType"),
        system_memory_mib=sum(system) if config.text("systemResources.key") else None,
        numa_nodes=numa_nodes(hardware),
        pci_devices=pci_devices(hardware, config),
        pnics=pnics(config.at("network"), release),
        vgpu_profiles=(),
        vgpu_types=tuple(n.value or "" for n in config.all("sharedPassthruGpuTypes")),
        device_groups=(),
        bindings=bindings(config),
        default_graphics_type=config.text("graphicsConfig.hostDefaultGraphicsType"),
        assignment_policy=config.text("graphicsConfig.sharedPassthruAssignmentPolicy"),
        datastores=node.moids("datastore"),
        networks=node.moids("network"),
        limits=(),
        capability=HostCapability(
            node.flag("capability.assignableHardwareSupported"),
            node.flag("capability.assignHwPciConfigSupported"),
            node.flag("capability.deviceRebindWithoutRebootSupported"),
            node.number("capability.maxSupportedSimultaneousThreads"),
            node.flag("capability.fptHotplugSupported"),
        ),
        options=tuple(sorted((k, v) for k, v in options.items() if k.startswith("Numa.") and v is not None)),
        reboot_required=node.flag("summary.rebootRequired"),
        cpu_features=features(config.all("featureCapability")),
        cpu_features_visible=features(config.all("maskedFeatureCapability")),
    )


def features(told: list[Node]) -> tuple[str, ...] | None:
    """Return those features of the catalogue that a list says are there; None where it is not told."""
    known = {feature.key for feature in cpu_features()}
    if "cpuid.lm" not in {n.text("key") for n in told}:
        return None
    return tuple(
        sorted(n.text("key") or "" for n in told if n.text("key") in known and n.text("value") == "1")
    )


def bindings(config: Node) -> tuple[DeviceBinding, ...]:
    found = [
        DeviceBinding(
            n.text("instanceId") or "", n.text("vm") or "", n.address("pciId"), n.number("deviceKey")
        )
        for n in config.all("assignableHardwareBinding")
    ]
    return tuple(sorted(found, key=lambda n: (natural(n.vm), n.device_key or 0, n.instance_id)))


def numa_nodes(hardware: Node) -> tuple[NumaNode, ...]:
    packages = {
        int(thread.value or 0): package.number("index")
        for package in hardware.all("cpuPkg")
        for thread in package.all("threadId")
    }
    cores, threads = hardware.number("cpuInfo.numCpuCores"), hardware.number("cpuInfo.numCpuThreads")
    per_core = max(1, (threads or 0) // cores) if cores else 1
    found = []
    for item in hardware.all("numaInfo.numaNode"):
        ids = tuple(sorted(int(n.value or 0) for n in item.all("cpuID")))
        on = {packages.get(thread) for thread in ids}
        found.append(
            NumaNode(
                id=(item.number("typeId") or 0) & 0xFF,
                package=on.pop() if len(on) == 1 else None,
                core_count=len(ids) // per_core,
                thread_ids=ids,
                memory_bytes=item.number("memorySize") or item.number("memoryRangeLength") or None,
                devices=tuple(sorted(PciAddress.parse(n.value or "") for n in item.all("pciId"))),
            )
        )
    return tuple(sorted(found, key=lambda node: node.id))


def pci_devices(hardware: Node, config: Node) -> tuple[PciDevice, ...]:
    states = {n.address("id"): n for n in config.all("pciPassthruInfo")}
    cards = {n.address("pciId"): n for n in config.all("graphicsInfo")}
    found = []
    for item in hardware.all("pciDevice"):
        address = item.address("id")
        assert address is not None
        slot = item.number("physicalSlot")
        found.append(
            PciDevice(
                address=address,
                ids=PciIds(
                    unsigned(item.number("vendorId")),
                    unsigned(item.number("deviceId")),
                    unsigned(item.number("subVendorId")),
                    unsigned(item.number("subDeviceId")),
                ),
                class_id=unsigned(item.number("classId")),
                vendor_name=item.text("vendorName") or "",
                device_name=item.text("deviceName") or "",
                parent_bridge=item.address("parentBridge"),
                class_name=item.text("deviceClassName"),
                physical_slot=slot,
                slot_description=item.text("slotDescription"),
                passthrough=passthrough(states.get(address)),
                sriov=sriov(states.get(address)),
                graphics=graphics(cards.get(address)),
            )
        )
    return tuple(sorted(found, key=lambda device: device.address))


def passthrough(state: Node | None) -> Passthrough | None:
    if state is None:
        return None
    return Passthrough(
        state.flag("passthruCapable") is True,
        state.flag("passthruEnabled") is True,
        state.flag("passthruActive") is True,
        state.text("hardwareLabel"),
        state.address("dependentDevice"),
        state.text("directPathState.mode"),
    )


def sriov(state: Node | None) -> Sriov | None:
    if state is None or state.kind != "HostSriovInfo":
        return None
    return Sriov(
        state.flag("sriovCapable") is True,
        state.flag("sriovEnabled") is True,
        state.flag("sriovActive") is True,
        state.number("numVirtualFunctionRequested") or 0,
        state.number("numVirtualFunction") or 0,
        state.number("maxVirtualFunctionSupported") or 0,
    )


def graphics(card: Node | None) -> Graphics | None:
    if card is None:
        return None
    return Graphics(
        card.text("graphicsType") or "",
        GpuMode(card.text("vgpuMode") or "none"),
        card.number("memorySizeInKB") or None,
        card.moids("vm"),
    )


def pnics(network: Node, release: str | None) -> tuple[Pnic, ...]:
    tells_rdma = release is not None and int(release.partition(".")[0]) >= 7
    paired = {n.text("backing.pairedUplink") for n in network.all("rdmaDevice")}
    return tuple(
        Pnic(
            n.text("device") or "",
            n.address("pci"),
            n.number("linkSpeed.speedMb") or None,
            n.text("key") in paired if tells_rdma else None,
            n.text("mac"),
        )
        for n in network.all("pnic")
    )


def vm(moid: str, node: Node, places: Places) -> Vm:
    config = node.at("config")
    hardware = config.at("hardware")
    parent = node.text("parent")
    extra = {n.text("key") or "": n.text("value") or "" for n in config.all("extraConfig")}
    kept = ("numa.", "pcipassthru", "sched.", "cpuid.")
    version = re.fullmatch(r"vmx-(\d+)", config.text("version") or "")
    overhead = config.number("initialOverhead.initialMemoryReservation")
    manager = config.text("managedBy.extensionKey")
    is_agent = manager == "com.vmware.vim.eam"
    limit = config.number("memoryAllocation.limit")
    fault_tolerance = node.text("runtime.faultToleranceState")
    readable = config.element is not None
    return Vm(
        moid=moid,
        name=name_of(node),
        instance_uuid=config.text("instanceUuid"),
        datacenter=places.datacenter(parent),
        folder=places.folder(parent),
        host=node.text("runtime.host"),
        pool=node.text("resourcePool"),
        power=VmPower(node.text("runtime.powerState")),
        connection=ConnectionState(node.text("runtime.connectionState")),
        template=config.flag("template") is True,
        readable=readable,
        hardware_version=int(version[1]) if version else None,
        change_version=config.text("changeVersion"),
        cpus=hardware.number("numCPU") or 0,
        cores_per_socket=hardware.number("numCoresPerSocket"),
        cores_per_socket_auto=hardware.flag("autoCoresPerSocket"),
        simultaneous_threads=hardware.number("simultaneousThreads"),
        memory_mib=hardware.number("memoryMB") or 0,
        memory_reservation_mib=config.number("memoryAllocation.reservation"),
        memory_limit_mib=None if limit is None or limit < 0 else limit,
        memory_locked_to_max=config.flag("memoryReservationLockedToMax"),
        cpu_reservation_mhz=config.number("cpuAllocation.reservation"),
        overhead_mib=None if overhead is None else -(-overhead // _MIB),
        latency_sensitivity=config.text("latencySensitivity.level"),
        cpu_hot_add=config.flag("cpuHotAddEnabled"),
        memory_hot_add=config.flag("memoryHotAddEnabled"),
        firmware=config.text("firmware"),
        guest_id=config.text("guestId"),
        vnuma=VnumaConfig(
            config.number("numaInfo.coresPerNumaNode"),
            config.flag("numaInfo.autoCoresPerNumaNode"),
            config.flag("numaInfo.vnumaOnCpuHotaddExposed"),
        ),
        cpu_affinity=tuple(sorted(int(n.value or 0) for n in config.all("cpuAffinity.affinitySet"))),
        devices=tuple(sorted(devices(hardware.all("device")), key=lambda device: device.key)),
        device_groups=tuple(
            VmDeviceGroup(n.number("groupInstanceKey") or 0, n.text("deviceGroupName") or "")
            for n in config.all("deviceGroups.deviceGroup")
        ),
        extra_config=tuple(sorted((k, v) for k, v in extra.items() if k.lower().startswith(kept))),
        datastores=node.moids("datastore"),
        networks=node.moids("network"),
        snapshot_count=sum(1 for _ in snapshots(node.all("snapshot.rootSnapshotList"))),
        linked_clone=linked(hardware.all("device")) if readable else None,
        ownership=Ownership(
            managed_by=None if is_agent else manager,
            disabled_methods=tuple(sorted(n.value or "" for n in node.all("disabledMethod"))),
            pending_question=node.at("runtime.question").element is not None,
            fault_tolerance=fault_tolerance not in (None, "notConfigured"),
            is_agent=is_agent,
            consolidation_needed=node.flag("runtime.consolidationNeeded") is True,
        ),
    )


def snapshots(trees: list[Node]) -> Iterable[Node]:
    for tree in trees:
        yield tree
        yield from snapshots(tree.all("childSnapshotList"))


def linked(all_devices: list[Node]) -> bool:
    for device in all_devices:
        layer = device.at("backing") if device.kind == "VirtualDisk" else Node(None)
        while layer.at("parent").element is not None:
            below = layer.at("parent")
            folders = {(n.text("fileName") or "").rpartition("/")[0] for n in (layer, below)}
            if len(folders) > 1:
                return True
            layer = below
    return False


def devices(all_devices: list[Node]) -> Iterable[VmDevice]:
    for item in all_devices:
        found = backing(item)
        if found is not None:
            yield VmDevice(
                key=item.number("key") or 0,
                label=item.text("deviceInfo.label") or "",
                backing=found,
                numa_node=item.number("numaNode"),
                group_key=item.number("deviceGroupInfo.groupInstanceKey"),
                group_sequence=item.number("deviceGroupInfo.sequenceId"),
            )


def backing(item: Node) -> Backing | None:
    network = item.text("backing.network") or item.text("backing.port.portgroupKey")
    if item.kind == "VirtualSriovEthernetCard":
        if item.at("dvxBackingInfo").element is not None:
            return passthrough_backing(item.at("dvxBackingInfo"), "VirtualPCIPassthroughDvxBackingInfo")
        physical = item.text("sriovBacking.physicalFunctionBacking.id") or ""
        return SriovBacking(
            None if physical.startswith("Automatic-") or not physical else PciAddress.parse(physical),
            item.address("sriovBacking.virtualFunctionBacking.id"),
            network,
        )
    if re.fullmatch(r"Virtual(Vmxnet\d?|E1000e?|PCNet32|Vmxnet3Vrdma)", item.kind):
        return NetworkBacking(item.kind.removeprefix("Virtual").lower(), network)
    if item.kind == "VirtualPCIPassthrough":
        return passthrough_backing(item.at("backing"), item.at("backing").kind)
    return None


def passthrough_backing(node: Node, kind: str) -> Backing:
    if kind == "VirtualPCIPassthroughVmiopBackingInfo":
        return VgpuBacking(node.text("vgpu") or "", node.flag("migrateSupported"))
    if kind == "VirtualPCIPassthroughDynamicBackingInfo":
        allowed = [
            AllowedDevice(
                unsigned(n.number("vendorId")),
                unsigned(n.number("deviceId")),
                None if n.number("subVendorId") is None else unsigned(n.number("subVendorId")),
                None if n.number("subDeviceId") is None else unsigned(n.number("subDeviceId")),
            )
            for n in node.all("allowedDevice")
        ]
        return DynamicBacking(tuple(allowed), node.text("customLabel"), node.text("assignedId"))
    if kind == "VirtualPCIPassthroughDvxBackingInfo":
        params = [(n.text("key") or "", n.text("value") or "") for n in node.all("configParams")]
        return DvxBacking(node.text("deviceClass") or "", tuple(sorted(params)))
    if kind == "VirtualPCIPassthroughDeviceBackingInfo":
        address = node.address("id")
        assert address is not None
        return StaticBacking(
            address,
            node.text("deviceId") or "",
            unsigned(node.number("vendorId")),
            node.text("systemId") or "",
            node.text("deviceName") or "",
        )
    return UnknownBacking(kind)


def cluster(moid: str, node: Node, places: Places) -> Cluster:
    config = node.at("configurationEx")
    groups = {n.text("name"): n for n in config.all("group")}
    vm_rules, host_rules = [], []
    for n in config.all("rule"):
        key, name = n.number("key") or 0, n.text("name") or ""
        enabled, mandatory = n.flag("enabled") is not False, n.flag("mandatory") is True
        if n.kind == "ClusterVmHostRuleInfo":
            for field, apart in (("affineHostGroupName", False), ("antiAffineHostGroupName", True)):
                if n.text(field):
                    vms = groups[n.text("vmGroupName")].moids("vm")
                    hosts = groups[n.text(field)].moids("host")
                    host_rules.append(VmHostRule(key, name, enabled, apart, vms, hosts, mandatory))
        else:
            apart = n.kind == "ClusterAntiAffinityRuleSpec"
            vm_rules.append(VmVmRule(key, name, enabled, apart, n.moids("vm"), mandatory))
    drs_on = config.flag("drsConfig.enabled") is True
    return Cluster(
        moid=moid,
        name=name_of(node),
        datacenter=places.datacenter(moid),
        drs_level=config.text("drsConfig.defaultVmBehavior") or "fullyAutomated" if drs_on else None,
        ha_enabled=config.flag("dasConfig.enabled"),
        admission=admission(config.at("dasConfig")),
        dpm_enabled=config.flag("dpmConfigInfo.enabled"),
        evc_mode=node.text("summary.currentEVCModeKey"),
        vm_vm_rules=tuple(vm_rules),
        vm_host_rules=tuple(host_rules),
        drs_overrides=tuple(
            (n.text("key") or "", "disabled" if n.flag("enabled") is False else n.text("behavior") or "")
            for n in config.all("drsVmConfig")
        ),
    )


def admission(das: Node) -> HaAdmission | None:
    if das.flag("enabled") is not True:
        return None
    policy = das.at("admissionControlPolicy")
    if das.flag("admissionControlEnabled") is False:
        return HaAdmission("none")
    if policy.kind == "ClusterFailoverResourcesAdmissionControlPolicy":
        return HaAdmission(
            "percent",
            cpu_percent=policy.number("cpuFailoverResourcesPercent"),
            memory_percent=policy.number("memoryFailoverResourcesPercent"),
        )
    if policy.kind == "ClusterFailoverHostAdmissionControlPolicy":
        return HaAdmission("dedicated", dedicated=policy.moids("failoverHosts"))
    level = policy.number("failoverLevel") or das.number("failoverLevel")
    return HaAdmission("none") if level is None else HaAdmission("hosts", failover_hosts=level)


def pool(moid: str, node: Node) -> ResourcePool:
    parent = node.at("parent")
    in_pool = parent.element is not None and parent.element.get("type") in ("ResourcePool", "VirtualApp")
    limit = node.number("config.memoryAllocation.limit")
    memory = node.number("runtime.memory.unreservedForVm")
    return ResourcePool(
        moid=moid,
        name=name_of(node),
        parent=parent.value if in_pool else None,
        owner=node.text("owner") or "",
        memory_reservation_mib=node.number("config.memoryAllocation.reservation"),
        memory_expandable=node.flag("config.memoryAllocation.expandableReservation"),
        memory_limit_mib=None if limit is None or limit < 0 else limit,
        memory_unreserved_mib=None if memory is None else memory // _MIB,
        cpu_unreserved_mhz=node.number("runtime.cpu.unreservedForVm"),
    )
