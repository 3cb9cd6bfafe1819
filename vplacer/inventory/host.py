"""ESXi hosts: CPUs, NUMA nodes, PCI devices, what may be passed through, and limits.

Every field is what vCenter said. ``None`` means it said nothing (or the API is older than the field);
it never stands for zero.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from vplacer.inventory.pci import PciAddress, PciIds


class ConnectionState(StrEnum):
    """HostSystemConnectionState and VirtualMachineConnectionState in one: the words vSphere uses."""

    CONNECTED = "connected"
    DISCONNECTED = "disconnected"
    NOT_RESPONDING = "notResponding"
    INACCESSIBLE = "inaccessible"
    INVALID = "invalid"
    ORPHANED = "orphaned"


class HostPower(StrEnum):
    """HostSystemPowerState."""

    ON = "poweredOn"
    OFF = "poweredOff"
    STANDBY = "standBy"
    UNKNOWN = "unknown"


class GpuMode(StrEnum):
    """How a vGPU-capable card is cut up now (HostGraphicsInfo.vgpuMode; unset counts as NONE)."""

    NONE = "none"
    SAME_SIZE = "sameSize"
    MIXED_SIZE = "mixedSize"
    MIG = "multiInstanceGpu"


@dataclass(frozen=True, slots=True)
class NumaNode:
    """One physical NUMA node (pNUMA).

    ``package`` is the socket its CPUs are on: from ``cpuPkg[].threadId``, never assumed equal to the
    node number (sub-NUMA clustering, NPS). None where they do not say. ``core_count`` is 0 for a node
    that has devices or memory only. ``devices`` is ``numaNode[].pciId`` parsed; a device in no node's
    list has unknown locality.
    """

    id: int
    package: int | None
    core_count: int
    thread_ids: tuple[int, ...]
    memory_bytes: int | None
    devices: tuple[PciAddress, ...] = ()


@dataclass(frozen=True, slots=True)
class Passthrough:
    """HostPciPassthruInfo. Usable for a VM = ``active``; ``enabled`` without it = reboot pending."""

    capable: bool
    enabled: bool
    active: bool
    label: str | None = None
    dependent: PciAddress | None = None
    mode: str | None = None


@dataclass(frozen=True, slots=True)
class Sriov:
    """HostSriovInfo of a physical function."""

    capable: bool
    enabled: bool
    active: bool
    vf_requested: int
    vf_present: int
    vf_max: int


@dataclass(frozen=True, slots=True)
class Graphics:
    """HostGraphicsInfo of a card. ``memory_kib`` None where the host says 0 (unknown)."""

    type: str
    mode: GpuMode
    memory_kib: int | None
    vms: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Pnic:
    """A physical NIC of the vmkernel. ``link_mbps`` None = link down; ``rdma`` None = not known."""

    device: str
    address: PciAddress | None
    link_mbps: int | None
    rdma: bool | None = None
    mac: str | None = None


@dataclass(frozen=True, slots=True)
class PciDevice:
    """HostPciDevice plus what other properties say of the same address.

    ``parent_bridge`` None = a root device or not told. ``physical_slot`` None = unknown.
    """

    address: PciAddress
    ids: PciIds
    class_id: int
    vendor_name: str
    device_name: str
    parent_bridge: PciAddress | None = None
    class_name: str | None = None
    physical_slot: int | None = None
    slot_description: str | None = None
    passthrough: Passthrough | None = None
    sriov: Sriov | None = None
    graphics: Graphics | None = None
    system_id: str | None = None


@dataclass(frozen=True, slots=True)
class VgpuProfile:
    """VgpuProfileInfo. ``sharing`` is "timeSliced" or "mig"; ``framebuffer_gib`` as the API rounds it."""

    name: str
    vendor: int
    device: int
    framebuffer_gib: int
    sharing: str | None = None
    profile_class: str | None = None
    migratable: bool | None = None


@dataclass(frozen=True, slots=True)
class GroupComponent:
    """One member of a vendor device group: its kind, and the template the vendor gives for it.

    ``kind``: pciPassthru | nvidiaVgpu | sriovNic | dvx. ``sequence_id`` from the template, None if it
    has none. ``profile`` for nvidiaVgpu, ``allowed`` for pciPassthru.
    """

    kind: str
    vendor_name: str
    device_name: str
    configurable: bool
    sequence_id: int | None = None
    profile: str | None = None
    allowed: tuple[PciIds, ...] = ()


@dataclass(frozen=True, slots=True)
class DeviceGroupType:
    """VendorDeviceGroupInfo: a kind of group the vendor's driver offers on this host, chosen whole."""

    name: str
    description: str
    components: tuple[GroupComponent, ...]


@dataclass(frozen=True, slots=True)
class DeviceBinding:
    """AssignableHardwareBinding: which VM holds an instance; the address from API 9.1 on."""

    instance_id: str
    vm: str
    address: PciAddress | None = None
    device_key: int | None = None


@dataclass(frozen=True, slots=True)
class HardwareLimits:
    """What one hardware version allows on one host (VirtualHardwareOption), or the table's answer.

    ``source`` is "descriptor" or "table". None = no limit known.
    """

    version: int
    source: str
    max_cpus: int | None
    max_memory_mib: int | None
    max_cores_per_socket: int | None
    max_passthrough: int | None
    max_vgpus: int | None
    max_numa_nodes: int | None
    max_device_groups: int | None


@dataclass(frozen=True, slots=True)
class HostCapability:
    """HostCapability flags the planner uses; None = the host did not say."""

    assignable_hardware: bool | None = None
    assign_label: bool | None = None
    rebind_without_reboot: bool | None = None
    max_simultaneous_threads: int | None = None
    fpt_hotplug: bool | None = None


@dataclass(frozen=True, slots=True)
class Host:
    """One ESXi host. ``cluster`` and the other references are managed object ids.

    ``cpu_features``: those features of `inventory.cpu_models` that the host's CPUs have and its ESXi knows
    (HostConfigInfo.featureCapability), by key, sorted. ``cpu_features_visible``: those left after masks, of
    EVC too (maskedFeatureCapability). Each None = not told.
    """

    moid: str
    name: str
    datacenter: str | None
    cluster: str | None
    connection: ConnectionState
    power: HostPower
    in_maintenance: bool | None
    in_quarantine: bool | None
    version: str | None
    api_version: str | None
    build: str | None
    vendor: str | None
    model: str | None
    uuid: str | None
    cpu_vendor: str | None
    cpu_model: str | None
    cpu_hz: int | None
    package_count: int | None
    core_count: int | None
    thread_count: int | None
    hyperthreading_active: bool | None
    memory_bytes: int | None
    memory_tiering: str | None
    system_memory_mib: int | None
    numa_nodes: tuple[NumaNode, ...]
    pci_devices: tuple[PciDevice, ...]
    pnics: tuple[Pnic, ...]
    vgpu_profiles: tuple[VgpuProfile, ...]
    vgpu_types: tuple[str, ...]
    device_groups: tuple[DeviceGroupType, ...]
    bindings: tuple[DeviceBinding, ...]
    default_graphics_type: str | None
    assignment_policy: str | None
    datastores: tuple[str, ...]
    networks: tuple[str, ...]
    limits: tuple[HardwareLimits, ...]
    capability: HostCapability
    options: tuple[tuple[str, str], ...]
    reboot_required: bool | None
    tags: tuple[str, ...] = ()
    cpu_features: tuple[str, ...] | None = None
    cpu_features_visible: tuple[str, ...] | None = None

    def device(self, address: PciAddress) -> PciDevice | None:
        """Return the device at an address, or None."""
        for device in self.pci_devices:
            if device.address == address:
                return device
        return None

    def node_of(self, address: PciAddress) -> int | None:
        """Return the pNUMA node vCenter lists the device under; None = unknown, never node 0."""
        for node in self.numa_nodes:
            if address in node.devices:
                return node.id
        return None
