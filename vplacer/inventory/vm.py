"""Virtual machines as vCenter describes them."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TypeAlias

from vplacer.inventory.host import ConnectionState
from vplacer.inventory.pci import PciAddress, PciIds


class VmPower(StrEnum):
    """VirtualMachinePowerState."""

    ON = "poweredOn"
    OFF = "poweredOff"
    SUSPENDED = "suspended"


@dataclass(frozen=True, slots=True)
class AllowedDevice:
    """One alternative of a Dynamic DirectPath backing; None = any."""

    vendor: int
    device: int
    sub_vendor: int | None = None
    sub_device: int | None = None


@dataclass(frozen=True, slots=True)
class StaticBacking:
    """Static DirectPath I/O: one card of one host.

    ``device_id`` is kept as stored: the server wants hexadecimal text; a decimal one makes power-on
    fail (govmomi #2248).
    """

    address: PciAddress
    device_id: str
    vendor_id: int
    system_id: str
    device_name: str = ""

    @property
    def ids(self) -> PciIds | None:
        """The card's ids as a host reads them; None where ``device_id`` is no hexadecimal id.

        Leading zeros and "0x" are one spelling with none; a decimal text names another device.
        """
        try:
            device = int(self.device_id, 16)
        except ValueError:
            return None
        return PciIds(self.vendor_id & 0xFFFF, device) if 0 <= device <= 0xFFFF else None


@dataclass(frozen=True, slots=True)
class DynamicBacking:
    """Dynamic DirectPath I/O. ``assigned_id`` is set by vSphere while the VM is on, opaque before 9.1."""

    allowed: tuple[AllowedDevice, ...]
    label: str | None = None
    assigned_id: str | None = None


@dataclass(frozen=True, slots=True)
class VgpuBacking:
    """An NVIDIA vGPU of a profile."""

    profile: str
    migratable: bool | None = None


@dataclass(frozen=True, slots=True)
class DvxBacking:
    """Enhanced DirectPath I/O."""

    device_class: str
    params: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class SriovBacking:
    """A virtual function; ``physical_function`` None = vSphere picks one from the pool."""

    physical_function: PciAddress | None
    virtual_function: PciAddress | None
    network: str | None


@dataclass(frozen=True, slots=True)
class NetworkBacking:
    """An ordinary virtual NIC."""

    card: str
    network: str | None


@dataclass(frozen=True, slots=True)
class UnknownBacking:
    """A device of a type vplacer does not know. Reported, kept, never dropped."""

    type_name: str


Backing: TypeAlias = (
    StaticBacking | DynamicBacking | VgpuBacking | DvxBacking | SriovBacking | NetworkBacking | UnknownBacking
)


@dataclass(frozen=True, slots=True)
class VmDevice:
    """A device of a VM.

    ``numa_node`` is the VIRTUAL node the guest is told: None = unset, negative = explicitly none,
    0 and up = a vNUMA node. The three are different things (vSphere API: VirtualDevice.numaNode).
    """

    key: int
    label: str
    backing: Backing
    numa_node: int | None = None
    group_key: int | None = None
    group_sequence: int | None = None


@dataclass(frozen=True, slots=True)
class VmDeviceGroup:
    """A vendor device group the VM holds."""

    key: int
    name: str


@dataclass(frozen=True, slots=True)
class VnumaConfig:
    """VirtualNumaInfo. A ``cores_per_node`` of a powered-off VM with ``auto`` is stale."""

    cores_per_node: int | None
    auto: bool | None
    exposed_on_hot_add: bool | None


@dataclass(frozen=True, slots=True)
class Ownership:
    """Signs that a VM belongs to somebody else, or is busy; see `reason`."""

    managed_by: str | None = None
    disabled_methods: tuple[str, ...] = ()
    pending_question: bool = False
    fault_tolerance: bool = False
    is_agent: bool = False
    consolidation_needed: bool = False


@dataclass(frozen=True, slots=True)
class Vm:
    """One virtual machine or template. References are managed object ids.

    ``readable`` False = vCenter could not give its configuration; the numbers are then meaningless.
    ``extra_config`` holds the keys the planner uses (numa.*, pciPassthru*, sched.*, cpuid.*).
    """

    moid: str
    name: str
    instance_uuid: str | None
    datacenter: str | None
    folder: str
    host: str | None
    pool: str | None
    power: VmPower
    connection: ConnectionState
    template: bool
    readable: bool
    hardware_version: int | None
    change_version: str | None
    cpus: int
    cores_per_socket: int | None
    cores_per_socket_auto: bool | None
    simultaneous_threads: int | None
    memory_mib: int
    memory_reservation_mib: int | None
    memory_limit_mib: int | None
    memory_locked_to_max: bool | None
    cpu_reservation_mhz: int | None
    overhead_mib: int | None
    latency_sensitivity: str | None
    cpu_hot_add: bool | None
    memory_hot_add: bool | None
    firmware: str | None
    guest_id: str | None
    vnuma: VnumaConfig
    cpu_affinity: tuple[int, ...]
    devices: tuple[VmDevice, ...]
    device_groups: tuple[VmDeviceGroup, ...]
    extra_config: tuple[tuple[str, str], ...]
    datastores: tuple[str, ...]
    networks: tuple[str, ...]
    snapshot_count: int
    linked_clone: bool | None
    ownership: Ownership
    tags: tuple[str, ...] = ()

    def extra(self, key: str) -> str | None:
        """Return an extraConfig value, or None where the key is absent or blank (blank = deleted)."""
        wanted = key.lower()
        for name, value in self.extra_config:
            if name.lower() == wanted:
                return value or None
        return None

    @property
    def prefers_threads(self) -> bool:
        """Whether NUMA counts a node's threads, not its cores (numa.vcpu.preferHT)."""
        return (self.extra("numa.vcpu.preferHT") or "").lower() in ("true", "1", "yes")

    @property
    def node_affinity(self) -> tuple[int, ...]:
        """Physical NUMA nodes of ``numa.nodeAffinity``; empty = none, or a text that is no list of nodes."""
        parts = self._affinity_parts()
        if not parts:
            return ()
        return tuple(sorted({int(part) for part in parts})) if all(map(_is_node, parts)) else ()

    @property
    def unreadable_node_affinity(self) -> str | None:
        """The text of ``numa.nodeAffinity`` where it is no list of node numbers, such as "0-1"."""
        if all(map(_is_node, self._affinity_parts())):
            return None
        return self.extra("numa.nodeAffinity")

    def _affinity_parts(self) -> list[str]:
        text = self.extra("numa.nodeAffinity")
        if text is None:
            return []
        return [part.strip() for part in text.split(",") if part.strip()]

    @property
    def is_on(self) -> bool:
        """Whether the VM runs."""
        return self.power is VmPower.ON


def _is_node(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) < 6
